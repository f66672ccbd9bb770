import json
import subprocess
import sys
from pathlib import Path

import pytest

from crm.cli import main
from tests.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
SHORT, LONG = (
    "Seven minutes.",
    "Seven minutes, though it depends on the size of the egg and on the height above the sea.",
)
LINE = {"id": "one", "query": "How long?", "response_a": SHORT, "response_b": LONG, "criteria": ["concise"]}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestScore:
    def test_judges_every_pair_in_its_order(self, run_main: Run, tmp_path: Path) -> None:
        source = write(
            tmp_path / "in.jsonl",
            LINE,
            {**LINE, "id": 2, "response_a": LONG, "response_b": SHORT},
            {**LINE, "id": None, "criteria": ["avoid concise", "detailed"]},
            {
                **LINE,
                "id": ["x"],
                "criteria": [{"text": "concise", "weight": "Optional", "polarity": "avoid"}],
            },
            {**LINE, "id": "one", "criteria": []},
        )
        code, out, err = run_main(main, "score", source, tmp_path / "out.jsonl")
        verdicts = read(tmp_path / "out.jsonl")

        assert (code, out, err) == (0, "", "5 pairs judged by embedded.\n")
        assert [list(verdict) for verdict in verdicts] == [["id", "prob_a", "per_criterion"]] * 5
        assert [verdict["id"] for verdict in verdicts] == ["one", 2, None, ["x"], "one"]
        first, second, third, fourth, fifth = (verdict["prob_a"] for verdict in verdicts)
        assert first > 0.7
        assert second == pytest.approx(1 - first, abs=1e-5)
        assert third < 0.3
        assert fourth == pytest.approx(1 - first, abs=1e-5)
        assert [len(verdict["per_criterion"]) for verdict in verdicts] == [1, 1, 2, 1, 0]
        assert verdicts[0]["per_criterion"] == [pytest.approx(first, abs=1e-5)]
        assert fifth not in (first, second, third, fourth)

    def test_another_judge_is_chosen_by_name(self, run_main: Run, tmp_path: Path) -> None:
        source = write(tmp_path / "in.jsonl", {**LINE, "response_a": "aaa", "response_b": "a"})
        assert run_main(main, "score", source, tmp_path / "out.jsonl", "--crm", "longer")[0] == 0

        [verdict] = read(tmp_path / "out.jsonl")
        assert verdict["prob_a"] == pytest.approx(2 / 3)

    def test_no_pairs_give_no_verdicts(self, run_main: Run, tmp_path: Path) -> None:
        code, _, _ = run_main(main, "score", write(tmp_path / "in.jsonl"), tmp_path / "out.jsonl")

        assert code == 0
        assert read(tmp_path / "out.jsonl") == []

    def test_any_text_can_be_judged(self, run_main: Run, tmp_path: Path) -> None:
        rows = [{**LINE, "response_a": text} for text in ("", "🎉" * 3000, "\x00\x1b", "\ud83d", "簡潔")]
        code, _, err = run_main(main, "score", write(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl")

        assert (code, err) == (0, "5 pairs judged by embedded.\n")
        assert all(0 <= verdict["prob_a"] <= 1 for verdict in read(tmp_path / "out.jsonl"))

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("{", "in.jsonl, row 2: not JSON"),
            ("[]", "in.jsonl, row 2: not a JSON object"),
            ("{}", "in.jsonl, row 2: the field 'query' is missing"),
            (
                json.dumps({**LINE, "criteria": ["x" * 301]}),
                "row 2: The criterion “x{40}…” has 301 characters",
            ),
            (
                json.dumps({**LINE, "criteria": [{"text": "x", "weight": "huge"}]}),
                "row 2: The weight 'huge' is unknown",
            ),
        ],
    )
    def test_a_bad_row_is_one_line_and_leaves_no_output(
        self, run_main: Run, tmp_path: Path, line: str, message: str
    ) -> None:
        source = tmp_path / "in.jsonl"
        source.write_text(f"{json.dumps(LINE)}\n{line}\n")
        ended = run_main(main, "score", source, tmp_path / "out.jsonl")

        refused(ended, message)
        assert list(tmp_path.iterdir()) == [source]

    def test_an_earlier_output_survives_a_bad_row(self, run_main: Run, tmp_path: Path) -> None:
        target = write(tmp_path / "out.jsonl", "earlier")
        refused(run_main(main, "score", write(tmp_path / "in.jsonl", {}), target), "row 1")

        assert read(target) == ["earlier"]

    def test_a_place_that_cannot_be_written_is_one_line(self, run_main: Run, tmp_path: Path) -> None:
        source = write(tmp_path / "in.jsonl", LINE)
        folder = tmp_path / "folder"
        folder.mkdir()

        refused(
            run_main(main, "score", source, tmp_path / "absent" / "out.jsonl", "--crm", "longer"), "absent"
        )
        refused(run_main(main, "score", source, folder, "--crm", "longer"), "folder")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "in.jsonl"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["score", "absent.jsonl", "out.jsonl"], "There is no file absent.jsonl"),
            (["score", "absent.jsonl", "out.jsonl", "--crm", "oracle"], "no CRM named 'oracle'"),
            (["score", "absent.jsonl"], "OUT.jsonl"),
            (["nonsense"], "nonsense"),
            (["train", "nonsense"], "nonsense"),
            (["evaluate", "absent.jsonl"], "There is no file absent.jsonl"),
            (["train", "embedded", "--representation", "absent.npz"], "There is no file absent.npz"),
            (["train", "styles", "--weights", "absent.npz"], "There is no file absent.npz"),
            (["train", "axes", "--weights", "absent.npz"], "There is no file absent.npz"),
            (["train", "axes", "--representation", "absent.npz"], "There is no file absent.npz"),
            (
                ["train", "general", "--corpora", "absent"],
                "The default ranking ∅ is fitted on people's votes",
            ),
            (["train", "representation", "--preferences", "absent.jsonl"], "There is no file absent.jsonl"),
        ],
    )
    def test_wrong_use_is_one_line(self, run_main: Run, arguments: list[str], message: str) -> None:
        refused(run_main(main, *arguments), message)


class TestEvaluate:
    def test_prints_the_judge_beside_the_references(self, run_main: Run, tmp_path: Path) -> None:
        row = {"prompt": "q", "criteria": ["concise"], "model_a": SHORT, "model_b": LONG}
        data = write(
            tmp_path / "data.jsonl",
            {**row, "idx": 1, "preference": "model_a"},
            {**row, "idx": 2, "preference": "model_b", "criteria": ["detailed", "long"]},
            {**row, "idx": 3, "preference": "tie"},
        )
        code, out, err = run_main(main, "evaluate", data)
        lines = [line.split() for line in out.splitlines()]

        assert (code, err) == (0, "")
        assert [words[0] for words in lines[1:]] == ["embedded"] * 2 + ["longer"] * 2 + ["cosine"] * 2
        assert "embedded  criteria list  2" in out
        assert "embedded  criterion      3" in out
        assert "longer    criteria list  2     0.500  0.095 to 0.905" in out

    def test_may_leave_the_references_out(self, run_main: Run, tmp_path: Path) -> None:
        row = {
            "idx": 1,
            "prompt": "q",
            "criteria": ["concise"],
            "model_a": "aa",
            "model_b": "a",
            "preference": "model_a",
        }
        data = write(tmp_path / "data.jsonl", row)
        code, out, _ = run_main(main, "evaluate", data, "--crm", "longer", "--no-references")

        assert code == 0
        assert {line.split()[0] for line in out.splitlines()[1:]} == {"longer"}


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "crm", "score", str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    refused((ended.returncode, ended.stdout, ended.stderr), "There is no file")
    assert list(tmp_path.iterdir()) == []


def refused(ended: tuple[int, str, str], message: str) -> None:
    """The command ended with exit code 2 and one line on standard error."""
    code, out, err = ended
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message.replace("x{40}", "x" * 40) in err
