"""The judge of the ranking without criteria, chosen apart from the judge of the criteria."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crm import registry
from crm.criteria import CriteriaSet
from crm.errors import ConfigError
from leaderboard.errors import LeaderboardError
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs.progress import State
from leaderboard.service import Service
from leaderboard.view import View
from tests.judges import GatedCRM, SlowCRM, register, wait_until

VIEW = View("dailybench", criteria=CriteriaSet.of(["Concise"]))
N_PAIRS = 522 * 7


@pytest.fixture
def gated(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatedCRM]:
    judge = GatedCRM()
    register(monkeypatch, judge)
    yield judge
    judge.let(10_000)
    own_service.close()


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "crms.toml"
    file.write_text('default_crm = "longer"\n')
    monkeypatch.setenv("USL_CRMS", str(file))
    return file


def judged(service: Service, view: View) -> Leaderboard:
    """The leaderboard when slow judges are done with it."""
    service.judge(view)
    return service.leaderboard(view, subscriber=None)


@pytest.mark.parametrize("crm", ["embedded", "cosine"])
def test_whoever_judges_the_criteria_changes_refer_to_the_same_ranking(
    own_service: Service, crm: str
) -> None:
    one_topic = View("dailybench", topics=("Puzzles & Logic",))  # "cosine" reads every text anew
    default = judged(own_service, replace(one_topic, crm="longer")).ranking
    view = replace(one_topic, criteria=VIEW.criteria, crm=crm, default_crm="longer")
    compared = judged(own_service, view).default

    assert compared is not None
    assert compared.llms == default.llms
    np.testing.assert_array_equal(compared.win_rate, default.win_rate)


def test_without_criteria_the_judge_of_the_default_ranking_ranks(own_service: Service) -> None:
    by_longer = judged(own_service, View("dailybench", crm="longer"))
    shown = own_service.leaderboard(View("dailybench", default_crm="longer"))

    assert shown.ranking.llms == by_longer.ranking.llms
    np.testing.assert_array_equal(shown.ranking.win_rate, by_longer.ranking.win_rate)
    assert (shown.judge, shown.crm_version) == ("longer", by_longer.crm_version)


def test_criteria_stand_at_once_while_a_slow_judge_fills_in_the_comparison(
    own_service: Service, gated: GatedCRM
) -> None:
    view = replace(VIEW, default_crm="slow", floor=0.5)
    first = own_service.leaderboard(view)

    assert first.n_judged == 522
    assert first.default is None
    assert first.floor_waits
    assert first.judging is not None
    assert first.judging.of_comparison
    assert first.ranking.win_rate.tolist() == own_service.leaderboard(VIEW).ranking.win_rate.tolist()

    gated.let(10_000)
    wait_until(lambda: own_service.leaderboard(view).default is not None)
    shown = own_service.leaderboard(view)
    assert shown.judging is not None
    assert shown.judging.current.state is State.FINISHED
    assert len(shown.ranking.under_floor) == 3
    assert {len(question.criteria) for question in gated.asked} == {0}
    assert len(gated.asked) == N_PAIRS


def test_a_slow_judge_of_criteria_is_compared_at_once_with_a_ranking_that_needs_no_time(
    own_service: Service, gated: GatedCRM
) -> None:
    view = replace(VIEW, crm="slow", default_crm="embedded")
    own_service.leaderboard(view)
    gated.let(3)
    wait_until(lambda: own_service.leaderboard(view).n_judged == 7)
    shown = own_service.leaderboard(view)

    assert shown.default is not None
    assert shown.default.n_queries.tolist() == [7] * 7
    assert shown.judging is not None
    assert shown.judging.comparison is None

    gated.let(10_000)
    own_service.judge(view)
    whole = own_service.leaderboard(view).default
    alone = own_service.leaderboard(View("dailybench")).ranking
    assert whole is not None
    assert whole.win_rate.tolist() == alone.win_rate.tolist()
    assert len(gated.asked) == N_PAIRS  # nothing was asked without criteria


def test_one_command_judges_what_the_comparison_needs(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowCRM()
    register(monkeypatch, slow)
    view = replace(VIEW, default_crm="slow")

    own_service.judge(view, compare=False)
    assert slow.asked == []
    own_service.judge(view)
    assert len(slow.asked) == N_PAIRS
    assert own_service.leaderboard(view, subscriber=None).default is not None


def test_what_rests_on_a_floor_knows_it_when_the_slow_judge_does(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, SlowCRM())
    view = replace(VIEW, default_crm="slow", floor=0.5)

    assert own_service.scored(view).under_floor is None
    own_service.judge(view)
    under_floor = own_service.scored(view).under_floor
    assert under_floor is not None
    assert under_floor.sum() == 3


def test_the_file_of_judges_says_who_makes_the_default_ranking(
    own_service: Service, configured: Path
) -> None:
    shown = judged(own_service, VIEW)
    longer = own_service.leaderboard(View("dailybench", crm="longer"))

    assert (shown.judge, shown.default_crm) == ("embedded", "longer")
    assert shown.default is not None
    assert shown.default.llms == longer.ranking.llms
    assert own_service.leaderboard(replace(VIEW, default_crm="embedded")).default_crm == "embedded"


def test_a_configured_judge_that_is_too_slow_for_duels_leaves_them_to_the_judge_of_the_criteria(
    own_service: Service, configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, SlowCRM())
    configured.write_text('default_crm = "slow"\n')

    assert own_service.leaderboard(View("modern")).default_crm == "embedded"
    with pytest.raises(LeaderboardError, match="The judge 'slow' compares one pair at a time"):
        own_service.leaderboard(View("modern", default_crm="slow"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'default_crm = "oracle"\n',
            "crms.toml: 'default_crm' names 'oracle', which is no judge: choose one",
        ),
        ("default_crm = 3\n", "crms.toml: 'default_crm' must be the name of a judge in quotes."),
        ('crm = "longer"\n', "crms.toml: 'crm' is not a table: write [crm] above a judge's keys."),
    ],
)
def test_a_default_that_is_no_judge_is_refused(configured: Path, text: str, said: str) -> None:
    configured.write_text(text)

    with pytest.raises(ConfigError) as refused:
        registry.default_crm_name()
    assert str(refused.value).startswith(said)


def test_a_link_carries_it() -> None:
    view = replace(VIEW, default_crm="skywork")
    link = dict(view.to_query())

    assert link["default-crm"] == "skywork"
    assert View.from_query({name: [value] for name, value in view.to_query()}) == view
    assert "default-crm" not in dict(VIEW.to_query())
