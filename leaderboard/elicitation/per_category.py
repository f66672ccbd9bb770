"""Checklists per category, where a person's choices in some categories call for another list than elsewhere.

The categories are put together by what the person seems to like in them (`tastes`). The largest group's list
holds everywhere but in the categories of the others: where nothing was chosen in a category, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet
from crm.protocol import Floats
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.checklist import ChecklistLine, criteria_of
from leaderboard.elicitation.choice_model import Choice
from leaderboard.elicitation.interview import ObservedReply
from leaderboard.elicitation.library import LibraryCriterion
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import Observation, PreferencePosterior
from leaderboard.elicitation.session import ElicitationSession, session_checklist
from leaderboard.elicitation.tastes import CategoryChoices, TastePosterior, groups_of
from leaderboard.errors import LeaderboardError
from leaderboard.selection import indices_of

NEAR = 0.2
"""Cosine of a query and the mean of a category's below which it belongs to none."""
UNKNOWN = ""
"""The category of a choice on what is near none."""
FEWEST = 2
"""Choices in a category before it may have a list of its own."""


@dataclass(frozen=True)
class CategoryChecklist:
    """The lines that hold in some categories, the weightiest first; without names, in all the others."""

    categories: tuple[str, ...]
    lines: tuple[ChecklistLine, ...]


def criteria_of_checklists(checklists: Sequence[CategoryChecklist]) -> CriteriaSet:
    """Return all lists as what a view carries to the leaderboard."""
    return CriteriaSet(
        tuple(
            replace(criterion, only_for=each.categories)
            for each in checklists
            for criterion in criteria_of(each.lines)
        )
    )


@dataclass(frozen=True, eq=False)
class Categorised:
    """Choices in their categories, learnt from together.

    Attributes:
        names: Category of each of C choices.
        posterior: What is known of the person's lists; its G categories are the distinct names.
        gram: Mean products of a benchmark's margins under every two criteria ``[K, K]``.
    """

    names: tuple[str, ...]
    posterior: TastePosterior
    gram: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        choices: Sequence[Choice],
        margins: CriterionMargins,
        gram: NDArray[np.float64],
        names: Sequence[str],
        replies: Sequence[Observation] = (),
        *,
        noise: float = 1.0,
        seed: int = 0,
    ) -> Categorised | None:
        """Return what choices in these categories ``[C]`` tell; None where all are in one.

        Args:
            margins: Of the responses that were chosen from.
            gram: As of the class.
            replies: What else the person did that speaks of one of their lists, unknown which.
            noise: How many times the usual noise the choices were made with.
        """
        index, distinct = indices_of(names)
        if len(distinct) < 2:  # noqa: PLR2004
            return None
        seen = CategoryChoices.of(choices, margins, index, len(distinct), noise)
        posterior = TastePosterior.given(seen, margins.n_criteria, replies, seed=seed)
        return cls(tuple(names), posterior, gram)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The categories that one list serves, the largest group first; one group for one taste."""
        _, distinct = indices_of(self.names)
        often = [
            row for row, name in enumerate(distinct) if name != UNKNOWN and self.names.count(name) >= FEWEST
        ]
        found = groups_of(self.posterior.likes(self.gram)[often], self.gram) if often else []
        return tuple(tuple(distinct[often[place]] for place in group) for group in found)

    def posterior_in(self, group: Sequence[str], general: PreferencePosterior) -> PreferencePosterior:
        """Return what is known of the taste in some categories; ``general`` has all that was observed."""
        _, distinct = indices_of(self.names)
        return self.posterior.of([distinct.index(name) for name in group], general.observed)

    def within(self, group: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of the choices are in categories of a group; the first is that of all others, too."""
        others = {name for each in self.groups if each != tuple(group) for name in each}
        first = tuple(group) == self.groups[0]
        return np.array([name not in others if first else name in group for name in self.names])


def categories_in(benchmark: LoadedBenchmark, asked: LoadedBenchmark) -> tuple[str, ...]:
    """Return the category of one benchmark that each query of another is in, or nearest to ``[Q]``."""
    if asked.record.info.slug == benchmark.record.info.slug:
        return tuple(query.category for query in asked.record.queries)
    try:
        return nearest_categories(asked.query_embedding, benchmark)
    except LeaderboardError:
        return (UNKNOWN,) * asked.n_queries


def nearest_categories(queries: Floats, benchmark: LoadedBenchmark) -> tuple[str, ...]:
    """Return the category of a benchmark that each query is nearest to; ``UNKNOWN`` where none is near.

    A category is the mean of its queries' embeddings. Without any stored ones all are unknown.

    Args:
        queries: Unit sentence embeddings ``[C, 384]``.
    """
    try:
        embedding = benchmark.query_embedding
    except LeaderboardError:
        return (UNKNOWN,) * len(queries)
    index, names = benchmark.category_index, benchmark.category_names
    mean = np.stack([embedding[index == row].mean(axis=0) for row in range(len(names))])
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    closeness = queries @ mean.T  # [C, G]
    nearest = closeness.argmax(axis=1)
    near = closeness.max(axis=1) >= NEAR
    return tuple(names[row] if close else UNKNOWN for row, close in zip(nearest, near, strict=True))


def session_checklists(
    session: ElicitationSession, library: Sequence[LibraryCriterion], categories: Sequence[str]
) -> tuple[CategoryChecklist, ...]:
    """Return the session's checklists, that of all other categories first; only it for one taste.

    Args:
        categories: Of the benchmark's queries ``[Q]``.
    """
    margins = session.candidates.margins
    found = Categorised.of(
        session.choices,
        margins,
        margins.gram,
        [categories[choice.pair.query] for choice in session.choices],
        [
            *(ObservedReply(reply.question, reply.option, margins.gram) for reply in session.replies),
            *session.clarified,
        ],
        seed=session.posterior.seed,
    )
    if found is None or len(found.groups) < 2:  # noqa: PLR2004
        return (CategoryChecklist((), session_checklist(session, library)),)
    return tuple(
        CategoryChecklist(() if place == 0 else group, _lines(session, library, found, group))
        for place, group in enumerate(found.groups)
    )


def _lines(
    session: ElicitationSession,
    library: Sequence[LibraryCriterion],
    found: Categorised,
    group: tuple[str, ...],
) -> tuple[ChecklistLine, ...]:
    """Return the list of a group, with the evidence of its own choices; replies count everywhere else."""
    within = iter(found.within(group))
    common = group == found.groups[0]
    steps = tuple(step for step in session.steps if (next(within) if isinstance(step, Choice) else common))
    posterior = found.posterior_in(group, session.posterior)
    return session_checklist(replace(session, posterior=posterior, steps=steps), library)
