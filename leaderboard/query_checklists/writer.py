"""From past choices to whoever writes a checklist for each query: the general preference, and examples.

P-CHECK trains a generator φ on checklists whose lines are weighed by saliency. Here an LLM that need not be
trained is shown such checklists of the same person, those on like queries and of late; a trained one needs
none (``training_file``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from crm.embedded.encoder import sentence_encoder
from crm.llm.structured import Usable
from crm.llm.tasks import Answers, AskedLLM, Key, Task
from leaderboard.errors import LeaderboardError
from leaderboard.query_checklists.checklist import (
    ChecklistExample,
    QueryChecklist,
    checklist_task,
    contrast_task,
)
from leaderboard.query_checklists.contrast import answer_task, most_distant, weighed
from leaderboard.query_checklists.general import DecidedChoice, general_preference_task
from leaderboard.query_checklists.reward import Scores, scoring_task

EXAMPLES: Final = 6
"""Choices, the latest, that checklists are learnt from."""
SHOWN: Final = 3
"""Examples that a writer is shown."""
CONTRASTS: Final = 2
"""Answers for other people that a choice is held against."""
MAX_OTHERS: Final = 8
"""People whose general preference is asked for, for contrast."""
HALF_LIFE: Final = 20
"""Choices after which one counts half as much when examples are looked for."""
NOT_APART = "By your criteria the answer that was left is as good as the one that was taken."

OnProgress = Callable[[str, int, int], None]
"""Called with what is asked for, how many of it are there, and how many there will be."""
GENERAL, EXAMPLE, ANSWER, SCORE, CHECKLIST = (
    "General preferences",
    "Checklists of past choices",
    "Answers for contrast",
    "Scores",
    "Checklists",
)


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class ChecklistWriter:
    """Writes checklists for one person.

    Attributes:
        llm: That writes.
        general: The person's general preference.
        examples: Checklists of their past choices.
    """

    llm: AskedLLM
    general: str
    examples: tuple[ChecklistExample, ...] = ()

    def write(
        self, queries: Sequence[str], on_progress: OnProgress = _silent
    ) -> Answers[str, QueryChecklist]:
        """Return the checklist of each query; raises as ``AskedLLM.answers``."""
        distinct = list(dict.fromkeys(queries))
        tasks = dict(zip(distinct, map(self._task, distinct), strict=True))
        return self.llm.answers(tasks, partial(on_progress, CHECKLIST))

    def _task(self, query: str) -> Task[QueryChecklist]:
        return checklist_task(self.general, query, nearest_examples(self.examples, query))


def nearest_examples(
    examples: Sequence[ChecklistExample], query: str, most: int = SHOWN
) -> tuple[ChecklistExample, ...]:
    """Return the examples to show for a query, the best last: alike in what is asked, and of late.

    They are ordered by cosine similarity times 2^(−age / ``HALF_LIFE``).
    """
    if not examples:
        return ()
    own, *theirs = sentence_encoder().embed([query, *(each.checklist.query for each in examples)])
    likeness = np.clip(np.array(theirs) @ own, 0, 1)
    recency = 0.5 ** (np.array([each.age for each in examples]) / HALF_LIFE)
    best = np.argsort(-likeness * recency, kind="stable")[:most]
    return tuple(examples[place] for place in best[::-1])


@dataclass(frozen=True)
class Annotator:
    """Learns from past choices what a writer is shown.

    Attributes:
        llm: That is asked for everything but the checklists of new queries.
        examples: Choices, the latest, that checklists are learnt from.
    """

    llm: AskedLLM
    examples: int = EXAMPLES
    on_progress: OnProgress = _silent

    def general_preferences(
        self, choices: Sequence[DecidedChoice], others: Mapping[str, Sequence[DecidedChoice]]
    ) -> tuple[str, list[str]]:
        """Return the person's general preference and those of others, as far as there are some.

        Raises:
            LeaderboardError: The person decided nothing, or their general preference cannot be had.
            UnavailableError, CRMError: As ``AskedLLM.answers``.
        """
        if not choices:
            raise LeaderboardError(
                "None of these choices prefers one answer: there is nothing to learn a preference from."
            )
        with_some = sorted(
            ((name, some) for name, some in others.items() if some), key=lambda of: -len(of[1])
        )
        people: dict[str | None, Sequence[DecidedChoice]] = {None: choices}
        people |= dict(with_some[:MAX_OTHERS]) if self.examples else {}
        tasks = {name: general_preference_task(some) for name, some in people.items()}
        answers = self._ask(GENERAL, tasks)
        if None not in answers.found:
            raise LeaderboardError(f"No general preference came from the choices. {answers.failed[None]}")
        return answers.found.pop(None), list(answers.found.values())

    def annotated(
        self, choices: Sequence[DecidedChoice], general: str, others: Sequence[str]
    ) -> tuple[ChecklistExample, ...]:
        """Return checklists of the latest choices, weighed by saliency.

        One under which the answer that was left is as good as the one that was taken is written once more,
        with that reason, and then dropped (P-CHECK's rejection sampling).
        """
        latest = sorted(choices, key=lambda choice: choice.age)[: self.examples]
        contrasts = self._contrasts(latest, general, others)
        found: dict[DecidedChoice, ChecklistExample] = {}
        for problem in ("", NOT_APART):
            left = [choice for choice in latest if choice not in found]
            tasks = {choice: contrast_task(general, choice, problem) for choice in left}
            written = self._ask(EXAMPLE, tasks).found
            found |= self._weighed(written, contrasts, general)
        return tuple(found[choice] for choice in latest if choice in found)

    def _contrasts(
        self, choices: Sequence[DecidedChoice], general: str, others: Sequence[str]
    ) -> dict[DecidedChoice, list[str]]:
        """Return answers that a choice is held against, the one that was left first."""
        tasks: dict[tuple[DecidedChoice, int], Task[str]] = {}
        for choice in choices:
            distant = most_distant(general, others, choice.query, CONTRASTS)
            for place, of in enumerate([others[index] for index in distant] or [""]):
                tasks[choice, place] = answer_task(choice.query, of)
        answers = self._ask(ANSWER, tasks).found
        against = {choice: [choice.rejected] for choice in choices}
        for (choice, _), answer in answers.items():
            against[choice].append(answer)
        return against

    def _weighed(
        self,
        written: Mapping[DecidedChoice, QueryChecklist],
        contrasts: Mapping[DecidedChoice, Sequence[str]],
        general: str,
    ) -> dict[DecidedChoice, ChecklistExample]:
        """Return the checklists that tell a choice apart, their lines weighed."""
        tasks: dict[tuple[DecidedChoice, int], Task[Scores]] = {
            (choice, place): scoring_task(general, checklist, answer)
            for choice, checklist in written.items()
            for place, answer in enumerate((choice.chosen, *contrasts[choice]))
        }
        scores = self._ask(SCORE, tasks).found
        found = {}
        for choice, checklist in written.items():
            taken, left, *others = (
                scores.get((choice, place)) for place in range(len(contrasts[choice]) + 1)
            )
            if taken is None or left is None:
                continue
            negatives = [left, *(each for each in others if each is not None)]
            best = weighed(checklist, np.array(taken, np.float64), np.array(negatives, np.float64))
            if best is not None:
                found[choice] = ChecklistExample(best, choice.age)
        return found

    def _ask(self, what: str, tasks: Mapping[Key, Task[Usable]]) -> Answers[Key, Usable]:
        return self.llm.answers(tasks, partial(self.on_progress, what))
