import json
from pathlib import Path

import pytest

from crm.cli import main
from crm.evaluation import commands
from crm.evaluation.report import read_report, write_report
from crm.evaluation.sets import Subset, read_manifest
from tests.conftest import Run
from tests.crm.evaluation.samples import PAIRS, report, small_sets


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    small_sets(tmp_path / "sets", PAIRS[6:9])
    return tmp_path / "sets"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place of shipped reports and tables."""
    monkeypatch.setattr(commands, "BUNDLED_REPORTS", tmp_path / "judges")
    monkeypatch.setattr(commands, "JUDGES_TABLE", tmp_path / "judges.md")
    return tmp_path / "judges"


def first_words(printed: str) -> list[str]:
    return [line.split()[0] for line in printed.splitlines() if line.strip()]


@pytest.mark.usefixtures("shipped")
class TestEvaluate:
    def test_prints_the_layout_of_the_paper_beside_the_references(
        self, run_main: Run, sets: Path, tmp_path: Path
    ) -> None:
        code, out, err = run_main(main, "evaluate", sets, "--crm", "longer", "--save", tmp_path / "r.json")

        assert code == 0
        assert "Topic generalization" in out
        assert "Criterion generalization" in out
        assert first_words(out).count("longer") == first_words(out).count("cosine") == 3
        assert "smollm2 is left out" in err or "smollm2" in out
        assert read_report(tmp_path / "r.json").accuracies[Subset.TOPIC_PLUS].value == 1.0

    def test_may_leave_the_references_out(self, run_main: Run, sets: Path) -> None:
        _, out, err = run_main(main, "evaluate", sets, "--crm", "longer", "--no-references")

        assert "cosine" not in out
        assert "smollm2" not in err

    def test_shows_stored_results_of_a_reference_again(self, run_main: Run, sets: Path) -> None:
        data = read_manifest(sets).digest
        write_report(sets / "reports" / "longer.json", report("longer", version="1", data=data))
        _, out, _ = run_main(main, "evaluate", sets, "--crm", "cosine")
        [stored, *_] = [line.split() for line in out.splitlines() if line.startswith("longer")]
        _, out, _ = run_main(main, "evaluate", sets, "--crm", "cosine", "--fresh")
        [fresh, *_] = [line.split() for line in out.splitlines() if line.startswith("longer")]

        assert stored[2:4] == ["90.0", "89.0"]
        assert fresh[2:4] == ["100.0", "0.0"]

    @pytest.mark.parametrize("changes", [{"data": "other"}, {"version": "0"}])
    def test_makes_results_of_other_data_or_another_version_anew(
        self, run_main: Run, sets: Path, changes: dict[str, str]
    ) -> None:
        data = read_manifest(sets).digest
        changed = report("longer", **{"version": "1", "data": data, **changes})
        write_report(sets / "reports" / "longer.json", changed)
        _, out, _ = run_main(main, "evaluate", sets, "--crm", "cosine")

        [longer, *_] = [line.split() for line in out.splitlines() if line.startswith("longer")]
        assert longer[2:4] == ["100.0", "0.0"]

    def test_without_criteria_a_judge_is_named_with_the_empty_set(self, run_main: Run, sets: Path) -> None:
        _, out, _ = run_main(
            main, "evaluate", sets, "--crm", "cosine", "--without-criteria", "--no-references"
        )

        assert first_words(out).count("cosine") == 3
        assert "cosine ∅ 1" in out
        assert (sets / "reports" / "cosine ∅.json").is_file()
        assert not (sets / "reports" / "cosine.json").exists()

    def test_says_what_was_drawn(self, run_main: Run, sets: Path) -> None:
        _, out, _ = run_main(main, "evaluate", sets, "--crm", "longer", "--limit", 1, "--no-references")

        assert "longer 1 (1 drawn)" in out

    def test_ships_results_and_their_table(self, run_main: Run, sets: Path, shipped: Path) -> None:
        write_report(shipped / "old.json", report("old"))
        code, _, err = run_main(
            main, "evaluate", sets, "--crm", "longer", "--bundle", "--price-per-hour", "2"
        )
        table = shipped.with_suffix(".md").read_text()

        assert code == 0
        assert sorted(path.name for path in shipped.iterdir()) == ["cosine.json", "longer.json", "old.json"]
        assert read_report(shipped / "longer.json").speed.cost_per_1000 is not None
        assert table.startswith("# Judges\n\n## Topic generalization\n\n| judge | T+ |")
        assert "| longer 1 | 100.0 | 0.0 | 0.0 | 0.0 | 0.0 | 20.0 | +100.0 |" in table
        assert "| old" not in table
        assert "results of old are of other sets" in " ".join(err.split())

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["absent"], "absent: there is no such file or folder"),
            (["absent", "--rubric-judge", "marker"], "absent: there is no such file or folder"),
            (["absent.jsonl", "--limit", "3"], "absent.jsonl is a file"),
            (["--crm", "oracle"], "no CRM named 'oracle'"),
            (["--criterion-crm", "oracle", "--crm", "longer"], "no CRM named 'oracle'"),
            (["--limit", "0"], "--limit"),
            (["--without-criteria", "--bundle"], "--bundle ships a judge as it is asked on the pages"),
            (["--rubric-judge", "marker"], "has no rubrics: --rubric-judge is for a benchmark of judges"),
        ],
    )
    def test_wrong_use_is_one_line(
        self, run_main: Run, sets: Path, arguments: list[str], message: str
    ) -> None:
        named = arguments if arguments[0].startswith("absent") else [str(sets), *arguments]
        refused(run_main(main, "evaluate", *named), message)


class TestEvaluationSets:
    def test_are_made_from_annotations_and_described(
        self, run_main: Run, tmp_path: Path, corpora_of_two: Path
    ) -> None:
        annotations = tmp_path / "annotations.jsonl"
        annotations.write_text(
            json.dumps(
                {
                    "source": "alpaca_eval",
                    "instruction_index": 0,
                    "instruction_sha256": "5e1f",
                    "model_a": "terse",
                    "model_b": "wordy",
                    "split": "dev",
                    "criteria_a": ["concise", "direct", "calm"],
                    "criteria_b": ["detailed", "warm"],
                }
            )
        )
        code, out, _ = run_main(
            main,
            "evaluation-sets",
            annotations,
            *("--corpora", corpora_of_two, "--out", tmp_path / "sets", "--general", "longer"),
            *("--noise-strength", "paper"),
            *("--table", tmp_path / "table.md"),
        )

        assert code == 0
        assert "longer 1 favours" in " ".join(out.split())
        assert "| T− | 1 |  | 2.0 | 3.0 |" in (tmp_path / "table.md").read_text()
        assert "| T− remove | 1 | 0 | 2.0 | 1.0 |" in (tmp_path / "table.md").read_text()
        lines = (tmp_path / "sets" / "topic_minus.jsonl").read_text().splitlines()
        assert [json.loads(line)["criteria"] for line in lines] == [["concise", "direct", "calm"]]

    def test_wrong_use_is_one_line(self, run_main: Run) -> None:
        refused(run_main(main, "evaluation-sets", "absent.jsonl"), "There is no file absent.jsonl")
        refused(run_main(main, "evaluation-sets", "--general", "oracle"), "no CRM named 'oracle'")


class TestCriterionClusters:
    def test_too_few_criteria_are_refused(self, run_main: Run, tmp_path: Path) -> None:
        path = tmp_path / "few.jsonl"
        path.write_text(json.dumps({"criteria_a": ["concise"], "criteria_b": ["detailed"]}))

        refused(run_main(main, "criterion-clusters", path, "--out", tmp_path / "x"), "2 different criteria")

    def test_a_row_without_criteria_is_refused(self, run_main: Run, tmp_path: Path) -> None:
        path = tmp_path / "bad.jsonl"
        path.write_text(json.dumps({"criteria_a": ["concise"]}))

        refused(run_main(main, "criterion-clusters", path), "bad.jsonl, row 1: no criteria for side b")


@pytest.fixture
def corpora_of_two(tmp_path: Path) -> Path:
    """Corpora of one instruction with three LLMs' responses."""
    texts = {"gpt4_1106_preview": "x", "terse": "No.", "wordy": "Rather not, for several reasons."}
    for llm, text in texts.items():
        path = tmp_path / "corpora" / "alpaca_eval" / "results" / llm / "model_outputs.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([{"instruction": "first", "output": text}]))
    return tmp_path / "corpora"


def refused(ended: tuple[int, str, str], message: str) -> None:
    """The command ended with exit code 2 and one line on standard error."""
    code, out, err = ended
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
