"""Names of concepts as a person reads them: “pros and cons”, “fewer technical terms”, “less formal”."""

from __future__ import annotations

from collections.abc import Mapping

_WRITTEN: Mapping[str, str] = {
    "acronyms_explained": "explained acronyms",
    "answer_first": "the answer first",
    "beginner": "for beginners",
    "call_to_action": "calls to action",
    "code_explained": "explained code",
    "context_first": "context first",
    "friend": "like a friend",
    "long_term": "long-term",
    "mentor": "like a mentor",
    "patient_teacher": "like a patient teacher",
    "pros_cons": "pros and cons",
    "quick_fix": "a quick fix",
    "real_life": "from real life",
    "restates_question": "restates the question",
    "involves_reader": "involves the reader",
    "thorough_check": "a thorough check",
    "time": "about time",
}
"""Where the name with blanks for underscores would not do."""
_PLURAL = frozenset(
    {
        *("acronyms_explained", "analogies", "call_to_action", "code_comments", "counterarguments"),
        *("definitions", "extras", "fun_facts", "materials", "minimal_adjectives", "options", "perspectives"),
        *("pros_cons", "quantities", "resources", "technical_terms", "tips", "transparent_sources"),
        *("variations", "warnings"),
    }
)
_VERBS = frozenset(
    {
        *("admits_limits", "admits_other_views", "compares", "corrects_me", "explains_why", "gives_examples"),
        *("involves_reader", "names_people", "names_products", "obeys", "quotes_people", "restates_question"),
        *("shows_work",),
    }
)


def in_words(name: str, *, more: bool) -> str:
    """Return that more, or less, of a concept is wished.

    Args:
        name: Of the concept, with underscores.
    """
    written = _WRITTEN.get(name, name.replace("_", " "))
    if more:
        return written
    how = "fewer" if name in _PLURAL else "less often" if name in _VERBS else "less"
    return f"{how} {written}"
