"""A stored benchmark as a judge sees it: texts and representations, read when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.errors import RepresentationMissingError, TextsMissingError
from crm.protocol import Pair
from db import BenchmarkRecord, Database
from db.repositories.representations import get_representation
from db.repositories.texts import query_texts, response_texts
from leaderboard.errors import NothingToRankError
from leaderboard.selection import indices_of


@dataclass(frozen=True, eq=False)
class StoredContest:
    """The contenders of a benchmark against its baseline; implements ``crm.protocol.Contest``."""

    database: Database
    record: BenchmarkRecord

    def __post_init__(self) -> None:
        object.__setattr__(self, "_arrays", {})
        object.__setattr__(self, "_lock", Lock())

    @cached_property
    def baseline(self) -> str:
        """Name of the baseline.

        Raises:
            NothingToRankError: The benchmark names none.
        """
        if self.record.baseline is None:
            raise NothingToRankError(
                f"The benchmark {self.record.info.slug!r} has no baseline: import it again with --baseline."
            )
        return self.record.baseline

    @cached_property
    def llms(self) -> tuple[str, ...]:
        """Names of the contenders, the baseline not among them.

        Raises:
            NothingToRankError: There is no contender.
        """
        names = tuple(llm.name for llm in self.record.llms if llm.name != self.baseline)
        if not names:
            raise NothingToRankError(
                f"The benchmark {self.record.info.slug!r} has no LLM beside its baseline: import more."
            )
        return names

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

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """The LLM's responses (A) with the baseline's (B), one per query; None where one is missing.

        Raises:
            TextsMissingError: The benchmark was shipped without texts.
        """
        slug = self.record.info.slug
        with self.database.session() as session:
            queries = query_texts(session, slug)
            texts_a = response_texts(session, slug, llm)
            texts_b = response_texts(session, slug, self.baseline)
        if all(text is None for text in queries) or all(text is None for text in texts_a):
            raise TextsMissingError(missing_texts_message(self.record))
        return [
            None if query is None or text_a is None or text_b is None else Pair(query, text_a, text_b)
            for query, text_a, text_b in zip(queries, texts_a, texts_b, strict=True)
        ]

    def representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        """The arrays stored under ``name``, leading axes ``[L + 1, Q]``, the baseline in the last row.

        They are read once and kept.

        Raises:
            RepresentationMissingError: An LLM has nothing stored under that name.
        """
        arrays: dict[str, Mapping[str, NDArray[Any]]] = self.__dict__["_arrays"]
        with self.__dict__["_lock"]:
            if name not in arrays:
                arrays[name] = self._read_representation(name)
            return arrays[name]

    def _read_representation(self, name: str) -> Mapping[str, NDArray[Any]]:
        stacked: dict[str, NDArray[Any]] = {}
        rows = (*self.llms, self.baseline)
        slug = self.record.info.slug
        with self.database.session() as session:
            for row, llm in enumerate(rows):
                stored = get_representation(session, slug, llm, name)
                if stored is None:
                    raise RepresentationMissingError(
                        f"{llm} has no representation {name} in {slug!r}: "
                        f"run “python -m precompute embed --benchmark {slug}”."
                    )
                for key, array in stored.items():
                    if key not in stacked:
                        stacked[key] = np.zeros((len(rows), *array.shape), array.dtype)
                    stacked[key][row] = array
        return stacked


def missing_texts_message(record: BenchmarkRecord) -> str:
    """That texts are not shipped, and the one command that imports them."""
    command = record.info.text_import_command
    how = f": “{command}” imports them" if command else ": import them"
    return f"The texts of {record.info.title} are not stored here{how}."
