"""A view whose categories have lists of their own: each query is judged by its list."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity
from leaderboard.alignment import alignment, won_alone
from leaderboard.errors import LeaderboardError
from leaderboard.ranked import rank_view
from leaderboard.robustness import assess_robustness
from leaderboard.scoring_jobs.progress import Progress, State, together
from leaderboard.service import Service
from leaderboard.statistics.duels import Margins
from leaderboard.statistics.win_rate import Mask
from leaderboard.user_data.profiles import Profile
from leaderboard.view import Against, View
from tests.judges import GatedCRM, register, wait_until

GAMING, GAMES = "Gaming & Virtual Worlds", "Business & Careers"
SHORT, WARM = Criterion("Short answers"), Criterion("Warm and encouraging")
LONG = Criterion("Long, detailed answers")
VIEW = View("dailybench", criteria=CriteriaSet((SHORT, replace(WARM, only_for=(GAMING,)))))
ALL = replace(VIEW, against=Against.ALL)


def only(criterion: Criterion, view: View = VIEW) -> View:
    return replace(view, criteria=CriteriaSet((criterion,)))


def of_category(service: Service, name: str) -> Mask:
    return np.array([query.category == name for query in service.benchmark("dailybench").record.queries])


def standing(service: Service, view: View) -> np.ndarray:
    return service.scored(view).standing


@pytest.mark.parametrize("view", [VIEW, ALL], ids=["against the baseline", "against all"])
def test_each_query_is_judged_by_its_categorys_list(service: Service, view: View) -> None:
    gaming = of_category(service, GAMING)
    found = standing(service, view)

    np.testing.assert_array_equal(found[:, gaming], standing(service, only(WARM, view))[:, gaming])
    np.testing.assert_array_equal(found[:, ~gaming], standing(service, only(SHORT, view))[:, ~gaming])


def test_a_ranking_of_one_category_is_that_of_its_list(service: Service) -> None:
    for topic, criterion in ((GAMING, WARM), (GAMES, SHORT)):
        one = replace(VIEW, topics=(topic,))
        by_list, alone = service.leaderboard(one), service.leaderboard(only(criterion, one))
        assert by_list.ranking.ranks == alone.ranking.ranks
        np.testing.assert_allclose(by_list.ranking.win_rate, alone.ranking.win_rate)
        np.testing.assert_allclose(by_list.ranking.ci_low, alone.ranking.ci_low)


def test_without_a_common_list_the_others_are_judged_by_no_criteria(service: Service) -> None:
    view = only(replace(WARM, only_for=(GAMING,)), ALL)
    gaming = of_category(service, GAMING)
    found = standing(service, view)

    np.testing.assert_array_equal(found[:, ~gaming], standing(service, view.crowd)[:, ~gaming])
    assert not np.array_equal(found[:, gaming], standing(service, view.crowd)[:, gaming])


def test_a_topics_list_goes_before_its_categorys(service: Service) -> None:
    record = service.benchmark("dailybench").record
    topic = next(query.topic for query in record.queries if query.category == GAMING)
    view = replace(VIEW, criteria=CriteriaSet((*VIEW.criteria, replace(LONG, only_for=(topic,)))))
    inside = np.array([query.topic == topic for query in record.queries])

    found = standing(service, view)
    np.testing.assert_array_equal(found[:, inside], standing(service, only(LONG))[:, inside])


def test_a_list_for_what_is_no_topic_is_refused_with_what_may_be_meant(service: Service) -> None:
    view = only(replace(WARM, only_for=("Gaming & Virtual World",)))
    with pytest.raises(LeaderboardError, match=f"did you mean '{GAMING}'"):
        service.leaderboard(view)


def test_lists_of_different_categories_do_not_contradict_each_other(service: Service) -> None:
    together_at_odds = replace(VIEW, criteria=CriteriaSet((SHORT, LONG)))
    apart = replace(VIEW, criteria=CriteriaSet((SHORT, replace(LONG, only_for=(GAMING,)))))

    assert any(item.criterion is None for item in service.leaderboard(together_at_odds).warnings)
    assert not any(item.criterion is None for item in service.leaderboard(apart).warnings)


def test_what_cannot_be_judged_is_named_with_what_it_is_for(service: Service) -> None:
    odd = Criterion("Written at midnight in Lisbon", only_for=(GAMING,))
    shown = service.leaderboard(replace(VIEW, criteria=CriteriaSet((SHORT, odd))))

    assert [item.criterion for item in shown.left_out] == [odd]
    assert list(shown.criteria) == [SHORT]


def test_a_must_of_a_category_is_missed_by_its_answers_alone(service: Service) -> None:
    must = replace(VIEW, must_have=True)
    gaming = replace(only(WARM), must_have=True, topics=(GAMING,))
    missed = service.leaderboard(must).misses
    own = replace(WARM, only_for=(GAMING,))

    assert service.leaderboard(must).musts == (SHORT, own)
    assert {llm for llm, musts in missed.items() if own in musts} == set(service.leaderboard(gaming).misses)


def test_what_is_for_topics_that_are_not_chosen_changes_nothing(service: Service) -> None:
    chosen = replace(VIEW, topics=(GAMES,), must_have=True)
    ranked, alone = rank_view(service, chosen), rank_view(service, only(SHORT, chosen))

    assert ranked.leaderboard.musts == (SHORT,)
    assert ranked.leaderboard.ranking.ranks == alone.leaderboard.ranking.ranks
    found = assess_robustness(service, chosen)
    assert found is not None
    own = str(replace(WARM, only_for=(GAMING,)))
    assert not any(one.changes for one in found.without_one if one.left_out == own)


def test_what_is_counted_where_lists_wish_for_opposites_is_wished_by_none(service: Service) -> None:
    apart = replace(VIEW, criteria=CriteriaSet((SHORT, replace(LONG, only_for=(GAMING,)))))
    words = {amount.unit: amount for amount in service.leaderboard(apart).amounts}["words an answer"]
    alone = {amount.unit: amount for amount in service.leaderboard(only(SHORT)).amounts}["words an answer"]

    assert (words.wished, alone.wished) == (0, -1)
    assert words.by_llm == alone.by_llm


def test_grades_are_of_the_queries_of_each_list_and_together_by_their_shares(service: Service) -> None:
    found = alignment(service, VIEW)
    gaming = alignment(service, replace(only(WARM), topics=(GAMING,)))
    assert found is not None
    assert gaming is not None
    np.testing.assert_allclose(found.grades[:, 1], gaming.grades[:, 0])
    share = of_category(service, GAMING).mean()
    np.testing.assert_allclose(found.pref_align, found.grades @ [1 - share, share], rtol=1e-6)
    own = replace(WARM, only_for=(GAMING,))
    won = won_alone(service, VIEW, [own])[own]
    alone = service.leaderboard(replace(only(WARM), topics=(GAMING,))).ranking
    assert won == pytest.approx(dict(zip(alone.llms, alone.win_rate, strict=True)))


def test_an_answer_is_explained_by_its_list(service: Service) -> None:
    record = service.benchmark("dailybench").record
    query = next(query.external_id for query in record.queries if query.category == GAMING)
    report = service.pair_report(VIEW, "brevia", query)

    assert [verdict.criterion for verdict in report.verdicts] == [WARM]


def test_a_profile_keeps_the_lists(service: Service) -> None:
    profile = Profile.read(Profile.of(VIEW).to_text().encode(), "mine.json")

    assert profile.view == VIEW


@pytest.fixture
def judge(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatedCRM]:
    gated = GatedCRM()
    register(monkeypatch, gated)
    yield gated
    gated.let(10_000)
    own_service.close()


def test_a_slow_judge_fills_one_list_after_the_other(own_service: Service, judge: GatedCRM) -> None:
    view = replace(VIEW, crm="slow", topics=(GAMING, GAMES))
    begun = own_service.leaderboard(view)
    n_pairs = 7 * int((of_category(own_service, GAMING) | of_category(own_service, GAMES)).sum())
    assert begun.judging is not None
    assert (begun.judging.own.state.value, begun.judging.own.pairs_all) == ("running", n_pairs)
    judge.let(10_000)
    wait_until(lambda: own_service.leaderboard(view).judging.own.state is State.FINISHED)  # type: ignore[union-attr]

    apart = replace(view, crm="longer")
    own_service.judge(apart)
    shown, quick = own_service.leaderboard(view), own_service.leaderboard(apart)
    np.testing.assert_allclose(shown.ranking.win_rate, quick.ranking.win_rate)
    assert shown.n_judged == shown.n_queries


def test_progress_of_several_jobs_is_that_of_the_one_at_work() -> None:
    done = Progress(State.FINISHED, 10, 10)
    running = Progress(State.RUNNING, 2, 10, seconds_left=4.0)
    waiting = Progress(State.STOPPED, 0, 10)

    assert together([done, running]) == Progress(State.RUNNING, 12, 20, seconds_left=4.0)
    assert together([done, running, waiting]) == Progress(State.RUNNING, 12, 30)
    assert together([done, done]).state is State.FINISHED
    assert together([running]) is running


def test_criteria_by_category_as_json_and_by_key() -> None:
    own = replace(SHORT, only_for=(GAMES, GAMING))
    value = {"text": "Short answers", "weight": "Essential", "polarity": "want", "for": [GAMES, GAMING]}

    assert own.to_json() == value
    assert Criterion.from_json(value) == own
    assert "for" not in SHORT.to_json()
    assert CriteriaSet((own,)).key != CriteriaSet((SHORT,)).key
    assert str(replace(own, polarity=Polarity.AVOID)) == f"For {GAMES}, {GAMING}: Avoid: Short answers"


def test_lists_are_replaced_one_at_a_time() -> None:
    criteria = VIEW.criteria.with_list((GAMING,), CriteriaSet((LONG, SHORT)))

    assert criteria.common == CriteriaSet((SHORT,))
    assert criteria.for_query("", GAMING) == CriteriaSet((LONG, SHORT))
    assert criteria.with_list((GAMING,), CriteriaSet()) == CriteriaSet((SHORT,))
    assert isinstance(criteria.with_list((), CriteriaSet()).lists[()], CriteriaSet)


def test_margins_of_lists_keep_what_is_taken_off(service: Service) -> None:
    judged = service.scored(ALL).judged
    assert isinstance(judged, Margins)
    both = [service.scored(only(criterion, ALL)).judged for criterion in (SHORT, WARM)]
    gaming = of_category(service, GAMING)
    for one, queries in zip(both, (~gaming, gaming), strict=True):
        assert isinstance(one, Margins)
        np.testing.assert_array_equal(judged.taken_off[:, queries], one.taken_off[:, queries])
