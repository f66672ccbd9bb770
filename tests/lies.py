"""Answers of servers that lie: JSON values with anything in several of their places."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Place = tuple[str | int, ...]

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
_LIKELY = st.sampled_from(
    [-1, 0, 1, 2, 0.5, 1.0, True, "0", "1", "NaN", 1e30, 1e300, -1e300, 10**299, [], {}]
)
"""What a reader may take for a number, an index or a place."""


def places(value: object, place: Place = ()) -> Iterator[Place]:
    """Everything in a JSON value that could be something else."""
    yield place
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*place, key))


def changed(value: Any, place: Place, to: object) -> Any:
    """The value with something else in one place."""
    if not place:
        return to
    copy = value.copy()
    copy[place[0]] = changed(value[place[0]], place[1:], to)
    return copy


def inside(value: Any, place: Place) -> Any:
    """What stands in a place."""
    for key in place:
        value = value[key]
    return value


@st.composite
def lies(draw: st.DrawFn, truth: object, most: int = 4) -> Any:
    """Draw an answer that says something else than the truth in one place or several.

    There stands anything, what stands in another place, or nothing; a list has one of its items more often.
    """
    value = truth
    for _ in range(draw(st.integers(1, most))):
        found = list(places(value))
        place = draw(st.sampled_from(found))
        *above, last = place or ("",)
        match draw(st.sampled_from(("anything", "likely", "another", "nothing", "again"))):
            case "nothing" if place:
                outer = inside(value, tuple(above)).copy()
                del outer[last]
                value = changed(value, tuple(above), outer)
            case "again" if place and isinstance(last, int):
                items = inside(value, tuple(above))
                value = changed(value, tuple(above), [*items, items[last]])
            case "another":
                value = changed(value, place, inside(value, draw(st.sampled_from(found))))
            case "likely":
                value = changed(value, place, draw(_LIKELY))
            case _:
                value = changed(value, place, draw(ANYTHING))
    return json.loads(json.dumps(value))  # a part of it may stand in it twice


def is_a_sentence(error: BaseException) -> bool:
    """Whether an error can be shown as it stands."""
    said = str(error)
    return "\n" not in said and said.endswith(".") and len(said) < 1_000
