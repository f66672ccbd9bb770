import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.amounts import MeanAmount
from leaderboard.errors import LeaderboardError
from leaderboard.export import ranking_csv, ranking_json, read_ranking_csv
from leaderboard.statistics.ranking import Ranking, rank_llms

NAN = np.nan


def ranking_of(llms: list[str], categories: tuple[str, ...] = ("writing", "travel")) -> Ranking:
    """LLMs of which the first wins all six queries, each next one a query less; "silent" has no response."""
    queries = np.arange(6)
    prob = np.array([np.where(queries < 6 - row, 0.9, 0.1) for row in range(len(llms))])
    prob[[llm == "silent" for llm in llms]] = NAN
    return rank_llms(llms, prob, queries // 3, queries // 3, categories)


def test_csv_has_the_promised_columns_then_the_selected_categories() -> None:
    rows = list(csv.DictReader(io.StringIO(ranking_csv(ranking_of(["a", "b", "silent"]), ["travel"]))))

    assert list(rows[0]) == ["rank", "llm", "win_rate", "ci_low", "ci_high", "n_queries", "travel"]
    assert rows[1]["rank"] == "2"
    assert rows[1]["llm"] == "b"
    assert rows[1]["win_rate"] == "0.8333"
    assert rows[1]["n_queries"] == "6"
    assert rows[1]["travel"] == "0.6667"
    assert list(rows[2].values()) == ["", "silent", "", "", "", "0", ""]


def test_csv_without_categories_has_the_promised_columns_only() -> None:
    text = ranking_csv(ranking_of(["a"]))

    assert text == "rank,llm,win_rate,ci_low,ci_high,n_queries\n1,a,1.0000,0.6097,1.0000,6\n"


def test_a_note_stands_in_every_row_and_is_no_part_of_the_ranking() -> None:
    text = ranking_csv(ranking_of(["a", "b"]), ["travel"], note="=Doubtful, “1990”")
    rows = list(csv.DictReader(io.StringIO(text)))

    assert list(rows[0])[-2:] == ["travel", "note"]
    assert {row["note"] for row in rows} == {"'=Doubtful, “1990”"}
    assert read_ranking_csv(text) == {"a": 1, "b": 2}


AMOUNTS = (
    MeanAmount("emojis an answer", {"a": 1.75, "silent": NAN}, 0.125),
    MeanAmount("words a sentence", {"a": 20.0, "silent": NAN}, 18.0),
)


def test_csv_has_a_column_for_each_amount_before_the_note() -> None:
    text = ranking_csv(ranking_of(["a", "silent"]), ["travel"], misses={}, amounts=AMOUNTS, note="Doubtful")
    first, last = csv.DictReader(io.StringIO(text))

    assert list(first)[6:] == ["travel", "misses", "emojis an answer", "words a sentence", "note"]
    assert (first["emojis an answer"], first["words a sentence"]) == ("1.7500", "20.0000")
    assert (last["emojis an answer"], last["note"]) == ("", "Doubtful")


def test_json_says_how_often_a_limit_is_kept() -> None:
    limited = replace(AMOUNTS[0], limit="at most 2 emojis", kept={"a": 0.5, "silent": NAN})
    first, last = json.loads(ranking_json(ranking_of(["a", "silent"]), amounts=[limited]))

    assert first["amounts"]["emojis an answer"].items() >= {"limit": "at most 2 emojis", "kept": 0.5}.items()
    assert last["amounts"]["emojis an answer"]["kept"] is None


def test_json_has_amounts_beside_the_baselines() -> None:
    first, last = json.loads(ranking_json(ranking_of(["a", "silent"]), amounts=AMOUNTS))

    assert first["amounts"] == {
        "emojis an answer": {"mean": 1.75, "baseline": 0.125},
        "words a sentence": {"mean": 20.0, "baseline": 18.0},
    }
    assert last["amounts"]["emojis an answer"] == {"mean": None, "baseline": 0.125}


@pytest.mark.parametrize("name", ["=1+1", "+a", "-a", "@SUM(A1)", "\ta", "\ra", "'=a"])
def test_names_that_spreadsheets_would_run_are_disarmed(name: str) -> None:
    ranking = ranking_of([name], (name, "travel"))
    header, row = csv.reader(io.StringIO(ranking_csv(ranking, [name]), newline=""))

    assert row[1] == header[6] == f"'{name}"
    assert read_ranking_csv(ranking_csv(ranking)) == {name: 1}


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5, unique=True
    )
)
def test_any_name_survives_the_way_to_csv_and_back(llms: list[str]) -> None:
    ranking = ranking_of([llm for llm in llms if llm != "silent"] or ["a"])

    assert read_ranking_csv(ranking_csv(ranking)) == ranking.ranks


def test_json_has_the_same_numbers_and_null_where_unknown() -> None:
    first, last = json.loads(ranking_json(ranking_of(["ä", "silent"]), ["writing"]))

    assert first == {
        "rank": 1,
        "llm": "ä",
        "win_rate": 1.0,
        "ci_low": 0.6097,  # Wilson: 6 / (6 + 1.96²)
        "ci_high": 1.0,
        "n_queries": 6,
        "n_effective": 6.0,
        "rank_low": 1,
        "rank_high": 1,
        "categories": {"writing": 1.0},
    }
    assert last["categories"] == {"writing": None}
    assert [last[key] for key in ("rank", "win_rate", "ci_low", "ci_high", "rank_low", "n_queries")] == [
        None
    ] * 5 + [0]


@pytest.mark.parametrize("write", [ranking_csv, ranking_json])
def test_an_unknown_category_is_refused(write: Callable[..., str]) -> None:
    with pytest.raises(LeaderboardError, match="no category “cooking”: choose among writing, travel"):
        write(ranking_of(["a"]), ["cooking"])


def test_reading_needs_only_rank_and_llm_in_any_place() -> None:
    text = "notes,llm, rank \nfine,b,1\n\nso so,a,2.5\nabsent,c,\n"

    assert list(read_ranking_csv(text).items()) == [("b", 1), ("a", 2.5)]


def test_reading_a_file_with_the_byte_order_mark_of_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "ranking.csv"
    path.write_text("rank,llm\r\n1,a\r\n", encoding="utf-8-sig", newline="")

    assert read_ranking_csv(path) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Row 1 has no column “rank”"),
        ("rank,name\n1,a\n", "Row 1 has no column “llm”"),
        ("rank,llm\n", "no row with a rank"),
        ("rank,llm\n,a\n", "no row with a rank"),
        ("rank,llm\n1,a\n2\n", "Row 3 ends before"),
        ("rank,llm\n1,a\nsecond,b\n", "Row 3 has the rank “second”"),
        ("rank,llm\n0,a\n", "Row 2 has the rank “0”"),
        ("rank,llm\nnan,a\n", "Row 2 has the rank “nan”"),
        ("rank,llm\n1e999,a\n", "Row 2 has the rank “1e999”"),
        ("rank,llm\n1,a\n2,a\n", "Row 3 lists “a” a second time"),
        ("rank,llm\n1,\n", "Row 2 names no LLM"),
        ('rank,llm\n1,"a\n', "not valid CSV"),
    ],
)
def test_malformed_csv_is_refused_with_row_and_reason(text: str, reason: str) -> None:
    with pytest.raises(LeaderboardError, match=reason):
        read_ranking_csv(text)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "ranking.csv"
    binary.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(LeaderboardError, match="cannot be read"):
        read_ranking_csv(tmp_path / "absent.csv")
    with pytest.raises(LeaderboardError, match="cannot be read"):
        read_ranking_csv(tmp_path)
    with pytest.raises(LeaderboardError, match="not UTF-8"):
        read_ranking_csv(binary)
