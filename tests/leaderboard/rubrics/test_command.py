"""Against a local HTTP server that speaks the protocol of chat completions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from leaderboard.__main__ import main
from leaderboard.alignment import BEST_GRADE
from leaderboard.many_critiques import drawn_queries
from leaderboard.rubrics.beside_judge import JudgesGrades, judges_grades
from leaderboard.service import Service
from leaderboard.view import View
from tests.conftest import Run
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, KEY, says, write_llms
from tests.leaderboard.rubrics.samples import grade_of, grader

ALL = ("--benchmark", "dailybench", "--grader", "writer", "--criterion", "short answers", "--queries", 4)
LLMS = ("scholia", "brevia", "lumen")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("CRITIC_KEY", KEY)
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, running.url, retries=0)))
        running.on(CHAT, grader)
        yield running


@pytest.fixture
def kept(tmp_path: Path) -> tuple[str, str]:
    return ("--kept", str(tmp_path / "kept"))


def test_llms_are_graded_and_ordered_beside_the_judge(
    run_main: Run, server: ScriptedServer, kept: tuple[str, str], service: Service
) -> None:
    code, out, err = run_main(main, "rubric-grades", *LLMS, *ALL, *kept)

    assert code == 0
    assert "4 requests to writer for rubrics, 12 for grades, or a few more; less what is kept in " in err
    assert len(server.asked[CHAT]) == 16
    assert "4 queries, graded by writer" in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.startswith(LLMS)}
    benchmark = service.benchmark("dailybench")
    drawn = drawn_queries(benchmark, LLMS, (), 4)
    for llm, row in rows.items():
        expected = np.mean([grade_of(benchmark.text_at(llm, query) or "", "") for query in drawn])
        assert float(row[1]) == pytest.approx(expected, abs=0.006)
        assert row[1] == row[2]  # of one criterion alone PrefAlign is its grade
        assert float(row[3]) <= float(row[2]) <= float(row[5])
    assert next(iter(rows)) == "brevia"
    assert float(rows["brevia"][6]) > float(rows["scholia"][6])
    tau = re.search(r"The orders by writer and by embedded agree with Kendall's τ = (\S+)\.", out)
    assert tau is not None and float(tau[1]) > 0


def test_json_has_rubrics_grades_and_reasons_and_nothing_is_asked_twice(
    run_main: Run, server: ScriptedServer, kept: tuple[str, str]
) -> None:
    options = (*ALL, "--avoid", "short answers", *kept, "--format", "json")
    first, again = (json.loads(run_main(main, "rubric-grades", "brevia", *options)[1]) for _ in range(2))

    assert first == again
    assert len(server.asked[CHAT]) == 16
    assert [each["polarity"] for each in first["criteria"]] == ["want", "avoid"]
    assert len(first["queries"]) == 4
    for each in first["queries"]:
        assert [len(levels) for levels in each["rubrics"]] == [5, 5]
        [wanted, avoided] = each["responses"]["brevia"]["grades"]
        assert wanted["grade"] + avoided["grade"] == 6
        assert each["responses"]["brevia"]["pref_align"] == 3
        assert wanted["justification"] == f"It is at level {wanted['grade']}."
    [llm] = first["llms"]
    assert (llm["pref_align"], llm["ci_low"], llm["ci_high"]) == (3, 3, 3)
    assert first["judge"]["kendall_tau"] is None  # of one LLM
    assert first["failed"] == {}


def test_where_nothing_comes_so_says_the_command(
    run_main: Run, server: ScriptedServer, kept: tuple[str, str]
) -> None:
    server.on(CHAT, says("Certainly not."))
    code, out, err = run_main(main, "rubric-grades", "brevia", *ALL, *kept)

    assert (code, out) == (2, "")
    assert "error: writer graded no query in full" in err and "It is no JSON object" not in out


def test_a_refused_key_ends_it(run_main: Run, server: ScriptedServer, kept: tuple[str, str]) -> None:
    server.on(CHAT, Answer("no", status=401))
    code, out, err = run_main(main, "rubric-grades", "brevia", *ALL, *kept)

    assert (code, out) == (2, "")
    assert KEY not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody", *ALL), "dailybench has no LLM 'nobody': choose among brevia, "),
        (("verity", "--grader", "writer"), "Grades need criteria"),
        (("verity", *ALL, "--topic", "Sailing"), "Sailing"),
        (("gpt4", *ALL, "--benchmark", "alpaca-eval"), "The texts of AlpacaEval"),
        (("verity", "--grader", "wrter", "--criterion", "x y"), "There is no LLM 'wrter' in llms.toml"),
        (("verity", "--criterion", "x y"), "grader"),
    ],
)
def test_what_cannot_be_graded_is_refused_before_anything_is_sent(
    run_main: Run, server: ScriptedServer, kept: tuple[str, str], arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = run_main(main, "rubric-grades", *arguments, *kept)

    assert code == 2
    assert said in err
    assert not server.asked[CHAT]


def test_the_judge_grades_the_same_queries_as_by_criterion(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    criteria = CriteriaSet.of(["short answers"])
    everything = [query.external_id for query in benchmark.record.queries]
    scored = service.scored(View("dailybench", criteria=criteria, soft=True))
    whole = judges_grades(service, "dailybench", benchmark.llms, criteria, everything)
    few = judges_grades(service, "dailybench", benchmark.respondents, criteria, everything[:5])

    np.testing.assert_allclose(whole.pref_align, BEST_GRADE * scored.rated().win_rate)
    first = np.isin(np.arange(benchmark.n_queries), range(5))
    np.testing.assert_allclose(few.pref_align[:-1], BEST_GRADE * scored.rated(first).win_rate)
    assert np.isnan(few.pref_align[-1])  # the baseline is what they are held against
    assert (whole.note, few.note) == ("", "")


def test_what_the_judge_cannot_judge_is_a_note(service: Service) -> None:
    criteria = CriteriaSet.of(["short answers", "is factually correct"])
    everything = [query.external_id for query in service.benchmark("dailybench").record.queries]
    found = judges_grades(service, "dailybench", ["brevia"], criteria, everything)
    alone = judges_grades(service, "dailybench", ["brevia"], CriteriaSet.of(["short answers"]), everything)

    left_out = "“is factually correct”, which its PrefAlign is without."
    assert found.note == f"The judge embedded cannot judge {left_out}"
    assert found.pref_align == pytest.approx(alone.pref_align)
    nothing = judges_grades(
        service, "dailybench", ["brevia"], CriteriaSet.of(["is factually correct"]), everything
    )
    assert nothing.note == "The judge embedded can judge none of the criteria."
    assert np.isnan(nothing.pref_align).all()


def test_two_llms_have_no_tau() -> None:
    judge = JudgesGrades("embedded", np.array([1.0, 2.0, np.nan]))

    assert judge.tau(np.array([1.0, 2.0, 3.0])) is None
    assert JudgesGrades("embedded", np.array([1.0, 2.0, 4.0])).tau(np.array([3.0, 2.0, 1.0])) == -1
