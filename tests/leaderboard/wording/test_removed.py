from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from leaderboard.control import Control
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.statistics.ranking import Removed
from leaderboard.view import View
from leaderboard.wording.removed import effect_sentences, preference_sentence
from tests.judges import SlowCRM, register

CONCISE = CriteriaSet.of(["Concise and direct"])


@pytest.fixture(scope="module")
def controlled(service: Service) -> Leaderboard:
    return service.leaderboard(View("alpaca-eval", criteria=CONCISE, control=Control.LENGTH))


def test_a_wish_for_short_answers_loses_its_main_effect(service: Service, controlled: Leaderboard) -> None:
    plain = service.leaderboard(View("alpaca-eval", criteria=CONCISE)).ranking
    ranking, removed = controlled.ranking, controlled.ranking.removed
    assert removed is not None
    without = dict(zip(ranking.llms, removed.plain_win_rate.tolist(), strict=True))

    assert without == pytest.approx(dict(zip(plain.llms, plain.win_rate.tolist(), strict=True)))
    assert dict(zip(ranking.llms, removed.plain_rank.tolist(), strict=True)) == plain.ranks
    assert removed.effects[0] < -1
    verbose = ranking.llms.index("gpt4_1106_preview_verbose")
    assert ranking.win_rate[verbose] > removed.plain_win_rate[verbose] + 0.1
    assert np.all(ranking.ci_low <= ranking.win_rate)
    assert np.all(ranking.win_rate <= ranking.ci_high)


def test_it_is_compared_with_a_crowd_that_is_controlled_too(
    service: Service, controlled: Leaderboard
) -> None:
    crowd = service.leaderboard(View("alpaca-eval", control=Control.LENGTH)).ranking

    assert controlled.default is not None
    assert controlled.default.ranks == crowd.ranks
    assert crowd.ranks != service.leaderboard(View("alpaca-eval")).ranking.ranks


def test_a_category_column_is_controlled_as_well(controlled: Leaderboard) -> None:
    """Their mean, weighted by size, is close to the whole, which has one strength for all of them."""
    ranking = controlled.ranking
    sizes = np.array([category.n_queries for category in controlled.benchmark.categories])
    mean = np.nansum(ranking.category_win_rate * sizes, axis=1) / sizes.sum()

    np.testing.assert_allclose(mean, ranking.win_rate, atol=0.05)


def test_what_was_removed_is_said_in_words(controlled: Leaderboard) -> None:
    effect, preference = controlled.removed
    assert effect.startswith("Length is removed. Win rates move by ")
    assert preference.startswith(
        "Of two otherwise equal responses, the judge prefers the clearly shorter one ("
    )
    assert "Length removed from the win rates" in controlled.caveats


def test_what_does_not_matter_is_said_not_to(controlled: Leaderboard) -> None:
    plain = replace(
        controlled.ranking,
        removed=Removed(np.zeros(1), controlled.ranking.win_rate, controlled.ranking.rank),
        n_queries=np.full(47, 3),
    )

    assert effect_sentences(plain, Control.LENGTH, controlled.titles) == (
        "Length is removed. Win rates hardly move, by 0.0 points on average, and none of 47 LLMs changes "
        "rank. With only 3 queries this is a rough guess."
    )
    assert preference_sentence(plain, Control.LENGTH) == (
        "Of two otherwise equal responses, length hardly matters to the judge."
    )


def test_style_names_every_term(service: Service) -> None:
    effect, preference = service.leaderboard(
        View("alpaca-eval", criteria=CONCISE, control=Control.STYLE)
    ).removed

    assert effect.startswith("Length, lists, headings and bold are removed.")
    assert "half as many list items (" in preference


def test_without_a_control_there_is_nothing_to_say(service: Service) -> None:
    plain = service.leaderboard(View("dailybench"))

    assert plain.removed == ()
    assert plain.caveats == ()


def test_narrow_topics_and_soft_scores_are_controlled_too(service: Service) -> None:
    view = View("dailybench", ("Short fiction",), CONCISE, soft=True, control=Control.STYLE)
    ranking = service.leaderboard(view).ranking

    assert np.all((ranking.ci_low <= ranking.win_rate) & (ranking.win_rate <= ranking.ci_high))
    assert set(ranking.n_queries.tolist()) == {6}


def test_a_slow_judge_is_controlled_from_its_first_block_to_its_last(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    crm = SlowCRM()
    register(monkeypatch, crm)
    view = View("dailybench", ("Arts & Culture",), crm=crm.name, control=Control.LENGTH)
    nothing_yet = own_service.leaderboard(view, watcher=None)
    assert nothing_yet.ranking.ranks == {}
    assert nothing_yet.removed == ()

    own_service.judge(view)
    judged = own_service.leaderboard(view, watcher=None)
    assert judged.ranking.removed is not None
    assert judged.ranking.removed.effects[0] > 2
    assert "the judge prefers the clearly longer one (" in judged.removed[1]
