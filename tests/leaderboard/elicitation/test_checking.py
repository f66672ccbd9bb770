"""Pairs drawn at random, and a ranking corrected by what was chosen of them."""

from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from leaderboard.elicitation.checking import (
    FEWEST_CHECKS,
    Check,
    CorrectedRanking,
    DuelTarget,
    corrected_ranking,
    draw_check,
    is_check,
    pair_probability,
    votes_on,
)
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome
from leaderboard.elicitation.choices_file import choices_csv, corrected_csv, read_choices
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs
from leaderboard.elicitation.text import corrected_ranking_sentences, votes_agreement_sentence
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from leaderboard.statistics.duels import Margins
from leaderboard.view import Against, View
from tests.leaderboard.elicitation.samples import QUERIES, RESPONDERS, small_candidates

WARM = View("dailybench", criteria=CriteriaSet.of(["Warm and encouraging"]))


def patchy() -> np.ndarray:
    """Responses of which some queries have few."""
    among = np.random.default_rng(3).random((RESPONDERS, QUERIES)) < 0.6
    among[1:, 0] = False
    return among


def test_a_dozen_choices_have_three_votes_and_later_every_second_is_one() -> None:
    counts = np.cumsum([is_check(n_before) for n_before in range(50)])

    assert [counts[n - 1] for n in (3, 12, 25, 50)] == [0, 3, 9, 22]


def test_pairs_are_drawn_with_the_probability_that_is_stored() -> None:
    candidates = replace(small_candidates(), allowed=patchy(), too_long=None)
    random, n = np.random.default_rng(0), 4000
    drawn = [draw_check(candidates, random) for _ in range(n)]
    share = np.bincount([pair.query for pair, _ in drawn], minlength=QUERIES) / n
    single, k = pair_probability(patchy()), patchy().sum(axis=0)

    assert (single * k * (k - 1) / 2).sum() == pytest.approx(1)
    np.testing.assert_allclose(share, single * k * (k - 1) / 2, atol=0.02)
    assert all(draw.probability == single[pair.query] for pair, draw in drawn)
    assert all(patchy()[[pair.first, pair.second], pair.query].all() for pair, _ in drawn)
    assert share[0] == 0


def test_long_answers_are_drawn_as_well_and_those_held_back_are_not() -> None:
    small = small_candidates()
    allowed, too_long = small.allowed.copy(), np.zeros_like(small.allowed)
    allowed[:2], too_long[0] = False, True
    candidates = replace(small, allowed=allowed, too_long=too_long)
    random = np.random.default_rng(0)
    rows = {row for _ in range(300) for row in _rows(draw_check(candidates, random)[0])}

    assert rows == {0, 2, 3, 4, 5}


def _rows(pair: object) -> tuple[int, int]:
    return pair.first, pair.second  # type: ignore[attr-defined]


def test_ratios_are_one_on_average_over_draws_of_an_llms_duels() -> None:
    weights = np.random.default_rng(1).random(QUERIES) * (np.arange(QUERIES) < 20)
    target = DuelTarget(patchy() & (weights > 0), weights)
    small = replace(small_candidates(), allowed=patchy(), too_long=None)
    _, draw = draw_check(small, np.random.default_rng(0))
    ratio = target.ratios(draw)
    drawn = target.among * pair_probability(patchy()) * target.n_opponents
    mean = (drawn * ratio).sum(axis=1) / drawn.sum(axis=1)

    np.testing.assert_allclose(mean, 1)
    assert ratio[:, 20:].max() == 0
    assert ratio.max() > 1.2


def test_shares_are_those_of_all_duels_counted_one_by_one() -> None:
    random = np.random.default_rng(2)
    standing = np.where(patchy(), random.normal(size=(RESPONDERS, QUERIES)), np.nan)
    weights = random.random(QUERIES)
    found = DuelTarget(patchy(), weights).shares(Margins(standing))

    for row in range(RESPONDERS):
        won, total = 0.0, 0.0
        for query in np.flatnonzero(patchy()[row] & (patchy().sum(axis=0) > 1)):
            others = [other for other in np.flatnonzero(patchy()[:, query]) if other != row]
            won += weights[query] * np.mean(
                [standing[row, query] > standing[other, query] for other in others]
            )
            total += weights[query]
        assert found[row] == pytest.approx(won / total)


def chosen(session: ElicitationSession, n: int) -> ElicitationSession:
    """Choose the warmer answer."""
    index = 0
    for _ in range(n):
        here = session.candidates.margins.relative[:, session.pair.query, index]
        ahead = here[session.pair.first] > here[session.pair.second]
        session = session.chosen(ChoiceOutcome.FIRST if ahead else ChoiceOutcome.SECOND)
    return session


@pytest.fixture(scope="module")
def session(service: Service) -> ElicitationSession:
    return chosen(ElicitationSession.start(candidate_pairs(service, "dailybench", ()), draw_seed=4), 20)


def test_choices_between_drawn_pairs_are_checks_of_what_was_known_before(session: ElicitationSession) -> None:
    drawn = [choice for choice in session.choices if choice.draw is not None]
    n_before = session.choices.index(drawn[1])
    before = ElicitationSession.start(session.candidates, draw_seed=4).with_choices(
        session.choices[:n_before]
    )

    assert [check.choice for check in session.checks] == drawn
    assert [is_check(place) for place in range(20)] == [choice.draw is not None for choice in session.choices]
    np.testing.assert_allclose(
        session.checks[1].coefficients[:-1],
        before.posterior.mean / np.linalg.norm(before.posterior.mean),
        rtol=1e-6,
    )
    assert before.pair == drawn[1].pair


def test_another_person_is_shown_other_pairs_at_random(session: ElicitationSession) -> None:
    other = chosen(ElicitationSession.start(session.candidates, draw_seed=5), 4)

    assert other.choices[:3] == session.choices[:3]
    assert other.choices[3].pair != session.choices[3].pair


def test_an_undone_vote_is_drawn_no_second_time(session: ElicitationSession) -> None:
    four = chosen(ElicitationSession.start(session.candidates, draw_seed=4), 4)
    undone = four.without_last(Choice)
    again = undone.chosen(ChoiceOutcome.BOTH)

    assert not undone.checks
    assert again.checks[0].choice.pair == four.checks[0].choice.pair
    assert again.checks[0].draw is four.checks[0].draw


@pytest.fixture(scope="module")
def ranking(service: Service, session: ElicitationSession) -> CorrectedRanking:
    found = corrected_ranking(service, WARM, session.checks, session.candidates)
    assert found is not None
    return found


def test_both_rankings_are_of_the_same_duels(service: Service, ranking: CorrectedRanking) -> None:
    scored = service.scored(replace(WARM, against=Against.ALL))

    assert ranking.llms == service.benchmark("dailybench").respondents
    assert ranking.judged.mean() == pytest.approx(0.5, abs=0.01)
    row = ranking.llms.index("lumen")
    judged = scored.judged
    assert isinstance(judged, Margins)
    assert ranking.judged[row] == pytest.approx(np.nanmean(judged.share_won(row, soft=False)), abs=0.01)
    assert ranking.n_votes == 7
    assert (ranking.corrected.low <= ranking.corrected.win_rate).all()


def test_few_votes_say_so(ranking: CorrectedRanking) -> None:
    sentences = " ".join(corrected_ranking_sentences(ranking))

    assert not ranking.corrected.apart
    assert "7 votes cannot tell any two LLMs apart" in sentences
    assert votes_agreement_sentence(9, 12) == "Your votes agree with the judge 9 of 12 times."
    assert votes_agreement_sentence(0.5, 1) == "Your votes agree with the judge 0.5 of 1 time."


def test_with_too_few_votes_nothing_is_corrected(service: Service, session: ElicitationSession) -> None:
    few = session.checks[: FEWEST_CHECKS - 1]

    assert corrected_ranking(service, WARM, few, session.candidates) is None


def test_votes_drawn_among_fewer_topics_do_not_count_for_all(
    service: Service, session: ElicitationSession
) -> None:
    some = candidate_pairs(service, "dailybench", ("Arts & Culture",))
    narrow = chosen(ElicitationSession.start(some), 16)
    everything, arts = (
        DuelTarget(each.of_any_length & each.ranked, each.ranked.astype(float))
        for each in (session.candidates, some)
    )

    assert not len(votes_on(everything, narrow.checks, some.margins).outcome)
    assert len(votes_on(arts, narrow.checks, some.margins).outcome) == len(narrow.checks) == 5
    in_arts = [check for check in session.checks if some.ranked[check.choice.pair.query]]
    found = votes_on(arts, session.checks, some.margins)
    assert len(found.outcome) == len(in_arts)
    np.testing.assert_allclose(found.ratio, 1, atol=0.05)


def test_what_is_foretold_does_not_depend_on_the_vote(session: ElicitationSession) -> None:
    target = DuelTarget(
        session.candidates.of_any_length, np.ones(session.candidates.margins.present.shape[1])
    )
    turned = [
        Check(replace(check.choice, outcome=ChoiceOutcome.BOTH), check.draw, check.coefficients)
        for check in session.checks
    ]
    here, there = (votes_on(target, each, session.candidates.margins) for each in (session.checks, turned))

    np.testing.assert_array_equal(here.forecast, there.forecast)
    np.testing.assert_array_equal(here.expected, there.expected)
    assert set(there.outcome) == {0.5}


def test_choices_read_back_from_their_file_correct_alike(
    service: Service, session: ElicitationSession, ranking: CorrectedRanking
) -> None:
    benchmark = service.benchmark("dailybench")
    text = choices_csv(session.choices, benchmark)
    read = read_choices(text, benchmark, [session.candidates.of_any_length])
    again = ElicitationSession.start(session.candidates).with_choices(read)
    found = corrected_ranking(service, WARM, again.checks, session.candidates)

    assert [choice.pair for choice in read] == [choice.pair for choice in session.choices]
    assert found is not None
    assert corrected_csv(found) == corrected_csv(ranking)
    elsewhere = read_choices(text, benchmark, [patchy_of(session)])
    assert not any(choice.draw for choice in elsewhere)


def patchy_of(session: ElicitationSession) -> np.ndarray:
    fewer = session.candidates.of_any_length.copy()
    fewer[:, :100] = False
    return fewer


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("outcome", "result"), "no column “outcome”"),
        (("brevia", "nobody"), "the LLM “nobody”, which is not one here"),
        ((",second,", ",left,"), "the outcome “left”: write one of first, second, both, neither"),
    ],
)
def test_a_file_of_other_choices_is_refused_in_a_sentence(
    service: Service, session: ElicitationSession, change: tuple[str, str], said: str
) -> None:
    benchmark = service.benchmark("dailybench")
    head, *rows = choices_csv(session.choices, benchmark).splitlines(keepends=True)
    body = "".join(rows)
    text = head.replace(*change) + body if change[0] == "outcome" else head + body.replace(*change)
    with pytest.raises(LeaderboardError, match=said):
        read_choices(text, benchmark, [])


def test_the_file_of_a_corrected_ranking_has_both(ranking: CorrectedRanking) -> None:
    head, first, *rest = corrected_csv(ranking, "=note").splitlines()

    assert head.startswith("rank,llm,win_rate,ci_low,ci_high,n_votes,judged_rank,judged_win_rate")
    assert first.startswith("1,")
    assert len(rest) == len(ranking.llms) - 1
    assert first.endswith("'=note")
