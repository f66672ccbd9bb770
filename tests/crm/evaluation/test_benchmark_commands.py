"""``crm evaluate`` on benchmarks from outside and ``crm best-of-n``, with the bundled judges."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crm.cli import main
from leaderboard.__main__ import main as leaderboard
from tests.conftest import Run
from tests.crm.backends.scripted_server import ScriptedServer
from tests.crm.backends.test_llm_judge import CHAT
from tests.crm.evaluation.benchmark_samples import (
    LONG,
    SHORT,
    lengths,
    personalized_folder,
    reward_bench_2,
    rubric_bench,
    write_json_lines,
    write_parquet,
)
from tests.crm.evaluation.test_rubric_judge import asked, completed


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """An LLM that marks by length what the rubric wishes short or long."""

    def mark(body: Any) -> Any:
        wishes_short = "concise and short" in asked(body)
        return completed("[2]" if (SHORT in asked(body)) == wishes_short else "[0]")

    with ScriptedServer() as started:
        started.on(CHAT, mark)
        yield started


@pytest.fixture
def llms(server: ScriptedServer, tmp_path: Path) -> Path:
    path = tmp_path / "llms.toml"
    path.write_text(f'[marker]\nmodel = "chatty"\nurl = "{server.url}/v1"\nretries = 0\n')
    return path


def rows(printed: str, judge: str) -> list[list[str]]:
    """The figures of a judge, one list a table."""
    return [line.split()[2:] for line in printed.splitlines() if line.startswith(f"{judge} ")]


class TestEvaluate:
    def test_the_embedded_judge_follows_the_rubrics_of_either_domain(
        self, run_main: Run, tmp_path: Path
    ) -> None:
        folder = personalized_folder(tmp_path / "cloned")
        code, out, _ = run_main(main, "evaluate", folder, "--save", tmp_path / "r.json")
        _, unguided, _ = run_main(main, "evaluate", folder, "--without-criteria")

        assert code == 0
        assert "Personalized RewardBench" in out
        assert rows(out, "embedded") == [["100.0", "100.0", "100.0"]]
        assert rows(out, "longer") == [["0.0", "100.0", "50.0"]]
        assert len(rows(out, "cosine")) == 1
        assert [row for row in rows(unguided, "embedded") if row[-1] == "50.0"]
        assert "embedded ∅" in unguided
        saved = json.loads((tmp_path / "r.json").read_text())
        assert [one["judge"] for one in saved] == ["embedded", "longer", "cosine"]
        assert saved[0]["domains"][0]["best"]["n"] == 3
        assert saved[1]["average"] == 0.5

    def test_reward_bench_2_is_best_of_four(self, run_main: Run, tmp_path: Path) -> None:
        path = write_parquet(
            tmp_path / "data" / "test-00000-of-00001.parquet",
            [
                reward_bench_2("1", "Focus", ["a long answer"], ["short", "brief", "no"]),
                reward_bench_2("2", "Math", ["four"], ["three", "a long five", "six"]),
                reward_bench_2("ref:0", "Ties", ["red as a rose"], ["loud"]),
                reward_bench_2("tied:0", "Ties", ["red as a rose", "blue as a sky"], ["loud"]),
            ],
        )
        code, out, _ = run_main(main, "evaluate", path.parent.parent, "--crm", "longer")
        best, pairs = rows(out, "longer")

        assert code == 0
        assert best[:2] == ["100.0", "0.0"]
        assert float(best[2]) > 99
        assert pairs == ["100.0", "33.3", "100.0"]
        assert "by lot 25.0, 25.0" in " ".join(out.split())

    def test_an_llm_marks_by_rubric_beside_them(self, run_main: Run, tmp_path: Path, llms: Path) -> None:
        folder = personalized_folder(tmp_path / "cloned")
        code, out, _ = run_main(
            main, "evaluate", folder, "--crm", "longer", "--no-references", "--limit", 2,
            "--without-criteria", "--rubric-judge", "marker", "--llms", llms,
        )  # fmt: skip

        assert code == 0
        assert "longer ∅ 1" in out
        [marker] = [line for line in out.splitlines() if line.startswith("marker, by rubric")]
        assert marker.split()[-3:] == ["100.0", "100.0", "100.0"]
        assert "Prompts: Art and Entertainment 2, Society and Culture 2." in " ".join(out.split())

    def test_rubric_bench_is_read_too(self, run_main: Run, tmp_path: Path) -> None:
        cases = [rubric_bench(f"c{n}", "Chat", SHORT, LONG, label=n % 2) for n in range(4)]
        _, out, _ = run_main(main, "evaluate", write_json_lines(tmp_path / "rubricbench.jsonl", cases))

        assert rows(out, "embedded") == [["100.0", "100.0"]]
        assert rows(out, "longer") == [["0.0", "0.0"]]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--bundle"], "is a benchmark of judges: --criterion-crm"),
            (["--rubric-judge", "nobody"], "There is no LLM 'nobody'"),
            (["--crm", "oracle"], "no CRM named 'oracle'"),
        ],
    )
    def test_wrong_use_is_one_line(
        self, run_main: Run, tmp_path: Path, llms: Path, options: list[str], message: str
    ) -> None:
        folder = personalized_folder(tmp_path / "cloned")
        refused(run_main(main, "evaluate", folder, *options, "--llms", llms), message)

    def test_a_rubric_judge_needs_rubrics(self, run_main: Run, tmp_path: Path, llms: Path) -> None:
        path = write_json_lines(tmp_path / "b.jsonl", [reward_bench_2("1", "Math", ["x"], ["y"])])
        code, out, err = run_main(
            main, "evaluate", path, "--crm", "longer", "--rubric-judge", "marker", "--llms", llms
        )

        assert (code, out) == (2, "")
        assert "a prompt has none: take a benchmark with rubrics" in err


class TestBestOfN:
    def run(self, run_main: Run, folder: Path, llms: Path, *options: object) -> tuple[int, str, str]:
        benchmark = personalized_folder(folder / "cloned")
        candidates = write_json_lines(folder / "candidates.jsonl", lengths([LONG, "Sleep.", SHORT]))
        return run_main(
            main, "best-of-n", benchmark, candidates, "--rubric-judge", "marker", "--llms", llms,
            *("--crm", "embedded", "--crm", "longer", "--crm", "cosine"), *options,
        )  # fmt: skip

    def test_ranks_judges_by_what_they_choose_and_by_the_benchmark(
        self, run_main: Run, tmp_path: Path, llms: Path
    ) -> None:
        code, out, err = self.run(run_main, tmp_path, llms, "--out", tmp_path / "out")
        [longer] = [line.split() for line in out.splitlines() if line.startswith("longer")]
        [first] = [line.split() for line in out.splitlines() if line.startswith("the first response")]

        # A line of progress every ten seconds may stand there, on a slow machine, and nothing else.
        assert (code, re.sub(r"(?m)^embedded, choosing: \d of 5\n", "", err)) == (0, "")
        assert longer[1] == "50.0"
        assert longer[3:6] == ["0.0", "100.0", "50.0"]
        assert first[3:] == ["0.0", "100.0", "50.0"]
        assert (tmp_path / "out" / "benchmark.csv").read_text().startswith("rank,llm,score\n1,embedded,1.0")
        assert "python -m leaderboard correlate" in out

        files = (tmp_path / "out" / name for name in ("benchmark.csv", "best_of_n.csv"))
        code, said, _ = run_main(leaderboard, "correlate", *files, "--format", "json")
        assert code == 0
        assert json.loads(said)["n"] == 3

    def test_marks_each_response_once(
        self, run_main: Run, tmp_path: Path, llms: Path, server: ScriptedServer
    ) -> None:
        self.run(run_main, tmp_path, llms, "--limit", 1)
        prompts = [asked(body) for body in server.asked[CHAT]]

        assert len(prompts) == len(set(prompts)) <= 6

    def test_wrong_use_is_one_line(self, run_main: Run, tmp_path: Path, llms: Path) -> None:
        benchmark = write_json_lines(tmp_path / "b.jsonl", [reward_bench_2("1", "Math", ["x"], ["y"])])
        options = ("--crm", "longer", "--rubric-judge", "marker", "--llms", llms)
        refused(
            run_main(main, "best-of-n", benchmark, tmp_path / "c.jsonl", *options),
            "RewardBench 2 has no rubrics, by which choices are marked",
        )
        refused(
            run_main(main, "best-of-n", personalized_folder(tmp_path / "p"), tmp_path / "c.jsonl", *options),
            "There is no file",
        )


def refused(ended: tuple[int, str, str], message: str) -> None:
    """The command ended with exit code 2 and one line on standard error."""
    code, out, err = ended
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
