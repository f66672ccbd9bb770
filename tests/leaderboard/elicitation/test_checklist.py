"""The checklist: grades, evidence, and on DailyBench the style of a favourite assistant."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crm.criteria import Polarity, Weight
from leaderboard.elicitation.acquisition import CandidatePairs
from leaderboard.elicitation.checklist import MAX_LINES, ChecklistLine, checklist, criteria_of, grade_shares
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair, chosen_and_rejected
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.posterior import ObservedChoices, PreferencePosterior
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs
from leaderboard.service import Service
from tests.leaderboard.elicitation.samples import (
    CRITERIA,
    LIBRARY,
    QUERIES,
    RESPONDERS,
    choice_by,
    named_but,
    small_margins,
)

MARGINS = small_margins()
SHARES = st.lists(st.floats(0.01, 1), min_size=1, max_size=8).map(
    lambda values: np.sort(np.array(values) / sum(values))[::-1]
)
SOME_PAIRS = [
    ResponsePair(query, query % RESPONDERS, (query + 1 + query % 4) % RESPONDERS) for query in range(QUERIES)
]


def learnt(choices: list[Choice]) -> PreferencePosterior:
    """The person after the choices."""
    posterior = PreferencePosterior.prior(CRITERIA, n_draws=1500)
    for choice in choices:
        posterior = posterior.after(ObservedChoices.of([choice], MARGINS))
    return posterior


class TestGrades:
    @given(SHARES)
    def test_fall_and_begin_with_essential(self, share: np.ndarray) -> None:
        values = [grade.value_in_sum for grade in grade_shares(share)]

        assert values == sorted(values, reverse=True)
        assert grade_shares(share)[0] is Weight.ESSENTIAL

    def test_follow_the_cumulative_weight(self) -> None:
        assert grade_shares(np.array([0.5, 0.3, 0.15, 0.05])) == (
            Weight.ESSENTIAL,
            Weight.IMPORTANT,
            Weight.IMPORTANT,
            Weight.OPTIONAL,
        )


class TestChecklist:
    def test_is_empty_before_the_first_choice(self) -> None:
        assert (
            checklist(PreferencePosterior.prior(CRITERIA), MARGINS, LIBRARY, chosen_and_rejected((), MARGINS))
            == ()
        )

    @pytest.mark.parametrize("criterion", range(CRITERIA))
    def test_names_the_criterion_that_choices_go_by_first(self, criterion: int) -> None:
        choices = [choice_by(MARGINS, pair, criterion) for pair in SOME_PAIRS[:15]]

        first = checklist(learnt(choices), MARGINS, LIBRARY, chosen_and_rejected(choices, MARGINS))[0]

        assert first.label == LIBRARY[criterion].label
        assert first.criterion.weight is Weight.ESSENTIAL
        assert first.criterion.polarity is Polarity.WANT
        assert first.evidence.with_it == first.evidence.clear > 0

    def test_names_what_is_avoided(self) -> None:
        choices = [choice_by(MARGINS, ResponsePair(p.query, p.second, p.first), 4) for p in SOME_PAIRS[:15]]
        against = [
            Choice(
                item.pair,
                ChoiceOutcome.SECOND if item.outcome is ChoiceOutcome.FIRST else ChoiceOutcome.FIRST,
            )
            for item in choices
        ]

        first = checklist(learnt(against), MARGINS, LIBRARY, chosen_and_rejected(against, MARGINS))[0]

        assert (first.label, first.criterion.polarity) == (LIBRARY[4].label, Polarity.AVOID)

    @settings(max_examples=25)
    @given(st.lists(st.sampled_from(ChoiceOutcome), min_size=1, max_size=12))
    def test_names_no_criterion_twice_whatever_is_answered(self, answers: list[ChoiceOutcome]) -> None:
        choices = [Choice(pair, answer) for pair, answer in zip(SOME_PAIRS, answers, strict=False)]
        lines = checklist(learnt(choices), MARGINS, LIBRARY, chosen_and_rejected(choices, MARGINS))

        assert 1 <= len(lines) <= MAX_LINES
        assert len({line.label for line in lines}) == len(lines)
        assert len(criteria_of(lines)) == len(lines)
        shares = [line.share for line in lines]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)
        values = [line.criterion.weight.value_in_sum for line in lines]
        assert values == sorted(values, reverse=True)
        assert len(lines) == 1 or not any(line.evidence.contrary for line in lines)
        for line in lines:
            assert 0 <= line.evidence.with_it <= line.evidence.clear <= len(choices)
            assert 0 <= line.followed <= 1

    def test_both_and_neither_are_no_evidence(self) -> None:
        choices = [Choice(pair, ChoiceOutcome.BOTH) for pair in SOME_PAIRS[:6]]

        assert all(
            line.evidence.clear == 0
            for line in checklist(learnt(choices), MARGINS, LIBRARY, chosen_and_rejected(choices, MARGINS))
        )


STYLES = {
    "brevia": {"Concise", "Short sentences", "Short answers"},
    "scholia": {"In depth", "History and culture", "Formal"},
    "stepwise": {"Numbered steps", "Headings", "Practical advice"},
    "lumen": {"Warm", "Feelings first"},
    "fabula": {"Vivid imagery", "Metaphors", "Story"},
    "verity": {"Both sides", "Admits uncertainty", "Warnings", "Asks back", "Clarifies"},
    "jester": {"Humour"},
}
"""Labels for what each was told to be: “careful, weighs both sides, caveats, a question back”, …"""
FIRST_LINES = 3
CHOICES = 12
DRAWS, NAMED = 5, 4
"""Of so many draws of others' responses the style is among the first lines in so many."""


def candidates_with(favourite: int, candidates: CandidatePairs, seed: int) -> CandidatePairs:
    """Of every query the favourite's response and a random other."""
    random = np.random.default_rng(seed)
    allowed = np.zeros_like(candidates.allowed)
    for query in np.flatnonzero(candidates.allowed[favourite] & (candidates.allowed.sum(axis=0) > 1)):
        others = np.setdiff1d(np.flatnonzero(candidates.allowed[:, query]), [favourite])
        allowed[[favourite, random.choice(others)], query] = True
    return dataclasses.replace(candidates, allowed=allowed)


def learnt_from_favourite(service: Service, llm: str, seed: int) -> tuple[ChecklistLine, ...]:
    """The checklist of one who always takes the favourite's response."""
    favourite = service.benchmark("dailybench").llms.index(llm)
    candidates = candidate_pairs(service, "dailybench", ())
    session = ElicitationSession.start(candidates_with(favourite, candidates, seed))
    for _ in range(CHOICES):
        session = session.chosen(
            ChoiceOutcome.FIRST if session.pair.first == favourite else ChoiceOutcome.SECOND
        )
    margins = session.candidates.margins
    sides = chosen_and_rejected(session.choices, margins)
    return checklist(session.posterior, margins, criterion_library(), sides)


@pytest.mark.parametrize("llm", named_but("stepwise", among=STYLES))
def test_the_first_lines_name_the_favourites_style(service: Service, llm: str) -> None:
    wanted = [
        {
            line.label
            for line in learnt_from_favourite(service, llm, seed)[:FIRST_LINES]
            if line.criterion.polarity is Polarity.WANT
        }
        for seed in range(DRAWS)
    ]

    assert sum(bool(labels & STYLES[llm]) for labels in wanted) >= NAMED, wanted
