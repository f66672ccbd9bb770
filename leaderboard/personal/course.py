"""What a person chose and answered so far, with undo: what a page holds from click to click."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.interview import Said, next_question
from leaderboard.personal.pairs import Shown, next_pair
from leaderboard.personal.person import Observation, Observed, Person
from leaderboard.personal.questions import Question, interview_questions
from leaderboard.personal.replies import Reply

Step = Choice | Reply


@dataclass(frozen=True, eq=False)
class Course:
    """Immutable: each choice or reply makes the next state; both tell of the same person.

    Attributes:
        shown: What may be shown.
        person: What is known of the person.
        steps: What was chosen and replied, in order.
        again: The pair that an undone choice was about, shown again; None for the most instructive one.
    """

    shown: Shown
    person: Person
    steps: tuple[Step, ...] = ()
    again: Pair | None = None

    @classmethod
    def start(cls, shown: Shown, *, seed: int = 0) -> Course:
        """Before the first choice."""
        return cls(shown, Person.unknown(shown.material.n_criteria, seed=seed))

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices between responses."""
        return tuple(step for step in self.steps if isinstance(step, Choice))

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies to questions."""
        return tuple(step for step in self.steps if isinstance(step, Reply))

    @cached_property
    def pair(self) -> Pair:
        """What is to be chosen from next."""
        seen = frozenset(choice.pair.query for choice in self.choices)
        return self.again or next_pair(self.person, self.shown, seen)

    @cached_property
    def question(self) -> Question | None:
        """What is to be asked next; None where the interview is over."""
        return next_question(self.person, self.shown, interview_questions())

    def chosen(self, answer: Answer) -> Course:
        """After one more choice."""
        return self._after(Choice(self.pair, answer))

    def replied(self, option: int, text: str = "") -> Course:
        """After one more reply.

        Args:
            option: Index of the option.
            text: The option as the person read it; by default in its fixed wording.

        Raises:
            ValueError: The interview is over.
        """
        if self.question is None:
            raise ValueError("There is no question to reply to.")
        return self._after(Reply(self.question, option, text or self.question.options[option]))

    def without_last(self, kind: type[Choice] | type[Reply]) -> Course:
        """Before the last choice, whose pair is shown again, or the last reply.

        The posterior is computed anew from all other steps; as it is where there is nothing to undo.
        """
        places = [place for place, step in enumerate(self.steps) if isinstance(step, kind)]
        if not places:
            return self
        undone = self.steps[places[-1]]
        course = Course.start(self.shown, seed=self.person.seed)
        for step in (*self.steps[: places[-1]], *self.steps[places[-1] + 1 :]):
            course = course._after(step)
        return replace(course, again=undone.pair) if isinstance(undone, Choice) else course

    def on(self, shown: Shown) -> Course:
        """With the same steps on other topics of the same benchmark."""
        return replace(self, shown=shown, again=None)

    def _after(self, step: Step) -> Course:
        person = self.person.after(self._observation(step))
        return Course(self.shown, person, (*self.steps, step))

    def _observation(self, step: Step) -> Observation:
        if isinstance(step, Choice):
            return Observed.of(step, self.shown.material)
        return Said(step.question, step.option, self.shown.material.gram)
