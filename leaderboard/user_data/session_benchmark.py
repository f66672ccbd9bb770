"""The leaderboard of one session: the shared benchmarks overlaid with what one person brought."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet
from crm.embedded.encoder import sentence_encoder
from crm.protocol import CRM, MeasuresResponses, Pair
from db.records import BenchmarkSummary, LLMRecord
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.cache import SharedCache
from leaderboard.errors import LeaderboardError
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs.scheduler import ANYBODY
from leaderboard.service import Service, filled, measured
from leaderboard.statistics.duels import Margins
from leaderboard.stored_arrays import Arrays, StackedArrays
from leaderboard.user_data.session_data import SessionData, marked
from leaderboard.view import View


@dataclass(frozen=True, eq=False)
class OwnBenchmark(LoadedBenchmark):
    """A benchmark that an upload made."""

    material: SessionData

    @property
    def is_stored(self) -> bool:
        """It is not."""
        return False

    @property
    def identity(self) -> Hashable:
        """What changes whenever the upload does."""
        return self.material.key

    @cached_property
    def readable(self) -> NDArray[np.bool_]:
        """Where there is a response of each of the respondents ``[R, Q]``."""
        return np.array([[text is not None for text in self._texts(llm)] for llm in self.respondents])

    @cached_property
    def query_texts(self) -> Sequence[str | None]:
        """Texts of the queries ``[Q]``."""
        return [self.material.queries[query.external_id] for query in self.record.queries]

    @cached_property
    def query_embedding(self) -> NDArray[np.float32]:
        """Unit sentence embeddings of the queries ``[Q, 384]``."""
        return sentence_encoder().embed([text or "" for text in self.query_texts])

    def text_at(self, llm: str, query: int) -> str | None:
        """Return an LLM's, or the baseline's, response to one query; None where there is none."""
        return self._texts(llm)[query]

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """The LLM's responses (A) with the baseline's (B), one per query; None where one is missing."""
        return [
            None if query is None or text_a is None or text_b is None else Pair(query, text_a, text_b)
            for query, text_a, text_b in zip(
                self.query_texts, self._texts(llm), self._texts(self.baseline), strict=True
            )
        ]

    def _texts(self, llm: str) -> list[str | None]:
        given = self.material.responses[llm]
        return [given.get(query.external_id) for query in self.record.queries]

    def _read_representation(self, name: str) -> StackedArrays:
        ids = [query.external_id for query in self.record.queries]
        return _stacked([self.material.rows(name, llm, ids) for llm in self.respondents])


@dataclass(frozen=True, eq=False)
class AddedLLMs(LoadedBenchmark):
    """A person's LLMs alone, with the upload of each, and the baseline of a stored benchmark, if any."""

    stored: LoadedBenchmark
    responses: Mapping[str, SessionData]

    @property
    def identity(self) -> Hashable:
        """What changes whenever the benchmark or the uploads do."""
        return self.stored.identity, tuple(material.key for material in self.responses.values())

    def _read_representation(self, name: str) -> StackedArrays:
        ids = [query.external_id for query in self.record.queries]
        own = [material.rows(name, llm, ids) for llm, material in self.responses.items()]
        if self.record.baseline is None:
            return _stacked(own)
        baseline = {key: array[-1] for key, array in self.stored.representation(name).items()}
        return _stacked([*own, baseline])


@dataclass(frozen=True, eq=False)
class OverlaidBenchmark(LoadedBenchmark):
    """A stored benchmark with a person's LLMs after its own."""

    stored: LoadedBenchmark
    added: AddedLLMs

    @property
    def own_llms(self) -> frozenset[str]:
        """Names of the person's LLMs."""
        return frozenset(self.added.responses)

    @property
    def identity(self) -> Hashable:
        """What changes whenever the benchmark or the uploads do."""
        return self.added.identity

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Where both have a text that is stored: judges of texts do not see a person's LLMs ``[L, Q]``."""
        own = np.zeros((len(self.added.llms), self.n_queries), dtype=np.bool_)
        return np.concatenate([self.stored.answered, own])

    @cached_property
    def readable(self) -> NDArray[np.bool_]:
        """Where a query and a response to it of each of the respondents can be read ``[R, Q]``."""
        asked = np.array([text is not None for text in self.query_texts])
        own = [
            [query.external_id in material.responses[llm] for query in self.record.queries]
            for llm, material in self.added.responses.items()
        ]
        stored, n = self.stored.readable, len(self.stored.llms)
        return np.concatenate([stored[:n], np.array(own, dtype=np.bool_) & asked, stored[n:]])

    @cached_property
    def query_texts(self) -> Sequence[str | None]:
        """Texts of the queries, as far as they are stored or the uploads have them ``[Q]``."""
        known: dict[str, str] = {}
        for material in self.added.responses.values():
            known |= material.queries
        return [
            text if text is not None else known.get(query.external_id)
            for text, query in zip(self.stored.query_texts, self.record.queries, strict=True)
        ]

    def text_at(self, llm: str, query: int) -> str | None:
        """Return an LLM's, or the baseline's, response to one query; None where it is not there."""
        if llm not in self.added.responses:
            return self.stored.text_at(llm, query)
        return self.added.responses[llm].responses[llm].get(self.record.queries[query].external_id)

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        """Return the LLM's responses with the baseline's; none of a person's LLMs."""
        if llm in self.added.responses:
            return [None] * self.n_queries
        return self.stored.pairs(llm)

    def arrays_at(self, name: str, llm: str, query: int) -> Arrays:
        """Return what there is under ``name`` of an LLM's, or the baseline's, response to one query."""
        owner = self.added if llm in self.added.responses else self.stored
        return owner.arrays_at(name, llm, query)

    def _read_representation(self, name: str) -> StackedArrays:
        stored, added, n = (
            self.stored.representation(name),
            self.added.representation(name),
            len(self.stored.llms),
        )

        def joined(key: str) -> NDArray[Any]:
            return np.concatenate([stored[key][:n], added[key]])

        # Every session would hold what is largest of a stored benchmark once more.
        return StackedArrays(tuple(stored), {}, joined, keep_large=False)


def overlay(stored: LoadedBenchmark, materials: Sequence[SessionData]) -> LoadedBenchmark:
    """Return a stored benchmark with the LLMs of some uploads; as it is if there are none of them.

    An LLM whose name has been stored in the meantime is left out.
    """
    taken = {llm.name for llm in stored.record.llms}
    responses = {llm: material for material in materials for llm in material.llms if llm not in taken}
    if not responses:
        return stored
    record = stored.record
    own = tuple(LLMRecord(llm, marked(llm)) for llm in responses)
    baseline = tuple(llm for llm in record.llms if llm.name == record.baseline)
    added = AddedLLMs(stored.database, replace(record, llms=(*own, *baseline)), stored, responses)
    return OverlaidBenchmark(stored.database, replace(record, llms=(*record.llms, *own)), stored, added)


def _stacked(rows: Sequence[Arrays]) -> StackedArrays:
    stacked = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    return StackedArrays(tuple(stacked), stacked, stacked.__getitem__)


_BENCHMARKS_KEPT = 4
_SHARE = 8
"""One session keeps so many times less in memory than all together do of what is stored."""


class SessionService(Service):
    """A service with the uploads of one session, which live as long as this object and are stored nowhere.

    Judges that read texts store their verdicts; they see only what is stored.
    """

    def __init__(self, shared: Service, materials: tuple[SessionData, ...]) -> None:
        """Add uploads to the service of all sessions, whose judges and matrices are shared."""
        super().__init__(shared.database, shared._live, share=_SHARE)
        self._shared = shared
        self._materials = materials
        self._overlaid: SharedCache[LoadedBenchmark] = SharedCache(_BENCHMARKS_KEPT)

    def benchmarks(self) -> list[BenchmarkSummary]:
        """Return all benchmarks, those of the session last."""
        made = [material.made for material in self._materials if material.made is not None]
        return [
            *self._shared.benchmarks(),
            *(
                BenchmarkSummary(
                    record.info.slug,
                    record.info.title,
                    record.info.version,
                    len(record.queries),
                    sum(llm.name != record.baseline for llm in record.llms),
                    record.has_texts,
                    record.updated_at,
                )
                for record in made
            ),
        ]

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Ask the database only once; see ``Service.at_one_moment``."""
        with self._shared.at_one_moment():
            yield

    def benchmark(self, slug: str) -> LoadedBenchmark:
        """Return a benchmark with the session's LLMs in it."""
        uploads = self._uploads(slug)
        for upload in uploads:
            if upload.made is not None:
                made = partial(OwnBenchmark, self.database, upload.made, upload)
                return self._overlaid.get(upload.key, made)
        stored = self._shared.benchmark(slug)
        return self._overlaid.get(stored.identity, lambda: overlay(stored, uploads))

    def leaderboard(
        self, view: View, *, subscriber: str | None = ANYBODY, patience: float = 0.0
    ) -> Leaderboard:
        """Rank the LLMs for a view, the session's among them; see ``Service.leaderboard``.

        Also raises a LeaderboardError if the judge reads texts, and the benchmark is the session's.
        """
        leaderboard = super().leaderboard(view, subscriber=subscriber, patience=patience)
        return replace(leaderboard, notes=(*leaderboard.notes, *self._notes(view)))

    def _notes(self, view: View) -> tuple[str, ...]:
        uploads = self._uploads(view.benchmark)
        names = ", ".join(llm for material in uploads for llm in material.llms)
        if any(material.made is not None for material in uploads):
            return ("These queries and responses are yours: only this session has them.",)
        if not names:
            return ()
        if reader := _reads_texts(view):
            return (f"{names}: yours; not judged by {reader}, which reads texts and stores its verdicts.",)
        return (f"{names}: yours; only this session has the responses, and a link shows the others alone.",)

    def _benchmark_of(self, view: View) -> LoadedBenchmark:
        reader = _reads_texts(view)
        if not reader:
            return self.benchmark(view.benchmark)
        if any(material.made is not None for material in self._uploads(view.benchmark)):
            raise LeaderboardError(
                f"The judge {reader!r} reads texts and stores its verdicts, which is not done with your "
                f"own queries: choose {registry.DEFAULT!r}."
            )
        return self._shared.benchmark(view.benchmark)

    def _uploads(self, slug: str) -> list[SessionData]:
        return [material for material in self._materials if material.benchmark == slug]

    def _measured(self, benchmark: LoadedBenchmark, crm: MeasuresResponses, criteria: CriteriaSet) -> Margins:
        if not isinstance(benchmark, OverlaidBenchmark):
            return measured(benchmark, crm, criteria)
        stored, added = (
            self._shared.margins(benchmark.stored, crm, criteria),
            measured(benchmark.added, crm, criteria),
        )
        n = len(benchmark.stored.llms)
        asked, penalty = (
            np.concatenate([one[:n], other])
            for one, other in ((stored.asked, added.asked), (stored.taken_off, added.taken_off))
        )
        return replace(stored, asked=asked, penalty=penalty)

    def _filled(self, benchmark: LoadedBenchmark, crm: CRM, criteria: CriteriaSet) -> NDArray[np.float32]:
        if not isinstance(benchmark, OverlaidBenchmark):
            return filled(benchmark, crm, criteria)
        return np.concatenate(
            [
                self._shared.score_matrix(benchmark.stored, crm, criteria),
                filled(benchmark.added, crm, criteria),
            ]
        )


def _reads_texts(view: View) -> str:
    """Return the first of a view's judges that reads texts; empty if none does."""
    names = dict.fromkeys(filter(None, (view.crm, view.default_crm or registry.default_crm_name())))
    return next((name for name in names if registry.get_crm(name).representation is None), "")
