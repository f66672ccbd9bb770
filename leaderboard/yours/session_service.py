"""The leaderboard of one session: what all see, with what one person brought."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crm import registry
from crm.criteria import CriteriaSet
from crm.protocol import CRM
from db import BenchmarkSummary
from leaderboard.contest import StoredContest
from leaderboard.errors import SessionMaterialError
from leaderboard.judging.jobs import ANYBODY
from leaderboard.recent import Recent
from leaderboard.result import Leaderboard
from leaderboard.service import Service, filled
from leaderboard.view import View
from leaderboard.yours.session_contest import OverlaidContest, overlaid, own_contest
from leaderboard.yours.session_material import Material

_CONTESTS_KEPT = 4


class SessionService(Service):
    """A service with the uploads of one session, which live as long as this object and are stored nowhere.

    Judges that read texts store their verdicts; they see only what is stored.
    """

    def __init__(self, shared: Service, materials: tuple[Material, ...]) -> None:
        """Add uploads to the service of all sessions, whose judges and matrices are shared."""
        super().__init__(shared.database, shared._background)
        self._shared = shared
        self._materials = materials
        self._overlaid: Recent[StoredContest] = Recent(_CONTESTS_KEPT)

    def benchmarks(self) -> list[BenchmarkSummary]:
        """All benchmarks, those of the session last."""
        made = [material.made for material in self._materials if material.made is not None]
        return [
            *self._shared.benchmarks(),
            *(
                BenchmarkSummary(
                    record.info.slug,
                    record.info.title,
                    record.info.version,
                    len(record.queries),
                    len(record.llms) - 1,
                    record.has_texts,
                    record.updated_at,
                )
                for record in made
            ),
        ]

    def contest(self, slug: str) -> StoredContest:
        """A benchmark with the session's LLMs in it."""
        uploads = self._uploads(slug)
        if made := next((material for material in uploads if material.made is not None), None):
            return self._overlaid.get(made.key, partial(own_contest, self.database, made))
        stored = self._shared.contest(slug)
        return self._overlaid.get(stored.identity, lambda: overlaid(stored, uploads))

    def leaderboard(self, view: View, *, watcher: str | None = ANYBODY, patience: float = 0.0) -> Leaderboard:
        """Rank the LLMs for a view, the session's among them; see ``Service.leaderboard``.

        Raises:
            SessionMaterialError: The judge reads texts, and the benchmark is the session's.
        """
        leaderboard = super().leaderboard(view, watcher=watcher, patience=patience)
        return replace(leaderboard, notes=(*leaderboard.notes, *self._notes(view)))

    def _notes(self, view: View) -> tuple[str, ...]:
        uploads = self._uploads(view.benchmark)
        names = ", ".join(llm for material in uploads for llm in material.llms)
        if any(material.made is not None for material in uploads):
            return ("These queries and responses are yours: only this session has them.",)
        if not names:
            return ()
        if _reads_texts(view):
            return (f"{names}: yours; not judged by {view.crm}, which reads texts and stores its verdicts.",)
        return (f"{names}: yours; only this session has the responses, and a link shows the others alone.",)

    def _contest_of(self, view: View) -> StoredContest:
        if not _reads_texts(view):
            return self.contest(view.benchmark)
        if any(material.made is not None for material in self._uploads(view.benchmark)):
            raise SessionMaterialError(
                f"The judge {view.crm!r} reads texts and stores its verdicts, which is not done with your "
                f"own queries: choose {registry.DEFAULT!r}."
            )
        return self._shared.contest(view.benchmark)

    def _uploads(self, slug: str) -> list[Material]:
        return [material for material in self._materials if material.benchmark == slug]

    def _filled(self, contest: StoredContest, crm: CRM, criteria: CriteriaSet) -> NDArray[np.float32]:
        if not isinstance(contest, OverlaidContest):
            return filled(contest, crm, criteria)
        return np.concatenate(
            [
                self._shared.score_matrix(contest.stored, crm, criteria),
                filled(contest.added, crm, criteria),
            ]
        )


def _reads_texts(view: View) -> bool:
    return registry.get_crm(view.crm).representation is None
