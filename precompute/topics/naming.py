"""Names of topics and categories by an LLM, and the keywords that tell topics apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from crm.data.topic_model import ctfidf, vectorizer
from crm.llm.chat_model import ChatModel, LLMReply, Outcome, Prompt
from crm.llm.prompt import read_prompt
from crm.llm.running import run_to_end
from crm.llm.structured import UnusableReplyError, parse_json
from db.serialization import storable_text
from db.source_records import FoundTopic
from precompute.topics.encoders import Vectors
from precompute.topics.plain_names import distinct_name
from precompute.topics.settings import NameSettings

_PROMPTS = Path(__file__).parent / "prompts"
NO_NAME = "The LLM answered no JSON object with a short 'name' and a 'summary'."
NO_CATEGORY_NAME = "The LLM answered no JSON object with a short 'name'."
_ATTEMPTS = 3
_MAX_NAME_LENGTH = 60
_MAX_SUMMARY_LENGTH = 400


_Text = Annotated[
    str, BeforeValidator(lambda value: storable_text(value) if isinstance(value, str) else value)
]


class _NameReply(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    name: _Text = Field(min_length=2, max_length=_MAX_NAME_LENGTH, pattern=r"^[^\n\r\t]+$")
    summary: _Text = Field(min_length=2, max_length=_MAX_SUMMARY_LENGTH)


class _CategoryReply(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    name: _Text = Field(min_length=2, max_length=_MAX_NAME_LENGTH, pattern=r"^[^\n\r\t]+$")


@dataclass(frozen=True, slots=True)
class NamingSummary:
    """How many topics bear an LLM's name, and why others keep theirs: topics by key, categories by name."""

    named: int
    failed: Mapping[str, str]
    failed_categories: Mapping[str, str] = field(default_factory=dict)


def representative(embeddings: Vectors, members: NDArray[np.intp], count: int) -> list[int]:
    """Return the queries nearest the middle of a topic, at most so many.

    Args:
        embeddings: Of all queries ``[Q, d]``, of unit length.
    """
    similarity = embeddings[members] @ embeddings[members].mean(axis=0)
    nearest = np.argsort(-similarity, kind="stable")[:count]
    return [int(row) for row in members[nearest]]


def name_topics(
    topics: Sequence[FoundTopic],
    queries_of: Mapping[str, Sequence[str]],
    settings: NameSettings,
    provider: ChatModel,
    store: Callable[[FoundTopic], None],
) -> NamingSummary:
    """Ask an LLM for a name and a summary of each topic that has none of its own yet.

    Args:
        queries_of: Representative queries of each topic by key.
        store: Given each topic as soon as it has its name.

    Raises:
        UnavailableError: the LLM cannot be asked any more; what it named is stored.
        CRMError: its model cannot be loaded.
    """
    assert settings.llm is not None
    waiting = {topic.key: topic for topic in topics if topic.named_by != settings.llm}
    named = {topic.key: topic for topic in topics}
    failed: dict[str, str] = {}

    def keep(topic: FoundTopic) -> None:
        named[topic.key] = topic
        store(topic)

    def take(outcome: Outcome) -> None:
        key = outcome.prompt.external_id
        answer = _answer(outcome, _NameReply, NO_NAME)
        if isinstance(answer, str):
            failed[key] = answer
            return
        failed.pop(key, None)
        topic = waiting.pop(key)
        others = [other for other in named.values() if other.key != key]
        name = distinct_name(answer.name, {other.name for other in others if other.named_by})
        for other in others:
            # A name that no LLM gave gives way to one.
            if other.name.casefold() == name.casefold():
                keep(replace(other, name=distinct_name(other.name, {each.name for each in named.values()})))
        keep(replace(topic, name=name, summary=answer.summary, named_by=settings.llm or ""))

    for _ in range(_ATTEMPTS):
        if not waiting:
            break
        prompts = [
            Prompt(key, _question(topic, named.values(), queries_of[key], settings))
            for key, topic in waiting.items()
        ]
        run_to_end(provider.ask(prompts, take))
    return NamingSummary(sum(topic.named_by == settings.llm for topic in named.values()), failed)


def name_categories(
    topics: Sequence[FoundTopic],
    sizes: Mapping[str, int],
    settings: NameSettings,
    provider: ChatModel,
    store: Callable[[Sequence[FoundTopic]], None],
) -> dict[str, str]:
    """Ask an LLM for a name of each category that it has not named; return why others keep theirs, by name.

    Args:
        sizes: Queries of each topic by key.
        store: Given the topics of a category as soon as it has its name.

    Raises as `name_topics`.
    """
    assert settings.llm is not None
    listed: dict[str, list[FoundTopic]] = {}
    for topic in topics:
        listed.setdefault(topic.category, []).append(topic)
    waiting = {
        category: members
        for category, members in listed.items()
        if any(topic.category_named_by != settings.llm for topic in members)
    }
    given = listed.keys() - waiting.keys()
    failed: dict[str, str] = {}

    def take(outcome: Outcome) -> None:
        category = outcome.prompt.external_id
        answer = _answer(outcome, _CategoryReply, NO_CATEGORY_NAME)
        if isinstance(answer, str):
            failed[category] = answer
            return
        failed.pop(category, None)
        members = waiting.pop(category)
        name = distinct_name(answer.name, {*given, *waiting})
        given.add(name)
        store([replace(topic, category=name, category_named_by=settings.llm or "") for topic in members])

    for _ in range(_ATTEMPTS):
        if not waiting:
            break
        prompts = [
            Prompt(category, _category_question(members, sizes, given))
            for category, members in waiting.items()
        ]
        run_to_end(provider.ask(prompts, take))
    return failed


def _category_question(
    topics: Sequence[FoundTopic], sizes: Mapping[str, int], others: Collection[str]
) -> str:
    shown = [
        (topic.name, sizes[topic.key], topic.summary)
        for topic in sorted(topics, key=lambda topic: -sizes[topic.key])
        if topic.parent is None
    ]
    return read_prompt(_PROMPTS / "category.txt").render(topics=shown, others=sorted(others))


def _question(
    topic: FoundTopic, others: Collection[FoundTopic], queries: Sequence[str], settings: NameSettings
) -> str:
    shown = [_cut(query, settings.characters) for query in queries]
    names = sorted(other.name for other in others if other.named_by)
    return read_prompt(_PROMPTS / "topic.txt").render(keywords=topic.keywords, queries=shown, others=names)


_Reply = TypeVar("_Reply", bound=BaseModel)


def _answer(outcome: Outcome, kind: type[_Reply], otherwise: str) -> _Reply | str:
    if not isinstance(outcome.result, LLMReply):
        return outcome.result.message
    try:
        return parse_json(outcome.result.text or "", kind, str, half_characters=True)
    except UnusableReplyError:
        return otherwise


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length].rstrip()} …"


_MIN_SHARE = 0.08
"""Of a group's queries that have a keyword: a word of few odd queries does not describe the others. On 3,026
queries of public corpora this raises the coherence of keywords from 0.03 to 0.09."""
_MIN_QUERIES, _ENOUGH_QUERIES = 2, 10


def group_keywords(
    words: Sequence[str], group_of: NDArray[np.integer], count: int, *, damp_frequent: bool
) -> list[tuple[str, ...]]:
    """Return the words of each group ``[G]`` that queries of other groups lack most, most telling first.

    Every query has a word once at most, so the frequencies of c-TF-IDF (Grootendorst 2022) are numbers of
    queries here.

    Args:
        words: The distinct words of each query ``[Q]``.
        group_of: Group of each query ``[Q]``, numbered from 0, −1 for those in none; a
            group without queries has no words.
        damp_frequent: Whether words that are frequent in all groups count less.
    """
    n_groups = int(group_of.max()) + 1
    counter = vectorizer()
    try:
        has_word = counter.fit_transform(words)
    except ValueError:  # no query has a word
        return [()] * n_groups
    rows = [np.flatnonzero(group_of == group) for group in range(n_groups)]
    counts = np.stack([np.asarray(has_word[group].sum(axis=0)).ravel() for group in rows])
    if counts.shape[1] < 2:  # noqa: PLR2004  # the library's transformer fails on a single word
        return [tuple(counter.get_feature_names_out()) if group.any() else () for group in counts]
    weights = _weights(counts, damp_frequent=damp_frequent)
    for group, members in enumerate(rows):
        usual = min(max(_MIN_QUERIES, _MIN_SHARE * len(members)), _ENOUGH_QUERIES)
        # A group of many languages may have no word that so many share.
        least = usual if (counts[group] >= usual).any() else _MIN_QUERIES
        weights[group, counts[group] < least] = 0.0
    vocabulary = counter.get_feature_names_out()
    best = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    return [
        tuple(str(vocabulary[word]) for word in listed if weights[group, word] > 0)
        for group, listed in enumerate(best)
    ]


def _weights(counts: NDArray[np.integer], *, damp_frequent: bool) -> NDArray[np.float64]:
    """Return the c-TF-IDF weights of groups' words ``[G, V]``."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    weights: NDArray[np.float64] = (
        ctfidf(damp_frequent=damp_frequent).fit_transform(csr_matrix(counts)).toarray()
    )
    return weights
