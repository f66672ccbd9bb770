"""What a view shows: the ranking, what it is compared with, and how far a slow judge is with both."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, Criterion
from crm.protocol import CriterionWarning
from db.records import BenchmarkRecord
from leaderboard.amounts import MeanAmount
from leaderboard.scoring_jobs.progress import Progress, State
from leaderboard.selection import queries_with
from leaderboard.sentences import (
    EACH_OTHER,
    NO_MUSTS,
    NOBODY_COMPLETE,
    control_effect_sentences,
    control_in_brief,
    control_preference_sentence,
    floor_in_brief,
    left_out_in_brief,
    musts_in_brief,
    not_compared_in_brief,
    nothing_left_sentence,
    too_narrow,
    warnings_in_brief,
    weights_in_brief,
    weights_sentences,
)
from leaderboard.statistics.correlation import Correlations
from leaderboard.statistics.ranking import Ranking
from leaderboard.view import Against, View


@dataclass(frozen=True)
class Judging:
    """How far slow judges are with a view.

    Attributes:
        own: With what the ranking is made by; finished from the start where its judge needs no time.
        comparison: With ∅, which is judged afterwards; None where the view has no criteria, and where the
            judge of ∅ needs no time.
    """

    own: Progress
    comparison: Progress | None = None

    @property
    def current(self) -> Progress:
        """The part that is being worked on, the last one when all is done."""
        finished = self.own.state is State.FINISHED
        return self.comparison if finished and self.comparison is not None else self.own

    @property
    def of_comparison(self) -> bool:
        """Whether the ranking itself is finished, and only what it is compared with is not."""
        return self.current is self.comparison


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """What a view shows; of a slow judge, what there is so far.

    Attributes:
        default_crm: The judge of ∅.
        criteria: What the ranking is made by: the view's criteria without those that are left out.
        ranking: The LLMs above the floor under these criteria; all of them unranked while nothing is judged.
        default: The same queries under ∅, by the judge of ∅; None until it is judged.
        changes: Places climbed since ∅, in the order of ``ranking.llms``; NaN while that is unknown.
        correlations: Of the ranking (predicted) with ∅ (reference); None while that is unknown.
        summary: One plain sentence on them; empty while they are unknown.
        n_judged: On how many of them the ranking rests.
        judging: How far a slow judge is; None for a judge that has no need to wait.
        warnings: What the judge says against trusting its ranking under these criteria.
        absent: Which criteria are for something that hardly any response has.
        left_out: Why criteria of the view are left out, as the judge cannot judge them.
        amounts: Of the weightiest of what the criteria count, how much answers to the counted queries have.
        notes: What else a person should know about it, one sentence each.
        musts: The criteria that are a must: who misses more of them comes after those who miss fewer.
        misses: What an LLM misses of them, by its name; LLMs that meet all are not in it.
        distant: The person's interests that no query fits.
        said: The caveats of the whole leaderboard, where some LLMs of it are not listed.
        against: What LLMs are compared with.
        answered: The share of the counted queries that each LLM answered; empty while nothing is judged.
        n_by_votes: How many LLMs stand under ∅ as people's votes say.
        not_compared: Why an LLM cannot be compared with the others, by its name; it stands unranked at the
            end of ``ranking``.
        nobody_complete: Whether LLMs are ranked by a part of what was chosen, as no two answered all parts.
        too_few: Which of these would be ranked if the view kept LLMs that answered only a part.
    """

    view: View
    criteria: CriteriaSet
    benchmark: BenchmarkRecord
    crm_version: str
    default_crm: str
    ranking: Ranking
    default: Ranking | None
    changes: NDArray[np.float64]
    correlations: Correlations | None
    summary: str
    n_queries: int
    n_judged: int
    judging: Judging | None = None
    warnings: tuple[CriterionWarning, ...] = ()
    left_out: tuple[CriterionWarning, ...] = ()
    absent: tuple[CriterionWarning, ...] = ()
    amounts: tuple[MeanAmount, ...] = ()
    notes: tuple[str, ...] = ()
    musts: tuple[Criterion, ...] = ()
    misses: Mapping[str, tuple[Criterion, ...]] = field(default_factory=dict)
    distant: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    against: Against = Against.BASELINE
    answered: Mapping[str, float] = field(default_factory=dict)
    n_by_votes: int = 0
    not_compared: Mapping[str, str] = field(default_factory=dict)
    nobody_complete: bool = False
    too_few: tuple[str, ...] = ()

    @property
    def judge(self) -> str:
        """The judge of the ranking: without criteria that of ∅."""
        return self.view.crm if self.criteria else self.default_crm

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a picture or a file must not lose: why it is partial, weighted, narrow or doubtful."""
        if self.said:
            return self.said
        found = []
        if self.n_judged < self.n_queries:
            found.append(f"So far {self.n_judged} of {self.n_queries} queries are judged")
        if weights := weights_in_brief(self.view, self.n_judged, self.n_effective):
            found.append(weights)
        if self.narrow:
            found.append("Too narrow to rank")
        if self.nobody_complete:
            found.append(NOBODY_COMPLETE)
        if not_compared := not_compared_in_brief(len(self.not_compared)):
            found.append(not_compared)
        if removed := control_in_brief(self.view.control):
            found.append(removed)
        if self.floor_waits:
            found.append("The floor comes with the comparison with the average ranking")
        elif self.view.floor is not None and self.criteria:
            found.append(floor_in_brief(self.view.floor, len(self.ranking.under_floor)))
        llms = self.ranking.llms
        n_missing = sum(llm in self.misses for llm in llms)
        if musts := self.no_musts or musts_in_brief(self.musts, n_missing, len(llms)):
            found.append(musts.removesuffix("."))
        if left_out := left_out_in_brief(self.left_out):
            found.append(left_out)
        if warnings := warnings_in_brief(self.doubts):
            found.append(warnings)
        return (*found, *self.notes)

    @property
    def identity(self) -> Hashable:
        """What changes with any of its numbers, whatever is listed of it."""
        numbers = tuple(one.win_rate.tobytes() for one in (self.ranking, self.default) if one is not None)
        judged_by = self.crm_version, self.default_crm, self.n_judged
        return self.view.whole, self.benchmark.updated_at, judged_by, self.llms, numbers

    @property
    def doubts(self) -> tuple[CriterionWarning, ...]:
        """What speaks against the ranking: what the judge says, and that nothing is there to judge by."""
        return (*self.warnings, *self.absent)

    @property
    def floor_waits(self) -> bool:
        """Whether the view has a floor that is not known yet, as ∅ is not judged."""
        return self.view.floor is not None and bool(self.criteria) and self.default is None

    @cached_property
    def llms(self) -> tuple[str, ...]:
        """All LLMs: those that are ranked, then those under the floor, each best first."""
        return (*self.ranking.llms, *self.ranking.under_floor)

    @property
    def no_musts(self) -> str:
        """That Essential criteria cannot be a must, as the judge is slow; empty if nobody asked for it."""
        return NO_MUSTS if self.view.must_have and self.judging is not None and self.criteria else ""

    @property
    def nothing_left(self) -> str:
        """That all criteria are left out, so that this is the default ranking; empty if it is not so."""
        return nothing_left_sentence(self.left_out) if not self.criteria else ""

    @property
    def removed(self) -> tuple[str, ...]:
        """What was controlled for and how much it mattered, and why; nothing without a control."""
        effect = control_effect_sentences(self.ranking, self.view.control, self.titles)
        return (effect, control_preference_sentence(self.ranking, self.view.control)) if effect else ()

    @property
    def n_effective(self) -> float:
        """How many queries of equal weight the ranking rests on; ``n_judged`` if all count alike."""
        return float(self.ranking.n_effective.max(initial=0.0))

    @property
    def weighted(self) -> str:
        """What counts more and what that costs, in words; empty if all queries count alike."""
        return weights_sentences(self.view, self.n_judged, self.n_effective, self.distant)

    @property
    def narrow(self) -> str:
        """That the selection is too narrow to rank; empty if it is not, or if nothing is judged or ranked."""
        if self.n_judged < self.n_queries or not self.n_effective:
            return ""
        return too_narrow(self.view, self.n_judged, self.n_effective)

    @cached_property
    def shown_categories(self) -> tuple[str, ...]:
        """The categories of the selected queries, in display order: one column each."""
        selected = queries_with(self.benchmark, self.view.topics, self.view.topic_weights)
        present = {query.category for query in compress(self.benchmark.queries, selected)}
        return tuple(category.name for category in self.benchmark.categories if category.name in present)

    @cached_property
    def titles(self) -> dict[str, str]:
        """The name each LLM is shown by."""
        return {llm.name: llm.title for llm in self.benchmark.llms}

    @property
    def opponent(self) -> str:
        """What LLMs are compared with, after “against”: the name the baseline is shown by, or each other."""
        return EACH_OTHER if self.against is Against.ALL else self.titles[self.benchmark.baseline or ""]

    @property
    def typical_opponent(self) -> str:
        """Whose answers an LLM’s are compared with: the name the baseline is shown by, or another LLM."""
        return "another LLM" if self.against is Against.ALL else self.opponent

    @property
    def coverage(self) -> Mapping[str, float]:
        """The share of the counted queries that each LLM answered; empty where that is all, if rounded."""
        return self.answered if any(round(share, 2) < 1 for share in self.answered.values()) else {}
