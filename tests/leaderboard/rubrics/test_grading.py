"""Against a local HTTP server that speaks the protocol of chat completions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crm.criteria import Criterion, Polarity, Weight
from crm.llm.settings import read_llms
from crm.llm.tasks import AskedLLM, KeptReplies
from leaderboard.errors import LeaderboardError
from leaderboard.rubrics.grading import GradedQuery, graded
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says
from tests.leaderboard.rubrics.samples import grade_of, grader, is_grade, prompt_of

SHORT = Criterion("short answers", Weight.ESSENTIAL)
DRY = Criterion("brief remarks", Weight.OPTIONAL, Polarity.AVOID)
QUERIES = [
    GradedQuery("q1", "Name a fruit.", {"brevia": "word " * 10, "scholia": "word " * 100}),
    GradedQuery("q2", "Name a town.", {"brevia": "word " * 60, "scholia": "word " * 200}),
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.on(CHAT, grader)
        yield running


@pytest.fixture
def asked(tmp_path: Path, server: ScriptedServer) -> AskedLLM:
    file = tmp_path / "llms.toml"
    file.write_text(f'[writer]\nmodel = "m"\nurl = "{server.url}/v1"\nretries = 0\n')
    return AskedLLM(read_llms(file, ["writer"])[0], KeptReplies(tmp_path / "kept"))


def n_asked(server: ScriptedServer) -> tuple[int, int]:
    """How many rubrics and grades were asked for."""
    grades = sum(is_grade(prompt_of(asked)) for asked in server.asked[CHAT])
    return len(server.asked[CHAT]) - grades, grades


def test_pref_align_is_the_weighted_mean_of_grades(asked: AskedLLM, server: ScriptedServer) -> None:
    told: list[tuple[str, int, int]] = []
    found = graded(asked, (SHORT, DRY), QUERIES, lambda *at: told.append(at))

    assert found.llms == ("brevia", "scholia")
    np.testing.assert_array_equal(found.levels, [[[5, 1], [4, 2]], [[3, 3], [1, 5]]])
    np.testing.assert_allclose(found.mean_grades, [[4.5, 1.5], [2, 4]])
    np.testing.assert_allclose(
        found.pref_align,
        [[(5 + 0.3 * 1) / 1.3, (4 + 0.3 * 2) / 1.3], [(3 + 0.3 * 3) / 1.3, (1 + 0.3 * 5) / 1.3]],
    )
    low, high = found.interval()
    assert (low[0], high[0]) == pytest.approx((found.pref_align[0, 1], found.pref_align[0, 0]))
    assert n_asked(server) == (4, 8)
    assert told[-1] == ("Grades", 8, 8) and ("Rubrics", 4, 4) in told


def test_rubrics_are_written_before_any_answer_is_seen_and_passed_on(
    asked: AskedLLM, server: ScriptedServer
) -> None:
    found = graded(asked, (SHORT,), QUERIES[:1])
    rubric, first, second = (prompt_of(each) for each in server.asked[CHAT])

    assert "word" not in rubric.split("<wish>")[0]
    assert all(found.rubrics["q1", 0].levels[4] in prompt for prompt in (first, second))
    assert "(short answers)" in found.rubrics["q1", 0].levels[4]


def test_a_query_with_one_failed_grade_is_left_out_for_all_and_named(
    asked: AskedLLM, server: ScriptedServer
) -> None:
    def stubborn(asked: Any) -> Answer:
        prompt = prompt_of(asked)
        return says("Five!") if is_grade(prompt) and prompt.count("word ") > 150 else grader(asked)

    server.on(CHAT, stubborn)
    found = graded(asked, (SHORT, DRY), QUERIES)

    assert found.queries == ("q1",)
    assert found.levels.shape == (2, 1, 2)
    assert np.isnan(found.interval()[0]).all()  # of one query
    assert list(found.failed) == ["q2"]
    assert found.failed["q2"].startswith("the grade of scholia under “")
    assert "it is no JSON object" in found.failed["q2"]


def test_a_query_without_a_rubric_is_not_graded(asked: AskedLLM, server: ScriptedServer) -> None:
    def no_towns(asked: Any) -> Answer:
        prompt = prompt_of(asked)
        return says("I won't.") if "town" in prompt and not is_grade(prompt) else grader(asked)

    server.on(CHAT, no_towns)
    found = graded(asked, (SHORT,), QUERIES)

    assert found.queries == ("q1",)
    assert n_asked(server)[1] == 2
    assert found.failed["q2"].startswith("the rubric for “short answers” failed: The reply could not be used")


def test_an_interrupted_run_goes_on_where_it_was(asked: AskedLLM, server: ScriptedServer) -> None:
    graded(asked, (SHORT,), QUERIES[:1])
    before = len(server.asked[CHAT])
    found = graded(asked, (SHORT,), QUERIES)

    assert len(server.asked[CHAT]) - before == 3  # one rubric and two grades of the second query
    assert found.queries == ("q1", "q2")


def test_where_nothing_comes_the_reason_is_the_error(asked: AskedLLM, server: ScriptedServer) -> None:
    server.on(CHAT, says("No."))
    with pytest.raises(
        LeaderboardError, match=r"writer graded no query in full; of q. the rubric for “short"
    ):
        graded(asked, (SHORT,), QUERIES)


def test_the_script_grades_by_length() -> None:
    assert [grade_of("word " * n, "short") for n in (10, 60, 100, 150, 300)] == [5, 4, 3, 2, 1]
