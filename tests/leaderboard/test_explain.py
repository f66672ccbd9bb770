"""Grades under each criterion, and PrefAlign."""

from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from leaderboard.alignment import Alignment, alignment, grading, pref_align
from leaderboard.explain import TopicScore, topic_scores
from leaderboard.render.chart_style import LIGHT
from leaderboard.render.tables import grades_table
from leaderboard.service import Service
from leaderboard.view import View, read_interests
from tests.judges import SlowCRM, register

WON = np.array([1.0, 0.0, 0.5, 1.0, np.nan, np.nan])
CATEGORIES = ["Home", "Home", "Work", "Home", "Work", "Travel"]
TOPICS = ["Soup", "Soup", "Mail", "Garden", "Mail", "Trains"]


def test_win_rates_by_topic_come_best_first_and_unknown_last() -> None:
    scores = topic_scores(WON, CATEGORIES, TOPICS)

    assert scores[:3] == [
        TopicScore("Home", "Garden", 1.0, 1),
        TopicScore("Work", "Mail", 0.5, 1),
        TopicScore("Home", "Soup", 0.5, 2),
    ]
    assert scores[3].topic == "Trains"
    assert scores[3].n_queries == 0
    assert np.isnan(scores[3].win_rate)


def test_topics_of_one_name_in_two_categories_stay_apart() -> None:
    scores = topic_scores(np.array([1.0, 0.0]), ["Home", "Travel"], ["Soup", "Soup"])

    assert scores == [TopicScore("Home", "Soup", 1.0, 1), TopicScore("Travel", "Soup", 0.0, 1)]


WARM, CONCISE = Criterion("Warm and encouraging"), Criterion("Concise and direct", Weight.OPTIONAL)
BOTH = View("dailybench", criteria=CriteriaSet((WARM, CONCISE)))


def graded(service: Service, view: View) -> Alignment:
    found = alignment(service, view)
    assert found is not None
    return found


def test_each_style_has_the_best_grade_under_its_own_criterion(service: Service) -> None:
    found = graded(service, BOTH)
    best = [found.llms[row] for row in found.grades.argmax(axis=0)]

    assert best == ["lumen", "brevia"]
    assert (found.grades >= 0).all()
    assert (found.grades <= 5).all()


def test_pref_align_weighs_the_grades_as_the_criteria_are_weighed(service: Service) -> None:
    found = graded(service, BOTH)

    np.testing.assert_allclose(found.pref_align, (found.grades @ [1.0, 0.3]) / 1.3)


def test_what_is_to_be_avoided_is_graded_the_other_way_round(service: Service) -> None:
    avoided = CriteriaSet((replace(WARM, polarity=Polarity.AVOID),))
    found = graded(service, replace(BOTH, criteria=avoided))

    np.testing.assert_allclose(found.grades[:, 0], 5 - graded(service, BOTH).grades[:, 0], atol=0.15)


def test_grades_are_of_the_views_queries_as_it_weighs_them(service: Service) -> None:
    alone = graded(service, replace(BOTH, topics=("Arts & Culture",)))
    emails = graded(service, replace(BOTH, interests=read_interests(["I write emails to customers"])))
    soft = service.leaderboard(
        View("dailybench", ("Arts & Culture",), CriteriaSet((WARM,)), soft=True)
    ).ranking

    expected = [5 * soft.win_rate[soft.llms.index(llm)] for llm in alone.llms]
    np.testing.assert_allclose(alone.grades[:, 0], expected, rtol=1e-5)
    assert not np.allclose(emails.grades, graded(service, BOTH).grades)


def test_what_is_left_out_of_the_ranking_is_not_graded(service: Service) -> None:
    finnish = Criterion("Written in Finnish")
    view = replace(BOTH, criteria=CriteriaSet((finnish, *BOTH.criteria)))

    assert graded(service, view).criteria == tuple(BOTH.criteria)
    assert graded(service, replace(view, keep_unjudged=True)).criteria == tuple(view.criteria)
    assert alignment(service, replace(BOTH, criteria=CriteriaSet((finnish,)))) is None


def test_an_llm_without_responses_has_no_grade() -> None:
    grades = np.array([[4.0, 1.0], [np.nan, np.nan]])

    np.testing.assert_allclose(pref_align(grades, (WARM, CONCISE)), [4.3 / 1.3, np.nan])


def test_without_criteria_there_is_none_and_a_slow_judge_is_not_asked(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = SlowCRM()
    register(monkeypatch, judge)

    assert alignment(own_service, replace(BOTH, criteria=CriteriaSet())) is None
    assert grading(own_service, replace(BOTH, crm=judge.name, criteria=CriteriaSet())) is None
    assert grading(own_service, BOTH) is None  # there is no need to wait
    assert np.isnan(graded(own_service, replace(BOTH, crm=judge.name)).grades).all()
    assert not judge.asked


def test_tables_and_files_hold_names_as_text() -> None:
    criteria = (Criterion("=1+1 <b>bold</b>"), CONCISE)
    found = Alignment(("@sum", "beta"), criteria, np.array([[5.0, 0.0], [2.5, 2.5]]), np.array([4.0, 2.5]))
    page = grades_table(found, ("beta", "@sum"), {"@sum": "<i>", "beta": "Beta"}, LIGHT, "#fff")

    assert "&lt;b&gt;" in page
    assert "<i>" not in page
    assert page.index("Beta") < page.index("&lt;i&gt;")
    assert page.count("--usl-tint:0%") == 3
    assert found.to_csv().splitlines() == [
        "llm,pref_align,'=1+1 <b>bold</b>,Concise and direct",
        "'@sum,4.0000,5.0000,0.0000",
        "beta,2.5000,2.5000,2.5000",
    ]


def test_an_llm_is_listed_as_soon_as_it_has_any_grade() -> None:
    grades = np.array([[4.0, np.nan], [np.nan, np.nan]])
    found = Alignment(("half", "mute"), (WARM, CONCISE), grades, np.full(2, np.nan), 0, 30)
    page = grades_table(found, found.llms, {"half": "Half", "mute": "Mute"}, LIGHT, "#fff")

    assert "Half" in page
    assert "Mute" not in page
    assert found.to_csv().splitlines()[1:] == ["half,,4.0000,", "mute,,,"]


@pytest.mark.parametrize("count", [1, 25])
def test_only_so_many_criteria_are_graded(service: Service, count: int) -> None:
    many = CriteriaSet(tuple(Criterion(f"Wish number {place}") for place in range(count)))

    view = replace(BOTH, criteria=many, keep_unjudged=True)
    assert graded(service, view).grades.shape == (7, min(count, 20))
