"""What a person can do to a topic tree: frozen values with a JSON form, and what each makes of a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from leaderboard.errors import LeaderboardError
from leaderboard.topics.tree import OUTLIER, Topic, TopicTree, in_order

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_STRICT)
class Rename:
    """Gives a topic another name or summary; None leaves it as it is."""

    topic: str
    name: str | None = None
    summary: str | None = None
    kind: Literal["rename"] = "rename"


@dataclass(frozen=True, config=_STRICT)
class Merge:
    """Puts the queries of topics, and of their parts, into another one; the topics are gone then."""

    topics: tuple[str, ...]
    into: str
    kind: Literal["merge"] = "merge"


@dataclass(frozen=True, config=_STRICT)
class Part:
    """A part that a topic is split into, with the queries it gets."""

    key: str
    name: str
    queries: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, config=_STRICT)
class Split:
    """Divides a topic's own queries among new parts of it; what no part gets stays with the topic.

    The queries are named, so that the log can be replayed without embeddings.
    """

    topic: str
    parts: tuple[Part, ...]
    kind: Literal["split"] = "split"


@dataclass(frozen=True, config=_STRICT)
class MoveToCategory:
    """Puts topics, with their parts, into a category, a new one if none has this name.

    A part of a topic that is moved becomes a topic of its own.
    """

    topics: tuple[str, ...]
    category: str
    kind: Literal["move-to-category"] = "move-to-category"


@dataclass(frozen=True, config=_STRICT)
class RenameCategory:
    """Gives a category another name, which no other category has."""

    category: str
    name: str
    kind: Literal["rename-category"] = "rename-category"


@dataclass(frozen=True, config=_STRICT)
class MoveQueries:
    """Puts queries into another topic."""

    queries: tuple[str, ...]
    topic: str
    kind: Literal["move-queries"] = "move-queries"


@dataclass(frozen=True, config=_STRICT)
class DropQueries:
    """Leaves queries out of all that is made from the tree; they keep their topic."""

    queries: tuple[str, ...]
    kind: Literal["drop-queries"] = "drop-queries"


@dataclass(frozen=True, config=_STRICT)
class Restore:
    """Takes dropped queries back."""

    queries: tuple[str, ...]
    kind: Literal["restore"] = "restore"


@dataclass(frozen=True, config=_STRICT)
class Placed:
    """Queries and the key of the topic they belong to, or ``OUTLIER``."""

    topic: str
    queries: tuple[str, ...]


@dataclass(frozen=True, config=_STRICT)
class Import:
    """Replaces the topics by those of a file; queries that are not named stay where they are."""

    source: str
    topics: tuple[Topic, ...]
    placed: tuple[Placed, ...] = ()
    dropped: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    kind: Literal["import"] = "import"


@dataclass(frozen=True, config=_STRICT)
class Assigned:
    """Queries that were added to a pool, the topic they are put into, and how sure that is.

    Attributes:
        confidence: Of each of the queries, from 0 to 1.
    """

    topic: str
    queries: tuple[str, ...]
    confidence: tuple[float, ...]


@dataclass(frozen=True, config=_STRICT)
class Grow:
    """Puts queries that were added to a pool into topics, some of them new; the rest of the tree stays.

    Attributes:
        topics: The new ones.
        assigned: To topics that were there before.
        placed: To the new ones, or to those of prompts that are set aside.
        dropped: Those of them that are left out.
    """

    topics: tuple[Topic, ...]
    assigned: tuple[Assigned, ...]
    placed: tuple[Placed, ...] = ()
    dropped: tuple[str, ...] = ()
    kind: Literal["grow"] = "grow"

    @property
    def places(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Keys of topics, old and new, and the queries that each gets."""
        old = tuple((place.topic, place.queries) for place in self.assigned)
        return (*old, *((place.topic, place.queries) for place in self.placed))


Action = (
    Rename
    | Merge
    | Split
    | MoveToCategory
    | RenameCategory
    | MoveQueries
    | DropQueries
    | Restore
    | Import
    | Grow
)

_ACTIONS: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="kind")])


def action_to_json(action: Action) -> dict[str, Any]:
    """Return the action as JSON; ``action_from_json`` reads it back."""
    written: dict[str, Any] = _ACTIONS.dump_python(action, mode="json")
    return written


def action_from_json(written: Mapping[str, Any]) -> Action:
    """Return the action that was written; a LeaderboardError if it is none, as a newer program's may be."""
    try:
        return _ACTIONS.validate_python(written)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise LeaderboardError(
            f"A stored change of the topics cannot be read ({place}: {first['msg']}): "
            "it may be of a newer version of this program."
        ) from None


MAX_NAME = 80
MAX_SUMMARY = 600
_MIN_PARTS = 2


def apply(tree: TopicTree, action: Action) -> TopicTree:
    """Return the tree after an action; no query is ever lost or in two places.

    Raises:
        LeaderboardError: It is impossible, or would change nothing; it names a topic that is not there.
    """
    after = make(tree, action)
    check_topics(tree, after.topics)
    if after == tree:
        raise LeaderboardError("This would change nothing.")
    return after


def make(tree: TopicTree, action: Action) -> TopicTree:
    """Return the tree after an action found possible before; a LeaderboardError if it names what is gone.

    Names are not looked at: an LLM may have named the found topics since.
    """
    return _APPLY[type(action)](tree, action)


def check_topics(tree: TopicTree, topics: Sequence[Topic]) -> None:
    """Return if these can be the topics of the tree.

    Names are compared only where one is new: topics that were found may bear one name twice.

    Raises:
        LeaderboardError: A name, summary or category is blank or too long, a category has a name twice, or a
            part belongs to no topic.
    """
    if not topics:
        raise LeaderboardError("At least one topic must be left.")
    keys = {topic.key for topic in topics}
    places: dict[tuple[str, str], list[Topic]] = {}
    for topic in topics:
        places.setdefault((topic.category, topic.name.casefold()), []).append(topic)
        if topic.parent is not None and topic.parent not in keys:
            raise LeaderboardError(f"Topic {topic.key!r} is part of {topic.parent!r}, which is not there.")
    for topic in topics:
        old, given = tree.get(topic.key), (topic.name, topic.category, topic.summary)
        if old is not None and (old.name, old.category, old.summary) == given:
            continue
        check_name(topic.name, "The name of a topic")
        check_name(topic.category, "The name of a category")
        if len(topic.summary) > MAX_SUMMARY:
            raise LeaderboardError(
                f"The summary of {topic.name!r} has {len(topic.summary)} characters: "
                f"at most {MAX_SUMMARY} are kept."
            )
        renamed = old is None or (old.name, old.category) != (topic.name, topic.category)
        if renamed and len(places[topic.category, topic.name.casefold()]) > 1:
            raise LeaderboardError(f"The category {topic.category!r} already has a topic {topic.name!r}.")


def check_name(name: str, what: str) -> None:
    """Raise a LeaderboardError at a name that is blank, too long, of several lines, or has spaces around."""
    if not name.strip():
        raise LeaderboardError(f"{what} must not be blank.")
    if len(name) > MAX_NAME:
        raise LeaderboardError(f"{what} has {len(name)} characters: at most {MAX_NAME} are allowed.")
    if not name.isprintable() or name != name.strip():
        raise LeaderboardError(f"{what} must be one line without white space around it: {name!r} is not.")


def _rename(tree: TopicTree, action: Rename) -> TopicTree:
    topic = tree[action.topic]
    renamed = replace(
        topic,
        name=topic.name if action.name is None else action.name,
        summary=topic.summary if action.summary is None else action.summary,
        named_by="",
    )
    return _with_topics(tree, [renamed if each is topic else each for each in tree.topics])


def _merge(tree: TopicTree, action: Merge) -> TopicTree:
    into = tree[action.into]
    if not action.topics:
        raise LeaderboardError("Name the topics that are to be merged.")
    gone = {key for topic in action.topics for key in tree.family(tree[topic].key)}
    if action.into in action.topics:
        raise LeaderboardError(f"{into.name!r} cannot be merged into itself.")
    if action.into in gone:
        raise LeaderboardError(f"{into.name!r} is a part of what would be merged into it: merge it instead.")
    moved = replace(tree, topic_of=tuple(action.into if key in gone else key for key in tree.topic_of))
    return _with_topics(moved, [topic for topic in tree.topics if topic.key not in gone])


def _split(tree: TopicTree, action: Split) -> TopicTree:
    topic = tree[action.topic]
    if len(action.parts) < _MIN_PARTS:
        raise LeaderboardError(f"A topic is split into {_MIN_PARTS} parts or more.")
    for part in action.parts:
        if part.key in tree or part.key == OUTLIER:
            raise LeaderboardError(f"There is a topic {part.key!r} already: split {topic.name!r} again.")
        if not part.queries:
            raise LeaderboardError(f"The part {part.name!r} would have no queries.")
    places = _places((part.key, part.queries) for part in action.parts)
    own = set(tree.queries_of([action.topic], dropped=True))
    if strange := places.keys() - own:
        raise LeaderboardError(f"The query {min(strange)!r} does not belong to {topic.name!r} itself.")
    parts = [
        Topic(part.key, part.name, topic.category, part.summary, part.keywords, topic.key)
        for part in action.parts
    ]
    return _with_topics(_placed(tree, places), [*tree.topics, *parts])


def _move_to_category(tree: TopicTree, action: MoveToCategory) -> TopicTree:
    if not action.topics:
        raise LeaderboardError("Name the topics that are to be moved.")
    named = {tree[key].key for key in action.topics}
    moved = {each for key in named for each in tree.family(key)}
    # A part that moves together with its topic stays a part of it.
    alone = {key for key in named if tree[key].parent not in moved}
    return _with_topics(
        tree,
        [
            replace(topic, category=action.category, parent=None if topic.key in alone else topic.parent)
            if topic.key in moved
            else topic
            for topic in tree.topics
        ],
    )


def _rename_category(tree: TopicTree, action: RenameCategory) -> TopicTree:
    check_category(tree, action.category)
    if action.name != action.category and action.name in tree.categories:
        raise LeaderboardError(
            f"There is a category {action.name!r} already: move the topics there to join the two."
        )
    return _with_topics(
        tree,
        [
            replace(topic, category=action.name, category_named_by="")
            if topic.category == action.category
            else topic
            for topic in tree.topics
        ],
    )


def check_category(tree: TopicTree, name: str) -> None:
    """Raise a LeaderboardError if no category has this name."""
    if name not in tree.categories:
        listed = ", ".join(map(repr, get_close_matches(name, tree.categories, n=3) or tree.categories))
        raise LeaderboardError(f"There is no category {name!r}: there are {listed}.")


def _grow(tree: TopicTree, action: Grow) -> TopicTree:
    for topic in action.topics:
        if topic.key in tree or topic.key == OUTLIER:
            raise LeaderboardError(f"There is a topic {topic.key!r} already.")
    grown = _with_topics(tree, [*tree.topics, *action.topics])
    places = _places(action.places)
    if places:
        _check_queries(tree, tuple(places))
    for key in places.values():
        grown[key]  # an error if it is gone
    return _with_dropped(_placed(grown, places), tree.dropped.union(action.dropped))


def _move_queries(tree: TopicTree, action: MoveQueries) -> TopicTree:
    topic = tree[action.topic]
    _check_queries(tree, action.queries)
    return _placed(tree, dict.fromkeys(action.queries, topic.key))


def _drop_queries(tree: TopicTree, action: DropQueries) -> TopicTree:
    _check_queries(tree, action.queries)
    return _with_dropped(tree, tree.dropped.union(action.queries))


def _restore(tree: TopicTree, action: Restore) -> TopicTree:
    _check_queries(tree, action.queries)
    return replace(tree, dropped=tree.dropped.difference(action.queries))


def _import(tree: TopicTree, action: Import) -> TopicTree:
    keys = [topic.key for topic in action.topics]
    if twice := [key for place, key in enumerate(keys) if key in keys[:place]]:
        raise LeaderboardError(f"The key {twice[0]!r} is that of two topics.")
    places = _places((place.topic, place.queries) for place in action.placed)
    for queries in (places, action.dropped, action.restored):
        if queries:
            _check_queries(tree, tuple(queries))
    known = {*keys, OUTLIER}
    if unknown := set(places.values()) - known:
        raise LeaderboardError(f"Queries are put into {min(unknown)!r}, which is no topic.")
    moved = _placed(tree, places)
    if homeless := set(moved.topic_of) - known:
        raise LeaderboardError(f"Queries of {tree.name_of(min(homeless))!r} would be left without a topic.")
    dropped = tree.dropped.union(action.dropped).difference(action.restored)
    return _with_dropped(_with_topics(moved, action.topics), dropped)


def _with_topics(tree: TopicTree, topics: Sequence[Topic]) -> TopicTree:
    return replace(tree, topics=in_order(topics))


def _with_dropped(tree: TopicTree, dropped: frozenset[str]) -> TopicTree:
    if len(dropped) == len(tree.query_ids):
        raise LeaderboardError("These are the last queries that are kept: one must be left.")
    return replace(tree, dropped=dropped)


def _placed(tree: TopicTree, places: Mapping[str, str]) -> TopicTree:
    moved = (places.get(query, key) for query, key in zip(tree.query_ids, tree.topic_of, strict=True))
    return replace(tree, topic_of=tuple(moved))


def _places(placed: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """From each query to the one key it is put under."""
    places: dict[str, str] = {}
    for key, queries in placed:
        for query in queries:
            if query in places:
                raise LeaderboardError(f"The query {query!r} is named twice.")
            places[query] = key
    return places


def _check_queries(tree: TopicTree, queries: Sequence[str]) -> None:
    if not queries:
        raise LeaderboardError("Name the queries.")
    for query in queries:
        if not tree.knows(query):
            raise LeaderboardError(
                f"There is no query {query!r} among those of these topics: queries are named by their ids, "
                "the 16 characters that the file of topics lists."
            )


_APPLY: Mapping[type[Action], Callable[[TopicTree, Any], TopicTree]] = {
    Rename: _rename,
    Merge: _merge,
    Split: _split,
    MoveToCategory: _move_to_category,
    RenameCategory: _rename_category,
    MoveQueries: _move_queries,
    DropQueries: _drop_queries,
    Restore: _restore,
    Import: _import,
    Grow: _grow,
}
