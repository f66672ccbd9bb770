"""What is asked where choices do not tell wishes apart, and what an answer does to the checklist."""

from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import Polarity
from leaderboard.elicitation.acquisition import CandidatePairs, gains, next_pair
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair, chosen_and_rejected
from leaderboard.elicitation.clarifying import (
    CERTAIN,
    FEWEST_CHOICES,
    MAX_CLARIFYING,
    MOST_OFFERED,
    ClarifyingQuestion,
    ClarifyingReply,
    SignedCriterion,
    clarifying_question,
    followed_of,
)
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.elicitation.posterior import PreferencePosterior, prior_draws
from leaderboard.elicitation.session import PAIRS_APART, ElicitationSession, session_checklist
from tests.leaderboard.elicitation.samples import CRITERIA, LIBRARY, QUERIES, choice_by, small_margins

SHORT, WARM, FUNNY = (SignedCriterion(index, Polarity.WANT) for index in range(3))
N_CHOICES = 12


def twins(seed: int = 0) -> CandidatePairs:
    """Responses of which the warm are nearly always the short ones."""
    margins = small_margins(seed)
    values = margins.values.copy()
    values[..., 1] = values[..., 0] + 0.1 * values[..., 1]
    values = CriterionMargins(values, margins.present)
    return CandidatePairs.of(values, np.ones(QUERIES, dtype=bool))


def session_of(criterion: int, candidates: CandidatePairs) -> ElicitationSession:
    """One who chose by one criterion alone, on pairs as they come."""
    random = np.random.default_rng(1)
    pairs = [ResponsePair(query, *random.permutation(6)[:2].tolist()) for query in range(N_CHOICES)]
    choices = [choice_by(candidates.margins, pair, criterion) for pair in pairs]
    return ElicitationSession.start(candidates).with_choices(choices)


@pytest.fixture(scope="module")
def unclear() -> ElicitationSession:
    """Choices by the second of two criteria that go together."""
    return session_of(1, twins())


class TestQuestion:
    def test_offers_what_the_choices_do_not_tell_apart(self, unclear: ElicitationSession) -> None:
        question = unclear.to_clarify

        assert question is not None
        assert {SHORT, WARM} <= set(question.offered[:2])
        assert len(question.offered) <= MOST_OFFERED

    def test_is_not_asked_after_few_choices_nor_where_one_wish_is_certain(self) -> None:
        candidates = twins()
        plain, few = session_of(4, candidates), ElicitationSession.start(candidates)

        assert few.to_clarify is None
        few = few.with_choices(session_of(1, candidates).choices[: FEWEST_CHOICES - 1])
        assert few.posterior.followed.max() < CERTAIN
        assert few.to_clarify is None
        assert plain.posterior.followed[4] >= CERTAIN
        assert plain.to_clarify is None

    def test_offers_nothing_that_most_choices_speak_against(self, unclear: ElicitationSession) -> None:
        margins = unclear.candidates.margins
        chosen, rejected = chosen_and_rejected(unclear.choices, margins)

        turned = clarifying_question(unclear.posterior, (rejected, chosen), margins.spread)

        assert turned is None or not {SHORT, WARM} & set(turned.offered)

    def test_a_second_offers_what_the_first_did_not_and_a_third_is_never_asked(self) -> None:
        session = session_of(1, twins())
        seen = set[SignedCriterion]()
        for asked in range(MAX_CLARIFYING + 1):
            question = session.to_clarify
            if question is None:
                break
            assert asked < MAX_CLARIFYING
            assert not seen & set(question.offered)
            seen |= set(question.offered)
            session = session.clarify(())

        assert seen

    def test_nothing_is_asked_once_something_was_named(self, unclear: ElicitationSession) -> None:
        assert unclear.clarify([WARM]).to_clarify is None
        with pytest.raises(ValueError, match="nothing to clarify"):
            unclear.clarify([WARM]).clarify([SHORT])


class TestReply:
    @pytest.mark.parametrize("named", [SHORT, WARM])
    def test_what_was_named_is_followed_and_the_first_line(
        self, unclear: ElicitationSession, named: SignedCriterion
    ) -> None:
        other = WARM if named == SHORT else SHORT
        session = unclear.clarify([named])
        lines = session_checklist(session, LIBRARY)

        assert session.posterior.followed[named.index] > 0.9
        assert session.posterior.followed[other.index] < unclear.posterior.followed[other.index]
        assert (lines[0].index, lines[0].criterion.polarity) == (named.index, Polarity.WANT)
        assert lines[0].evidence.replies[0].text == LIBRARY[named.index].label
        assert other.index not in [line.index for line in lines]

    def test_evidence_has_what_was_picked_in_the_words_that_stood_there(self) -> None:
        candidates = twins()
        chosen = session_of(1, candidates).choices
        other = {ChoiceOutcome.FIRST: ChoiceOutcome.SECOND, ChoiceOutcome.SECOND: ChoiceOutcome.FIRST}
        turned = [replace(choice, outcome=other[choice.outcome]) for choice in chosen]
        session = ElicitationSession.start(candidates).with_choices(turned)
        avoided = SignedCriterion(1, Polarity.AVOID)
        question = session.to_clarify
        assert question is not None
        assert avoided in question.offered

        [line] = [line for line in session_checklist(session.clarify([avoided]), LIBRARY) if line.index == 1]
        assert line.criterion.polarity is Polarity.AVOID
        assert line.evidence.replies[0].text == avoided.label(LIBRARY) == "Not: warm"

    def test_several_may_be_named(self, unclear: ElicitationSession) -> None:
        lines = session_checklist(unclear.clarify([SHORT, WARM]), LIBRARY)

        assert {line.index for line in lines} >= {SHORT.index, WARM.index}

    def test_naming_none_makes_what_was_offered_less_likely(self, unclear: ElicitationSession) -> None:
        question = unclear.to_clarify
        assert question is not None
        followed = unclear.clarify(()).posterior.followed

        for each in question.offered:
            assert followed[each.index] < max(unclear.posterior.followed[each.index], 0.2)

    def test_can_be_undone(self, unclear: ElicitationSession) -> None:
        undone = unclear.clarify([WARM]).without_last(ClarifyingReply)

        assert undone.to_clarify == unclear.to_clarify
        assert not undone.clarified
        np.testing.assert_array_equal(undone.posterior.mean, unclear.posterior.mean)

    def test_is_likelier_the_more_of_what_was_named_a_person_follows(self) -> None:
        draws = prior_draws(CRITERIA, 2000, np.random.default_rng(3))
        reply = ClarifyingReply(ClarifyingQuestion((SHORT, WARM, FUNNY)), frozenset({SHORT}))
        follows = draws.weights[:, :3] > 0
        exactly = (follows == [True, False, False]).all(axis=1)
        likelihood = reply.log_likelihood(draws)

        assert likelihood[exactly].min() > likelihood[~exactly].max()
        assert likelihood.max() < 0


class TestTellingApart:
    def test_the_next_pairs_differ_in_what_was_offered(self, unclear: ElicitationSession) -> None:
        question = unclear.to_clarify
        assert question is not None
        apart = unclear.telling_apart()

        def learnt(pair: ResponsePair) -> float:
            draws = unclear.posterior.sample(1000)
            row = np.array([[pair.query, pair.first, pair.second]])
            return float(
                gains(draws, unclear.candidates, row, lambda each: followed_of(each, question.offered))[0]
            )

        usual = next_pair(unclear.posterior, unclear.candidates, frozenset(range(N_CHOICES)))
        assert learnt(apart.pair) > learnt(usual)

    def test_after_some_pairs_it_is_the_llms_turn_again(self, unclear: ElicitationSession) -> None:
        session = unclear.telling_apart()
        assert session.apart_until == N_CHOICES + PAIRS_APART
        for _ in range(PAIRS_APART):
            session = session.chosen(ChoiceOutcome.BOTH)

        again = replace(session, apart=(), apart_until=0)
        assert session.pair == again.pair

    def test_without_a_question_everything_stays(self) -> None:
        session = ElicitationSession.start(twins())
        assert session.telling_apart() is session

    def test_nobody_is_told_apart_by_what_all_or_none_follow(self) -> None:
        posterior = PreferencePosterior.prior(CRITERIA, n_draws=50)
        none = replace(posterior.draws, weights=np.zeros_like(posterior.draws.weights))
        assert not followed_of(none, (SHORT, WARM)).any()


def test_a_choice_is_no_clarifying_reply(unclear: ElicitationSession) -> None:
    assert all(isinstance(step, Choice) for step in unclear.steps)
    assert not unclear.clarified
