"""Whether a person's later choices are foretold by checklists written for their queries.

The earlier choices are learnt from; the later ones, on queries that did not occur before, are foretold in
several ways, all of them on the same choices. A way that leaves a choice open foretells half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from crm import registry
from crm.criteria import CriteriaSet
from crm.embedded.encoder import sentence_encoder
from crm.evaluation.metrics import accuracy
from crm.llm.tasks import AskedLLM
from crm.protocol import Pair, Question
from crm.report_table import ReportTable
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.checklist import criteria_of
from leaderboard.elicitation.history.learn import HistoryChecklist
from leaderboard.elicitation.per_category import nearest_categories
from leaderboard.errors import LeaderboardError
from leaderboard.query_checklists.checklist import QueryChecklist
from leaderboard.query_checklists.general import DecidedChoice
from leaderboard.query_checklists.reward import Scores, reward, scoring_task
from leaderboard.query_checklists.writer import SCORE, ChecklistWriter, OnProgress
from parsing.messages import quantity

LATER = 1 / 3
"""Share of the choices that are foretold."""
BY_REWARD, BY_JUDGE, BY_TOPIC, BY_ONE_LIST, LONGER = (
    "checklist of each query, the LLM's scores",
    "checklist of each query, the judge",
    "checklists by topic, the judge",
    "one checklist for all, the judge",
    "longer answer",
)


@dataclass(frozen=True)
class LearntLists:
    """Checklists that are learnt from choices without an LLM: one for all queries, and those by topic.

    Attributes:
        by_category: Some for categories, and that of all others, which has none; only that where one will do.
        category: Says of queries which categories they are nearest to.
    """

    one: CriteriaSet
    by_category: Mapping[tuple[str, ...], CriteriaSet]
    category: Callable[[Sequence[str]], Sequence[str]]

    @classmethod
    def of(cls, learnt: HistoryChecklist, benchmark: LoadedBenchmark) -> LearntLists:
        """Return the lists of a history on a benchmark, whose queries say what a category is about."""
        return cls(
            criteria_of(learnt.lines),
            {each.categories: criteria_of(each.lines) for each in learnt.checklists},
            lambda queries: nearest_categories(sentence_encoder().embed(queries), benchmark),
        )

    def of_queries(self, queries: Sequence[str]) -> list[CriteriaSet]:
        """Return the list by topic of each query."""
        of = {name: criteria for names, criteria in self.by_category.items() for name in names}
        others = self.by_category.get((), self.one)
        return [of.get(category, others) for category in self.category(queries)]


@dataclass(frozen=True)
class Foretelling:
    """How many later choices are foretold.

    Attributes:
        right: For each way, 1, ½ or 0 a choice.
        failed: Why choices were left out, by their query.
    """

    right: Mapping[str, Sequence[float]]
    failed: Mapping[str, str]

    @property
    def n_choices(self) -> int:
        """Number of choices that were foretold."""
        return len(self.right[LONGER])

    def table(self, title: str) -> ReportTable:
        """Return one row a way."""
        rows = []
        for way, each in self.right.items():
            found = accuracy(way, each)
            rows.append(
                (way, f"{100 * found.value:.0f} %", f"{100 * found.low:.0f} to {100 * found.high:.0f} %")
            )
        return ReportTable(
            title,
            ("foretold by", "right", "95 %"),
            tuple(rows),
            f"{quantity(self.n_choices, 'later choice')} on queries that did not occur before; half a choice "
            "where a way leaves it open.",
        )


def foretell(
    writer: ChecklistWriter,
    scorer: AskedLLM,
    later: Sequence[DecidedChoice],
    *,
    crm: str,
    learnt: LearntLists,
    on_progress: OnProgress,
) -> Foretelling:
    """Foretell later choices by the checklists of their queries.

    Args:
        scorer: The LLM that scores answers.
        later: Choices that the writer does not know.
        crm: The judge that compares answers by a checklist.
        learnt: What is learnt from the earlier choices without an LLM.

    Raises:
        LeaderboardError: Not one of them could be foretold.
        UnavailableError, CRMError: As ``AskedLLM.answers``, or the judge fails.
    """
    written = writer.write([choice.query for choice in later], on_progress)
    tasks = {
        (choice, answer): scoring_task(writer.general, written.found[choice.query], answer)
        for choice in later
        if choice.query in written.found
        for answer in (choice.chosen, choice.rejected)
    }
    scored = scorer.answers(tasks, partial(on_progress, SCORE))
    told = [
        choice
        for choice in later
        if {(choice, choice.chosen), (choice, choice.rejected)} <= scored.found.keys()
    ]
    failed = written.failed | {choice.query: why for (choice, _), why in scored.failed.items()}
    if not told:
        raise LeaderboardError(f"None of the later choices was foretold. {next(iter(failed.values()), '')}")
    by_query, by_topic = written.found, learnt.of_queries([choice.query for choice in told])
    rewards = [_by_reward(by_query[choice.query], scored.found, choice) for choice in told]
    right = {
        BY_REWARD: rewards,
        BY_JUDGE: _by_judge(crm, [(by_query[choice.query].criteria, choice) for choice in told]),
        BY_TOPIC: _by_judge(crm, list(zip(by_topic, told, strict=True))),
        BY_ONE_LIST: _by_judge(crm, [(learnt.one, choice) for choice in told]),
        LONGER: [_sign(len(choice.chosen.split()) - len(choice.rejected.split())) for choice in told],
    }
    return Foretelling(right, failed)


def _by_reward(
    checklist: QueryChecklist, scores: Mapping[tuple[DecidedChoice, str], Scores], choice: DecidedChoice
) -> float:
    taken, left = (reward(checklist, scores[choice, text]) for text in (choice.chosen, choice.rejected))
    return _sign(taken - left)


def _by_judge(crm: str, asked: Sequence[tuple[CriteriaSet, DecidedChoice]]) -> list[float]:
    questions = [
        Question(criteria, Pair(choice.query, choice.chosen, choice.rejected)) for criteria, choice in asked
    ]
    verdicts = registry.get_crm(crm).judge(questions) if questions else []
    return [_sign(verdict.prob_a - 1 / 2) for verdict in verdicts]


def _sign(ahead: float) -> float:
    """Return 1 where the chosen answer is ahead, 0 where the other is, ½ where neither."""
    return float(np.sign(ahead) + 1) / 2
