import json
from pathlib import Path

import pytest

from crm.baselines import LongerCRM
from crm.data.noise import Strength
from crm.errors import CRMError
from crm.evaluation.metrics import Accuracy
from crm.evaluation.report import (
    JudgeReport,
    bundled_reports,
    read_report,
    results_tables,
    statistics_table,
    write_report,
)
from crm.evaluation.sets import Subset, build_sets, read_manifest, write_sets
from tests.crm.evaluation.samples import CLUSTERS, PAIRS, report, small_sets


def test_it_survives_being_stored(tmp_path: Path) -> None:
    full = report(held_out_judge="embedded-held-out 2", limit=60)
    write_report(tmp_path / "new" / "embedded.json", full)

    assert read_report(tmp_path / "new" / "embedded.json") == full
    assert JudgeReport.from_json(json.loads(json.dumps(report(length=None).to_json()))).length is None


def test_averages_are_means_of_five_sets_and_gaps_plus_less_minus() -> None:
    full = report()

    assert full.average("topic") == pytest.approx(0.88)
    assert full.average("criterion") == pytest.approx(0.83)
    assert full.gap("criterion") == pytest.approx(0.01)


def test_without_a_set_there_is_no_average() -> None:
    known = dict(report().accuracies)
    del known[Subset.CRITERION_REPLACE], known[Subset.TOPIC_MINUS]
    partial = report(accuracies=known)

    assert partial.average("criterion") is None
    assert partial.gap("criterion") is not None
    assert partial.gap("topic") is None


def test_the_calibration_error_is_that_of_the_bins() -> None:
    assert report().calibration_error == pytest.approx(0.4 * 0.1 + 0.6 * 0.05)


def test_shipped_reports_come_best_first(tmp_path: Path) -> None:
    better = {str(subset): Accuracy(str(subset), 9, 0.99, 0.9, 1.0) for subset in Subset}
    write_report(tmp_path / "a.json", report("a"))
    write_report(tmp_path / "b.json", report("b", accuracies=better))

    assert [found.judge for found in bundled_reports(tmp_path)] == ["b", "a"]
    assert bundled_reports(tmp_path / "absent") == ()


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", json.dumps({**report().to_json(), "format": 0}), '{"format": 1}']
)
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(CRMError, match=r"x\.json is no report of a judge: make it again"):
        read_report(path)


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CRMError, match=r"absent\.json cannot be read"):
        read_report(tmp_path / "absent.json")


def test_statistics_have_a_row_a_set(tmp_path: Path) -> None:
    table = statistics_table(small_sets(tmp_path).manifest)

    assert table.columns == ("set", "samples", "left out", "turns", "criteria", "A : B", "of dev")
    assert table.rows[0] == ("T+", "8", "", "2.0", "4.0", "4 : 4", "8")
    assert table.rows[5] == ("C+", "20", "", "2.0", "2.0", "10 : 10", "8")
    assert "longer 1 favours" in table.note
    assert "Noise strict-majority, seed 0." in table.note


def test_noised_sets_say_how_many_lists_the_noise_could_not_be_applied_to(tmp_path: Path) -> None:
    sets = build_sets(PAIRS, LongerCRM(), CLUSTERS, strength=Strength.PAPER)
    manifest = write_sets(tmp_path, sets, 0, "longer 1", Strength.PAPER)
    rows = {row[0]: row[1:3] for row in statistics_table(manifest).rows}

    # Lists of three: the paper swaps ⌊3/2⌋ − 1 of them.
    assert [rows[f"T− {noise}"] for noise in ("remove", "add", "replace")] == [
        ("8", "0"),
        ("8", "0"),
        ("0", "8"),
    ]
    assert "Noise paper, seed 0." in statistics_table(read_manifest(tmp_path)).note


def test_accuracies_stand_in_the_papers_layout() -> None:
    topic, criterion, _ = results_tables([report(), report("smollm2", limit=60)])

    assert topic.columns == (
        *("judge", "T+", "T−", "T− remove", "T− add", "T− replace", "average", "gap + to −"),
    )
    assert topic.rows[0] == ("embedded 2", "90.0", "89.0", "88.0", "87.0", "86.0", "88.0", "+1.0")
    assert criterion.rows[1] == (
        *("smollm2 2 (60 drawn)", "85.0", "84.0", "83.0", "82.0", "81.0", "83.0", "+1.0"),
    )
    assert "100, 100, 100, 100, 100" in topic.note


def test_what_is_unknown_is_a_dash() -> None:
    bare = report(accuracies={}, reliability=(), length=None)
    topic, _, properties = results_tables([bare])

    assert topic.rows == (("embedded 2", *("–",) * 7),)
    assert properties.rows[0][1:5] == ("–",) * 4
    assert properties.rows[0][8:] == ("–", "12.5", "–")


def test_properties_are_named_and_signed() -> None:
    [row] = results_tables([report()])[2].rows

    assert row == (
        "embedded 2",
        "80.0",
        "–",
        "–",
        "0.070 (0.045)",
        "0.040",
        "2.0",
        "53.0",
        "−0.120",
        "12.5",
        "–",
    )


def test_a_judge_that_stands_in_is_named() -> None:
    _, criterion, _ = results_tables([report(held_out_judge="embedded-held-out 2")])

    assert criterion.rows[0][0] == "embedded 2*"
    assert "embedded is embedded-held-out 2 here, trained without them." in criterion.note
