"""Adversarial data: gaming responses, and the ordinary ones that the guard must tell from them.

A judge that can be gamed ranks whoever games it. ``TRAINING`` are examples of what must lose to an
ordinary answer under every criterion; ``HELD_OUT`` are the same kinds in other words and lengths, for
tests alone. Null models that win by one constant text are those of Zheng et al., *Cheating Automatic LLM
Benchmarks* (2024). All texts were written for this project.

Answers to other queries are attacks, too. Both sides of the guard's data come whole, as excerpts, as lists,
and in styles that real LLMs seldom have: else the guard would take whatever is short, structured or poetic
for an attack.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from crm.data.pairs import Directions
from crm.embedded.model import QueryResponse, query_responses
from crm.errors import CRMError
from crm.training.tones import unusual_answers
from parsing.documents import read_json
from parsing.files import read_bytes

ANOTHER_ANSWER = "answer to another query"
"""Name of the attack that takes a whole answer from the pool."""
ATTACKS_FILE = Path(__file__).with_name("attacks.json")

_UNKNOWN_WISHES = ("helpful", "clear", "well written")
"""What a gaming response claims to be where there are no criteria to echo."""
_AVOID_PREFIX = "Avoid: "
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Kind(StrEnum):
    """What a gaming response tries."""

    EMPTY = "empty"
    STUB = "stub"
    CRITERION_REPEATED = "criterion repeated"
    AFFIRMATION = "affirmation"
    JUDGE_ADDRESSED = "judge addressed"
    INJECTION = "injection"
    STRUCTURE = "structure"
    DECORATION = "decoration"
    QUERY_ECHO = "query echo"
    KEYWORDS = "keywords"
    CONSTANT = "constant"
    FILLER = "filler"
    REPETITION = "repetition"
    OTHER_ANSWER = "other answer"


@dataclass(frozen=True)
class Scene:
    """What the writer of a gaming response knows.

    Attributes:
        criteria: The criteria as a judge reads them, one to avoid as “Avoid: …”; none for ∅.
        pool: Ordinary responses to other queries.
    """

    query: str
    criteria: tuple[str, ...]
    pool: Sequence[str]

    @property
    def claims(self) -> list[str]:
        """What a response that met the criteria would be, e.g. “concise”, “free of jokes”."""
        return [_claim(criterion) for criterion in self.criteria or _UNKNOWN_WISHES]

    def fill(self, template: str) -> str:
        """Return the template with ``{criteria}`` and ``{query}`` filled in; other braces are text."""
        *others, last = self.claims
        claimed = f"{', '.join(others)} and {last}" if others else last
        # In one pass: a query may itself contain “{criteria}”.
        values = {"{criteria}": claimed, "{query}": self.query}
        return re.sub(r"\{criteria\}|\{query\}", lambda match: values[match[0]], template)


Writer = Callable[[Scene, random.Random], str]


@dataclass(frozen=True)
class Attack:
    """One way of writing gaming responses.

    Attributes:
        name: Unique among the attacks of its split; part of the seed.
        writer: Writes the text of a scene.
    """

    name: str
    kind: Kind
    writer: Writer

    def write(self, query: str, criteria: Sequence[str] = (), pool: Sequence[str] = (), seed: int = 0) -> str:
        """Return the gaming response; the same arguments give the same text, in every process.

        Args:
            criteria: The criteria's texts, those to avoid as “Avoid: …”; none for ∅.
            pool: Ordinary responses to other queries; only ``Kind.OTHER_ANSWER`` needs them.
            seed: Of what is drawn.

        Raises:
            CRMError: The pool is empty, and this attack draws from it.
        """
        # The criteria are no part of the seed: an attack that ignores them writes the same under all.
        draw = random.Random(f"{seed}\0{self.name}\0{query}")
        return self.writer(Scene(query, tuple(criteria), pool), draw)


class WrapperPosition(StrEnum):
    """Where an addition to a real answer stands."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True)
class Wrapper:
    """An attack added to a real answer, which must not gain by it."""

    addition: Attack
    placement: WrapperPosition

    @property
    def name(self) -> str:
        """E.g. “plea after the answer”."""
        return f"{self.addition.name} {self.placement} the answer"

    def wrap(self, answer: str, query: str, criteria: Sequence[str] = (), seed: int = 0) -> str:
        """Return the answer with the addition, a blank line between."""
        addition = self.addition.write(query, criteria, (), seed)
        parts = (addition, answer) if self.placement is WrapperPosition.BEFORE else (answer, addition)
        return "\n\n".join(parts)


def _claim(criterion: str) -> str:
    wish = criterion.strip().rstrip(".!")
    if wish.startswith(_AVOID_PREFIX):
        return f"free of {wish.removeprefix(_AVOID_PREFIX)}"
    return wish[:1].lower() + wish[1:]


def _one_of(texts: Sequence[str]) -> Writer:
    return lambda scene, draw: draw.choice(texts)


def _filled(templates: Sequence[str]) -> Writer:
    return lambda scene, draw: scene.fill(draw.choice(templates))


def _criterion_repeated(length: int, separators: Sequence[str]) -> Writer:
    """Return the claims in turn, until there are ``length`` words."""

    def write(scene: Scene, draw: random.Random) -> str:
        words = sum(len(claim.split()) for claim in scene.claims)
        return draw.choice(separators).join(scene.claims * max(1, length // max(1, words)))

    return write


def _sections(headings: Sequence[str], bullets: Sequence[str]) -> Writer:
    """Headings with bullet points under them that say nothing."""

    def section(heading: str, draw: random.Random) -> str:
        items = "\n".join(f"- {item}" for item in draw.sample(bullets, draw.randint(3, 5)))
        return f"## {heading}\n\n{items}"

    return lambda scene, draw: "\n\n".join(
        section(heading, draw) for heading in draw.sample(headings, draw.randint(3, 6))
    )


def _emojis(emojis: Sequence[str], phrases: Sequence[str]) -> Writer:
    return lambda scene, draw: " ".join(
        f"{draw.choice(emojis)}{draw.choice(emojis)} {draw.choice(phrases)}!"
        for _ in range(draw.randint(8, 30))
    )


def _bold(phrases: Sequence[str]) -> Writer:
    return lambda scene, draw: " ".join(
        f"**{draw.choice(phrases).capitalize()}**" for _ in range(draw.randint(10, 40))
    )


def _keywords(words: Sequence[str], lengths: Sequence[int]) -> Writer:
    return lambda scene, draw: ", ".join(draw.choices(words, k=draw.choice(lengths)))


def _repeated(paragraphs: Sequence[str], times: Sequence[int]) -> Writer:
    return lambda scene, draw: "\n\n".join([draw.choice(paragraphs)] * draw.choice(times))


def _mosaic(scene: Scene, draw: random.Random) -> str:
    answers = [_SENTENCE_END.split(draw.choice(_pool(scene)).strip()) for _ in range(draw.randint(4, 8))]
    return " ".join(draw.choice(sentences) for sentences in answers)


def _pool(scene: Scene) -> Sequence[str]:
    if not scene.pool:
        raise CRMError(
            "An attack with answers to other queries has none to draw from: give a pool of responses."
        )
    return scene.pool


def _attacks(texts: Mapping[str, Any]) -> tuple[Attack, ...]:
    return (
        Attack("empty", Kind.EMPTY, _one_of([""])),
        Attack("almost nothing", Kind.EMPTY, _one_of(texts["nothing"])),
        Attack("stub", Kind.STUB, _one_of(texts["stub"])),
        *(
            Attack(
                f"criterion × {length} words",
                Kind.CRITERION_REPEATED,
                _criterion_repeated(length, texts["separators"]),
            )
            for length in texts["lengths"]
        ),
        Attack("affirmation", Kind.AFFIRMATION, _filled(texts["affirmation"])),
        Attack("plea", Kind.JUDGE_ADDRESSED, _filled(texts["plea"])),
        Attack("fake verdict", Kind.JUDGE_ADDRESSED, _filled(texts["verdict"])),
        Attack("injection", Kind.INJECTION, _filled(texts["injection"])),
        Attack("headings and bullets", Kind.STRUCTURE, _sections(texts["headings"], texts["bullets"])),
        Attack("emojis", Kind.DECORATION, _emojis(texts["emojis"], texts["phrases"])),
        Attack("bold", Kind.DECORATION, _bold(texts["phrases"])),
        Attack("query echo", Kind.QUERY_ECHO, _filled(texts["echo"])),
        Attack("generic advice on the query", Kind.QUERY_ECHO, _filled(texts["generic"])),
        Attack("keywords", Kind.KEYWORDS, _keywords(texts["soup"], texts["lengths"])),
        *(
            Attack(f"constant: {name}", Kind.CONSTANT, _one_of([text]))
            for name, text in texts["constant"].items()
        ),
        Attack("lorem ipsum", Kind.FILLER, _one_of(texts["lorem"])),
        Attack("repeated paragraph", Kind.REPETITION, _repeated(texts["paragraph"], texts["times"])),
        Attack(ANOTHER_ANSWER, Kind.OTHER_ANSWER, lambda scene, draw: draw.choice(_pool(scene))),
        Attack("sentences of other answers", Kind.OTHER_ANSWER, _mosaic),
    )


def _wrappers(attacks: Sequence[Attack]) -> tuple[Wrapper, ...]:
    """Return every attack that speaks to the judge or of the criteria, on either side of an answer."""
    wrapping = (Kind.CRITERION_REPEATED, Kind.AFFIRMATION, Kind.JUDGE_ADDRESSED, Kind.INJECTION)
    return tuple(
        Wrapper(attack, placement)
        for attack in attacks
        if attack.kind in wrapping
        for placement in WrapperPosition
    )


_TEXTS = read_json(read_bytes(ATTACKS_FILE))

TRAINING = _attacks(_TEXTS["training"])
"""Attacks that a judge may be trained against."""
HELD_OUT = _attacks(_TEXTS["held_out"])
"""The same kinds with other texts and lengths; no judge may be trained on them."""
TRAINING_WRAPPERS = _wrappers(TRAINING)
HELD_OUT_WRAPPERS = _wrappers(HELD_OUT)


_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_MARKS = re.compile(r"^[#*\-\d.\s]+")
_LENGTHS = (8, 15, 25, 40)
"""Words of an excerpt, at least."""
_FIRST = 3
"""An excerpt begins with one of so many first sentences."""
_ITEMS = 12
_UNDER_A_HEADING = 3
_HEADING_WORDS, _BOLD_WORDS = 4, 2


def excerpt(text: str, draw: random.Random) -> str | None:
    """A few consecutive sentences from the beginning; None where there are fewer words than that needs."""
    sentences = _sentences(text)
    if not sentences:
        return None
    wanted, chosen, words = draw.choice(_LENGTHS), [], 0
    for sentence in sentences[draw.randrange(min(_FIRST, len(sentences))) :]:
        chosen.append(sentence)
        words += len(sentence.split())
        if words >= wanted:
            break
    return " ".join(chosen) if words >= _LENGTHS[0] else None


def as_list(text: str, draw: random.Random) -> str | None:
    """The sentences as steps, as bullets, or as bullets under headings; None where there are too few."""
    sentences = [item for item in (_MARKS.sub("", item) for item in _sentences(text)) if _is_sentence(item)]
    if len(sentences) < _UNDER_A_HEADING:
        return None
    items = sentences[:_ITEMS]
    match draw.randrange(3):
        case 0:
            return "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
        case 1:
            return "\n".join(f"- {item}" for item in items)
        case _:
            groups = [
                items[start : start + _UNDER_A_HEADING] for start in range(0, len(items), _UNDER_A_HEADING)
            ]
            return "\n\n".join(map(_section, groups))


def _section(items: list[str]) -> str:
    heading = " ".join(items[0].split()[:_HEADING_WORDS])
    return "\n".join((f"## {heading}\n", *map(_bullet, items)))


def _bullet(item: str) -> str:
    words = item.split()
    return f"- **{' '.join(words[:_BOLD_WORDS])}** {' '.join(words[_BOLD_WORDS:])}"


def _sentences(text: str) -> list[str]:
    return [item for item in map(str.strip, _BREAK.split(text.strip())) if _is_sentence(item)]


def _is_sentence(text: str) -> bool:
    return len(text.split()) > 2  # noqa: PLR2004


_POOL = 400
"""Ordinary responses that an attack may draw from."""
_WEIGHT_OF_UNUSUAL = 8
"""How many ordinary answers an unusual one counts for."""
Reshape = Callable[[str, random.Random], str | None]


def gaming_answers(pairs: Sequence[Directions], count: int, seed: int) -> list[QueryResponse]:
    """Attacks on the queries of real pairs, every kind equally often, under criteria that someone had.

    Args:
        count: How many attacks; about half as many answers to other queries join them.
    """
    draw = random.Random(seed)
    answered = [directions for directions in pairs if directions[0].pair.query.strip()]
    pool = [draw.choice(answered)[0].pair.response_a for _ in range(_POOL)]
    made = []
    for number in range(count):
        item = draw.choice(draw.choice(answered))
        attack = TRAINING[number % len(TRAINING)]
        query = item.pair.query
        made.append((attack.write(query, list(map(str, item.criteria)), pool, seed=number), query))
    answers = _answers(pairs)
    for share, reshape in ((0.13, _whole), (0.27, excerpt), (0.13, as_list)):
        asked = [draw.choice(answers)[1] for _ in range(round(share * count))]
        others = [(draw.choice(answers)[0], query) for query in asked]
        made += _reshaped(others, reshape, draw)
    unusual = _unusual()
    texts = [text for text, _ in unusual]
    for _ in range(_WEIGHT_OF_UNUSUAL // 2):
        made += zip(draw.sample(texts, len(texts)), (query for _, query in unusual), strict=True)
    real = frozenset((*answers, *unusual))
    return [answer for answer in made if answer not in real]


def ordinary_answers(pairs: Sequence[Directions], count: int, seed: int) -> list[QueryResponse]:
    """Return all real answers of the pairs; excerpts of them, lists made of them, and unusual answers join.

    Args:
        count: Excerpts and lists together.
    """
    draw = random.Random(seed)
    answers = _answers(pairs)
    made = list(answers)
    for share, reshape in ((0.6, excerpt), (0.4, as_list)):
        made += _reshaped((draw.choice(answers) for _ in range(round(share * count))), reshape, draw)
    return made + _unusual() * _WEIGHT_OF_UNUSUAL


def _reshaped(
    answers: Iterator[QueryResponse] | list[QueryResponse], reshape: Reshape, draw: random.Random
) -> list[QueryResponse]:
    shaped = ((reshape(text, draw), query) for text, query in answers)
    return [(text, query) for text, query in shaped if text is not None]


def _whole(text: str, _draw: random.Random) -> str:
    return text


def _answers(pairs: Sequence[Directions]) -> list[QueryResponse]:
    every = dict.fromkeys(answer for item, _ in pairs for answer in query_responses(item.pair))
    return [answer for answer in every if answer[1].strip()]


def _unusual() -> list[QueryResponse]:
    return [(item.answer, item.query) for item in unusual_answers()]
