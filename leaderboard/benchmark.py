"""A stored benchmark as a judge sees it: texts and representations, loaded when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.embedded.representation import MISSING, NAME
from crm.embedded.style import StyleSheet, style_sheet
from crm.errors import CRMError, RepresentationMissingError
from crm.protocol import Pair
from db import Database
from db.records import BenchmarkRecord
from db.repositories.benchmarks import find_benchmark
from db.repositories.contents import answered_queries, query_texts, response_text, response_texts
from db.repositories.representations import (
    get_query_representation,
    list_representations,
    read_representations,
    representation_arrays,
)
from leaderboard.errors import LeaderboardError
from leaderboard.selection import indices_of
from leaderboard.statistics.style_control import StyleCounts
from leaderboard.stored_arrays import DIGEST, Arrays, PassedOnArrays, Stack, StackedArrays, Take
from leaderboard.view import Against

QUERY_REPRESENTATION = "minilm-queries"
"""Name under which the queries' own embeddings are stored."""


@dataclass(frozen=True, eq=False)
class LoadedBenchmark:
    """A benchmark's contenders and its baseline, if any; implements ``crm.protocol.JudgedBenchmark``.

    Attributes:
        ranks_once: The largest arrays of representations are read for each ranking, an LLM at a time, instead
            of being kept for the next one: for a process that ends after the first.
    """

    database: Database
    record: BenchmarkRecord
    ranks_once: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_arrays", {})
        object.__setattr__(self, "_lock", Lock())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are read so far; they are most of what a benchmark takes."""
        stored: dict[str, StackedArrays] = self.__dict__["_arrays"]
        own = [value.nbytes for value in [*vars(self).values()] if isinstance(value, np.ndarray)]
        return sum(own) + sum(arrays.nbytes for arrays in [*stored.values()])

    @property
    def identity(self) -> Hashable:
        """What changes whenever the benchmark does."""
        return self.record.info.slug, self.record.updated_at

    @cached_property
    def baseline(self) -> str:
        """Name of the baseline; a LeaderboardError where there is none."""
        if self.record.baseline is None:
            raise LeaderboardError(
                f"The benchmark {self.record.info.slug!r} has no baseline to compare with: rank every LLM "
                "against every other, or choose one with “python -m precompute benchmarks baseline "
                f"{self.record.info.slug} NAME”."
            )
        return self.record.baseline

    @property
    def default_against(self) -> Against:
        """What its LLMs are compared with unless a view says otherwise."""
        return Against.ALL if self.record.baseline is None else Against.BASELINE

    @cached_property
    def llms(self) -> tuple[str, ...]:
        """Names of the contenders, without the baseline; a LeaderboardError where there are none."""
        names = tuple(llm.name for llm in self.record.llms if llm.name != self.record.baseline)
        if not names:
            raise LeaderboardError(
                f"The benchmark {self.record.info.slug!r} has no LLM to rank: collect responses "
                f"with “python -m precompute collect --benchmark {self.record.info.slug}”, or import some."
            )
        return names

    @property
    def respondents(self) -> tuple[str, ...]:
        """Names of all R LLMs: the contenders, and last the baseline if there is one."""
        return self.llms if self.record.baseline is None else (*self.llms, self.record.baseline)

    @property
    def is_stored(self) -> bool:
        """Whether it is in the database, and not one person's alone."""
        return True

    @property
    def own_llms(self) -> frozenset[str]:
        """Names of the LLMs that a person brought to a stored benchmark."""
        return frozenset()

    @property
    def n_queries(self) -> int:
        """Number of queries, Q."""
        return len(self.record.queries)

    @cached_property
    def topic_index(self) -> NDArray[np.intp]:
        """Topic of every query, as an index ``[Q]``."""
        return indices_of([f"{query.category}\0{query.topic}" for query in self.record.queries])[0]

    @cached_property
    def category_index(self) -> NDArray[np.intp]:
        """Category of every query, as an index into ``category_names`` ``[Q]``."""
        position = {name: index for index, name in enumerate(self.category_names)}
        return np.array([position[query.category] for query in self.record.queries], dtype=np.intp)

    @cached_property
    def category_names(self) -> tuple[str, ...]:
        """Categories in display order."""
        return tuple(category.name for category in self.record.categories)

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Where an LLM and the baseline have both a text to a query that has its own ``[L, Q]``.

        A LeaderboardError where there is no baseline.
        """
        _ = self.baseline
        return np.asarray(self.readable[:-1] & self.readable[-1])

    @cached_property
    def readable(self) -> NDArray[np.bool_]:
        """Where a query and a response to it of each of the respondents can be read ``[R, Q]``."""
        with self.database.session() as session:
            answered = answered_queries(session, find_benchmark(session, self.record.info.slug))
        return np.stack([answered[llm] for llm in self.respondents])

    def awaits_embedding(self, llm: str, representation: str) -> bool:
        """Return whether a respondent has responses here that the representation does not hold yet."""
        row = self.respondents.index(llm)
        present = self.representation(representation)["digest"][row] != MISSING
        return bool(np.any(self.readable[row] & ~present))

    @cached_property
    def query_embedding(self) -> NDArray[np.float32]:
        """Unit sentence embeddings of the queries ``[Q, 384]``; a LeaderboardError if none are stored."""
        slug = self.record.info.slug
        with self.database.session() as session:
            stored = get_query_representation(session, find_benchmark(session, slug), QUERY_REPRESENTATION)
        if stored is None or len(stored["embedding"]) != self.n_queries:
            raise LeaderboardError(
                f"The queries of {slug!r} have no embeddings, so they cannot be compared with what you use "
                f"LLMs for: run “{embed_command(slug)}”."
            )
        return np.asarray(stored["embedding"].astype(np.float32))

    def judgeable(self, representation: str | None) -> NDArray[np.bool_]:
        """Return where a judge finds both responses ``[L, Q]``; no representation stands for texts.

        Raises:
            LeaderboardError: There is no baseline.
            RepresentationMissingError: As ``representation``.
        """
        _ = self.baseline
        if representation is None:
            return self.answered
        present = self.representation(representation)["digest"] != MISSING
        return np.asarray(present[:-1] & present[-1])

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """Return the LLM's responses (A) with the baseline's (B), one per query; None where one is missing.

        Raises:
            CRMError: There is no pair at all, as in a benchmark that was shipped without texts.
            LeaderboardError: There is no baseline.
        """
        with self.database.session() as session:
            texts_a = response_texts(session, find_benchmark(session, self.record.info.slug), llm)
        pairs = [
            None if query is None or text_a is None or text_b is None else Pair(query, text_a, text_b)
            for query, text_a, text_b in zip(self.query_texts, texts_a, self._baseline_responses, strict=True)
        ]
        if all(pair is None for pair in pairs):
            raise CRMError(self._why_no_pairs(llm, texts_a))
        return pairs

    @cached_property
    def query_texts(self) -> Sequence[str | None]:
        """Texts of the queries, None where they are not stored ``[Q]``."""
        with self.database.session() as session:
            return query_texts(session, find_benchmark(session, self.record.info.slug))

    @cached_property
    def _baseline_responses(self) -> Sequence[str | None]:
        with self.database.session() as session:
            return response_texts(session, find_benchmark(session, self.record.info.slug), self.baseline)

    @cached_property
    def query_titles(self) -> tuple[str, ...]:
        """What each query is called where its text is not there: “Recipes, question 3” ``[Q]``."""
        seen: Counter[tuple[str, str]] = Counter()
        titles = []
        for query in self.record.queries:
            seen[query.category, query.topic] += 1
            titles.append(f"{query.topic}, question {seen[query.category, query.topic]}")
        return tuple(titles)

    def text_at(self, llm: str, query: int) -> str | None:
        """Return an LLM's, or the baseline's, response to one query; None where it is not stored."""
        external_id = self.record.queries[query].external_id
        with self.database.session() as session:
            return response_text(session, find_benchmark(session, self.record.info.slug), external_id, llm)

    def check_texts(self) -> None:
        """Raise a CRMError unless there is a pair of texts to judge."""
        if not self.answered.any():
            self.pairs(self.llms[0])

    def _why_no_pairs(self, llm: str, responses: Sequence[str | None]) -> str:
        lacking = [
            name
            for name, texts in ((llm, responses), (self.baseline, self._baseline_responses))
            if all(text is None for text in texts)
        ]
        if len(lacking) == 1 and any(text is not None for text in self.query_texts):
            return missing_texts_message(self.record, lacking[0])
        if lacking or all(text is None for text in self.query_texts):
            return missing_texts_message(self.record)
        return (
            f"{llm} and the baseline {self.baseline} have answered no query of {self.record.info.title} "
            "in common: import more of their responses."
        )

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """Return the arrays stored under ``name``, leading axes ``[R, Q]``, a row a respondent.

        They are read once and kept. An LLM of which nothing is stored, as an import was interrupted or still
        computes it, is taken to have answered nothing.

        Raises:
            RepresentationMissingError: Nothing is stored of the baseline, or of all others.
        """
        arrays: dict[str, StackedArrays] = self.__dict__["_arrays"]
        with self.__dict__["_lock"]:
            if name not in arrays:
                arrays[name] = self._read_representation(name)
            return arrays[name]

    def arrays_at(self, name: str, llm: str, query: int) -> Arrays:
        """Return what is stored under ``name`` of an LLM's, or the baseline's, response to one query."""
        stored, row = self.representation(name), self.respondents.index(llm)
        return {key: array[row, query] for key, array in stored.items()}

    def _read_representation(self, name: str) -> StackedArrays:
        """Return the arrays of all respondents as ``[R, Q, …]``, 0 where there is nothing yet.

        Those that only some rankings need are read when they are asked for.
        """
        with self.database.session() as session:
            benchmark = find_benchmark(session, self.record.info.slug)
            names = representation_arrays(session, benchmark, self.respondents, name)
            holders = frozenset(list_representations(session, benchmark).get(name, ()))
        self._check_holders(name, holders)
        if self.ranks_once and DIGEST in names:
            return self._passed_on(name, names)
        later = frozenset(_NOT_ALWAYS_NEEDED.intersection(names) if DIGEST in names else ())
        at_once = self._stacked(name, frozenset(names) - later)
        return StackedArrays(names, at_once, lambda key: self._stacked_beside(name, key, at_once[DIGEST]))

    def _check_holders(self, name: str, holders: Collection[str]) -> None:
        """Raise a RepresentationMissingError unless the baseline and another LLM are among the holders."""
        lacking = [llm for llm in self.respondents if llm not in holders]
        if self.record.baseline in lacking or all(llm in lacking for llm in self.llms):
            slug = self.record.info.slug
            first = self.record.baseline if self.record.baseline in lacking else lacking[0]
            raise RepresentationMissingError(
                f"{first} has no representation {name} in {slug!r}: run “{embed_command(slug)}”."
            )

    def _passed_on(self, name: str, names: Sequence[str]) -> PassedOnArrays:
        def read(key: str) -> NDArray[Any]:
            if key == DIGEST:
                return self._stacked(name, frozenset((DIGEST,)))[DIGEST]
            return self._stacked_beside(name, key, arrays[DIGEST])

        shape = len(self.respondents), self.n_queries
        arrays = PassedOnArrays(names, shape, read, lambda keys, take: self._read_each(name, keys, take))
        return arrays

    def _stacked(self, name: str, keys: frozenset[str]) -> dict[str, NDArray[Any]]:
        """Read some of a representation's arrays.

        0 is the digest of a missing response. Queries keep their places: an array that is too short was made
        before the last of them were added. Each is put in its place as it is read: all of them beside their
        stack would take twice the memory.
        """
        stack = Stack((len(self.respondents), self.n_queries))
        self._read_each(
            name, keys, lambda place, arrays: None if arrays is None else stack.put(place, arrays)
        )
        return stack.arrays

    def _read_each(self, name: str, keys: frozenset[str], take: Take) -> None:
        with self.database.session() as session:
            benchmark = find_benchmark(session, self.record.info.slug)
            read_representations(session, benchmark, self.respondents, name, only=keys, take=take)

    def _stacked_beside(self, name: str, key: str, digest: NDArray[Any]) -> NDArray[Any]:
        """Read one array later; rows that were computed again since then are as if they were not there."""
        stacked = self._stacked(name, frozenset((key, DIGEST)))
        array = stacked[key]
        changed = stacked[DIGEST] != digest
        if changed.any():
            array[changed] = 0
        return array


_NOT_ALWAYS_NEEDED = frozenset(("counts", "style", "passages"))
"""Two thirds of a representation, which rankings without counted criteria, style control and criteria that
are judged by their wording do without."""


def embed_command(slug: str) -> str:
    """Return the command that computes the representations of a benchmark."""
    return f"python -m precompute embed --benchmark {slug}"


def missing_texts_message(record: BenchmarkRecord, llm: str | None = None) -> str:
    """That texts are not shipped, all or only one LLM's, and the one command that imports them."""
    command = record.info.text_import_command
    how = f": “{command}” imports them" if command else ": import them"
    what = "The texts of" if llm is None else f"The responses of {llm} in"
    return f"{what} {record.info.title} are not stored here{how}."


# The sheets name numbered items differently; what they count is the same.
_COUNTED = (("words",), ("numbered", "numbered_steps", "bullets"), ("headings",), ("bold",))
"""Features of the sheet that are length, lists, headings and bold."""


def style_counts(benchmark: LoadedBenchmark) -> StyleCounts:
    """Return what is counted, length in words; a LeaderboardError without representations and texts."""
    try:
        stored = benchmark.representation(NAME)
    except RepresentationMissingError:
        return _of_texts(benchmark)
    return _of_counts(stored["style"].astype(np.float64), stored["digest"] != MISSING, style_sheet())


def response_features(benchmark: LoadedBenchmark) -> NDArray[np.int8] | None:
    """Return what describes each response ``[R, Q, D]``; None where no representation is stored."""
    try:
        features: NDArray[np.int8] = benchmark.representation(NAME)["features"]
    except RepresentationMissingError:
        return None
    return features


def _of_texts(benchmark: LoadedBenchmark) -> StyleCounts:
    slug = benchmark.record.info.slug
    wanted = set().union(*_COUNTED)
    sheet = StyleSheet(tuple(feature for feature in style_sheet().features if feature.name in wanted))
    with benchmark.database.session() as session:
        found = find_benchmark(session, slug)
        rows = [response_texts(session, found, llm) for llm in benchmark.respondents]
    present = np.array([[text is not None for text in row] for row in rows])
    if not present.any():
        raise LeaderboardError(
            f"Length and style of {benchmark.record.info.title} are not known, as neither "
            f"representations nor texts are stored: import its texts, then run “{embed_command(slug)}”."
        )
    counts = np.stack([sheet.count([text or "" for text in row]) for row in rows])
    return _of_counts(counts.astype(np.float64), present, sheet)


def _of_counts(counts: NDArray[np.float64], present: NDArray[np.bool_], sheet: StyleSheet) -> StyleCounts:
    """From raw counts ``[L + 1, Q, S]`` of a sheet."""

    def total(names: tuple[str, ...]) -> NDArray[np.float64]:
        places = [place for place, name in enumerate(sheet.names) if name in names]
        return np.asarray(counts[..., places].sum(axis=-1))

    length, lists, headings, bold = map(total, _COUNTED)
    return StyleCounts(length, lists, headings, bold, present)
