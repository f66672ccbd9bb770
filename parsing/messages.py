"""What may be shown of strange text: short, and without characters that do something; and counts in words."""

from __future__ import annotations

import re
import unicodedata

REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the order in which others are shown."""

_LONGEST = 300
"""Characters of a quotation, or of one word, that is shown whole; of a longer one the first are."""
_KEPT = 120
_MAX_MESSAGE = 1_500
_END = 400
"""Characters of the end of a long message that are kept: there it says what to do."""
_MANY = f"{{{_LONGEST + 1},}}"
_LONG = re.compile(rf"""(?<!\w)'[^'\n]{_MANY}'|"[^"\n]{_MANY}"|“[^”\n]{_MANY}”|(?P<word>\S{_MANY})""")


def shown(message: str) -> str:
    """Return a message with what it quotes made short, and with control characters escaped."""
    text = "".join(map(_visible, message))
    text = _LONG.sub(_shortened, text)
    if len(text) > _MAX_MESSAGE:
        text = f"{text[: _MAX_MESSAGE - _END].rstrip()} … {text[-_END:].lstrip()}"
    return text


def quantity(n: int, one: str, many: str = "") -> str:
    """Return “1 LLM”, “2,000 queries”; ``many`` is given where the plural is neither of this kind."""
    regular = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{n:,} {one if n == 1 else many or regular}"


def _visible(character: str) -> str:
    harmless = character in "\n\t" or (
        character not in REORDERING and unicodedata.category(character) not in ("Cc", "Cs")
    )
    return character if harmless else character.encode("unicode_escape").decode()


def _shortened(found: re.Match[str]) -> str:
    text = found[0]
    return f"{text[:_KEPT].rstrip()}…{'' if found['word'] else text[-1]}"
