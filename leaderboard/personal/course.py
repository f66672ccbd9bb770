"""A person's choices so far, with undo: what a page holds from click to click."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.pairs import Shown, next_pair
from leaderboard.personal.person import Observed, Person


@dataclass(frozen=True, eq=False)
class Course:
    """Immutable: each answer makes the next state.

    Attributes:
        shown: What may be shown.
        person: What is known of the person.
        choices: What was answered, in order.
        pair: What is shown now.
    """

    shown: Shown
    person: Person
    choices: tuple[Choice, ...]
    pair: Pair

    @classmethod
    def start(cls, shown: Shown, *, seed: int = 0) -> Course:
        """Before the first choice."""
        person = Person.unknown(shown.material.n_criteria, seed=seed)
        return cls(shown, person, (), next_pair(person, shown))

    def answered(self, answer: Answer) -> Course:
        """After one more choice, with the next pair."""
        choice = Choice(self.pair, answer)
        person = self.person.after(Observed.of(choice, self.shown.material))
        return self._at(person, (*self.choices, choice))

    def undone(self) -> Course:
        """Before the last choice, whose pair is shown again; the posterior is computed anew."""
        if not self.choices:
            return self
        *kept, last = self.choices
        person = Person.unknown(self.shown.material.n_criteria, seed=self.person.seed)
        for choice in kept:
            person = person.after(Observed.of(choice, self.shown.material))
        return replace(self, person=person, choices=tuple(kept), pair=last.pair)

    def on(self, shown: Shown) -> Course:
        """With the same choices on other topics of the same benchmark."""
        return replace(self, shown=shown)._at(self.person, self.choices)

    def _at(self, person: Person, choices: tuple[Choice, ...]) -> Course:
        seen = frozenset(choice.pair.query for choice in choices)
        return Course(self.shown, person, choices, next_pair(person, self.shown, seen))
