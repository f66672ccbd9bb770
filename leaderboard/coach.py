"""Makes wishes testable: what a broad one may mean, which tell no LLMs apart, and two answers to see it by.

A wish such as “better writing” is read as something by any judge, but hardly as what its author means. Broad
words, and the criteria of the library that they may stand for, are in ``bundled/criteria/broad.toml``; a wish
is broad where no other word is in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet, Criterion
from crm.embedded.representation import representation
from crm.errors import CriterionError
from crm.paths import BUNDLED
from crm.protocol import MeasuresResponses
from leaderboard.amounts import MeanAmount
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.library import LibraryCriterion, criterion_library
from leaderboard.elicitation.margins import benchmark_margins
from leaderboard.elicitation.session import readable_benchmarks
from leaderboard.service import Service
from parsing.documents import read_toml

BROAD_FILE = BUNDLED.parent / "criteria" / "broad.toml"
MOST_WORDS = 90
"""In an example answer."""
_ALIKE = 0.05
"""Win rates under a criterion alone that are no further apart tell no LLMs apart."""
_NEARLY_ALWAYS = 0.98
"""Share of answers in which an LLM keeps to a limit as good as always."""
_WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class _Broad:
    words: frozenset[str]
    means: tuple[str, ...]


@cache
def _filler() -> frozenset[str]:
    return frozenset(read_toml(BROAD_FILE.read_bytes())["filler"])


@cache
def _broad_words() -> tuple[_Broad, ...]:
    entries = read_toml(BROAD_FILE.read_bytes())["broad"]
    known = {item.label for item in criterion_library()}
    found = tuple(_Broad(frozenset(entry["words"]), tuple(entry["means"])) for entry in entries)
    if unknown := {label for entry in found for label in entry.means} - known:
        raise CriterionError(f"{BROAD_FILE}: the library has no {min(unknown)!r}; name one of its labels.")
    return found


def may_mean(criterion: Criterion) -> tuple[LibraryCriterion, ...]:
    """Return what a broad wish may mean, in testable words; nothing where it is not broad."""
    words = [word for word in _WORD.findall(criterion.text.casefold()) if word not in _filler()]
    entries = [next((entry for entry in _broad_words() if word in entry.words), None) for word in words]
    if not entries or None in entries:
        return ()
    # The closest: “better writing” is about writing.
    closest = min((entry for entry in entries if entry is not None), key=_broad_words().index)
    by_label = {item.label: item for item in criterion_library()}
    return tuple(by_label[label] for label in closest.means)


def split_broad(criteria: CriteriaSet, broad: Criterion, meant: Sequence[str]) -> CriteriaSet:
    """Return the criteria with what a broad one means in its place, with its weight and what it is for.

    What is to be avoided stays so.
    """
    parts = tuple(replace(broad, text=text) for text in meant)
    return CriteriaSet(tuple(part for item in criteria for part in (parts if item == broad else (item,))))


def alike_sentences(
    amounts: Sequence[MeanAmount], won: Mapping[Criterion, Mapping[str, float]], llms: Sequence[str]
) -> tuple[str, ...]:
    """Return which wishes tell none of the LLMs apart, one sentence each.

    Args:
        amounts: Of what the criteria count, with the share of answers in which limits are kept.
        won: Share of comparisons that each LLM wins under single criteria, as far as it is known.
    """
    found = []
    for amount in amounts:
        kept = _known(amount.kept, llms)
        if len(kept) > 1 and min(kept) >= _NEARLY_ALWAYS:
            found.append(f"All LLMs here give {amount.limit} in nearly every answer: that tells none apart.")
    for criterion, share in won.items():
        shares = _known(share, llms)
        if len(shares) > 1 and max(shares) - min(shares) <= _ALIKE:
            found.append(f"All LLMs here are about alike in “{criterion}”: that tells none apart.")
    return tuple(found)


def _known(values: Mapping[str, float], llms: Sequence[str]) -> list[float]:
    return [values[llm] for llm in llms if not math.isnan(values.get(llm, math.nan))]


@dataclass(frozen=True)
class ExamplePair:
    """Two answers to one question, of which the first meets a criterion, polarity included, and better."""

    query: str
    more: str
    less: str


def example_pair(service: Service, slug: str, criterion: Criterion) -> ExamplePair | None:
    """Return two short answers that differ in a criterion and as little as may be in anything else.

    They are of the benchmark, or where its texts are not stored of another one. None where there is none with
    texts, or its answers do not differ.

    Raises as ``Service.benchmark``.
    """
    slugs = [summary.slug for summary in readable_benchmarks(service)]
    if not slugs:
        return None
    benchmark = service.benchmark(slug if slug in slugs else slugs[0])
    crm = registry.get_crm(registry.DEFAULT)
    assert isinstance(crm, MeasuresResponses)  # the bundled one
    margins = benchmark_margins(benchmark, crm)
    own = crm.measure((criterion.everywhere,), benchmark).margins[..., 0]
    return _most_apart(benchmark, own, margins.values[..., :-1], _short(benchmark, crm.representation or ""))


def _short(benchmark: LoadedBenchmark, name: str) -> NDArray[np.bool_]:
    words = benchmark.representation(name)["style"][..., representation(name).sheet.words]
    return np.asarray(benchmark.readable & (words <= MOST_WORDS))


def _most_apart(
    benchmark: LoadedBenchmark,
    own: NDArray[np.floating],
    library: NDArray[np.floating],
    shown: NDArray[np.bool_],
) -> ExamplePair | None:
    """Return the pair that is much further apart in its own margins ``[R, Q]`` than in the library's."""
    scale = max(float(np.nanstd(own[shown])), 1e-6)
    scales = np.maximum(np.nanstd(library[shown], axis=0), 1e-6)
    best, found = 0.0, None
    for query in np.flatnonzero(shown.sum(axis=0) > 1).tolist():
        rows = np.flatnonzero(shown[:, query])
        high, low = (rows[place] for place in (own[rows, query].argmax(), own[rows, query].argmin()))
        ahead = float(own[high, query] - own[low, query]) / scale
        other = float(np.abs((library[high, query] - library[low, query]) / scales).mean())
        if ahead - other > best:
            best, found = ahead - other, (query, high, low)
    if found is None:
        return None
    query, high, low = found
    more, less = (benchmark.text_at(benchmark.respondents[row], query) for row in (high, low))
    asked = benchmark.query_texts[query]
    return None if asked is None or more is None or less is None else ExamplePair(asked, more, less)
