import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from leaderboard.amounts import MeanAmount
from leaderboard.export import ranking_csv, ranking_json, read_ranking_csv
from leaderboard.file_formats import NO_CRITERIA, FileFormat, describe, file_of
from leaderboard.llm_facts.catalogue import Fact, LLMFacts, Price
from leaderboard.llm_facts.columns import FACT_COLUMNS
from leaderboard.result import Leaderboard
from leaderboard.service import Service
from leaderboard.view import View

MADE = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
CRITERIA = CriteriaSet(
    (Criterion("Concise and direct"), Criterion("slang", Weight.OPTIONAL, Polarity.AVOID)),
)
VIEW = View("dailybench", ("Puzzles & Logic", "Short fiction"), CRITERIA, floor=0.5, must_have=True)


@pytest.fixture(scope="module")
def shown(service: Service) -> Leaderboard:
    return service.leaderboard(VIEW)


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_plain_csv_and_json_are_those_of_the_command_line(shown: Leaderboard) -> None:
    columns, misses = shown.shown_categories, shown.misses
    plain = ranking_csv(shown.ranking, columns, misses=misses, amounts=shown.amounts)
    assert file_of(shown, FileFormat.CSV).decode() == plain
    as_json = ranking_json(shown.ranking, columns, misses=misses, amounts=shown.amounts)
    assert file_of(shown, FileFormat.JSON).decode() == f"{as_json}\n"


def test_full_csv_says_what_it_is_a_ranking_of_in_every_row(shown: Leaderboard) -> None:
    plain, full = (rows_of(file_of(shown, kind, MADE)) for kind in (FileFormat.CSV, FileFormat.CSV_FULL))
    added = list(full[0])[len(plain[0]) :]

    assert [{name: row[name] for name in plain[0]} for row in full] == plain
    assert added == ["title", *describe(shown, MADE)]
    assert [row["title"] for row in full] == [shown.titles[row["llm"]] for row in full]
    for row in full:
        assert {name: row[name] for name in added[1:]} == {
            "benchmark": "dailybench",
            "benchmark_title": "DailyBench, open edition",
            "benchmark_version": "1",
            "baseline": "atlas",
            "against": "baseline",
            "judge": "embedded",
            "judge_version": shown.crm_version,
            "default_judge": "embedded",
            "criteria": "Concise and direct; Avoid: slang (Optional)",
            "topics": "Puzzles & Logic, Short fiction",
            "view": VIEW.to_link(),
            "date": "2026-03-01",
            "note": "; ".join(shown.caveats),
        }
    assert full[0]["note"]


def test_full_csv_is_a_ranking_that_can_be_read_back(shown: Leaderboard) -> None:
    assert read_ranking_csv(file_of(shown, FileFormat.CSV_FULL).decode()) == shown.ranking.ranks


def test_without_criteria_it_says_what_ranks(service: Service) -> None:
    crowd = service.leaderboard(View("dailybench"))
    said = describe(crowd, MADE)
    assert (said["criteria"], said["topics"], said["note"]) == (NO_CRITERIA, "all", "")


@pytest.mark.parametrize("wish", ["=HYPERLINK(1)", "+1", "@SUM(A1)", "-2"])
def test_what_a_spreadsheet_would_run_is_disarmed_wherever_it_stands(shown: Leaderboard, wish: str) -> None:
    info = replace(shown.benchmark.info, title=wish, version=wish)
    llms = tuple(replace(llm, title=wish) for llm in shown.benchmark.llms)
    odd = replace(
        shown,
        benchmark=replace(shown.benchmark, info=info, llms=llms),
        view=replace(shown.view, crm=wish),
        criteria=CriteriaSet((Criterion(wish),)),
        musts=(),
        crm_version=wish,
    )
    row = rows_of(file_of(odd, FileFormat.CSV_FULL))[0]

    for column in ("title", "benchmark_title", "benchmark_version", "judge", "judge_version", "criteria"):
        assert row[column] == f"'{wish}"


def test_parquet_has_the_numbers_of_the_json_with_their_types(shown: Leaderboard) -> None:
    table = pq.read_table(io.BytesIO(file_of(shown, FileFormat.PARQUET, MADE)))
    rows, wanted = table.to_pylist(), json.loads(file_of(shown, FileFormat.JSON))

    for row, item in zip(rows, wanted, strict=True):
        for key, value in item.items():
            if key not in ("categories", "amounts"):
                assert row[key] == value
        assert {name: row[f"win_rate: {name}"] for name in item["categories"]} == item["categories"]
        assert row["title"] == shown.titles[row["llm"]]
        assert {name: row[name] for name in describe(shown, MADE)} == describe(shown, MADE)
    kinds = {
        name: str(table.schema.field(name).type) for name in ("rank", "win_rate", "under_floor", "misses")
    }
    assert kinds == {
        "rank": "int64",
        "win_rate": "double",
        "under_floor": "bool",
        "misses": "list<element: string>",
    }
    assert rows[-1]["rank"] is None


def test_facts_stand_beside_the_title_in_all_but_plain_csv(shown: Leaderboard) -> None:
    facts = {llm: LLMFacts(llm, llm) for llm in shown.titles} | {
        "brevia": LLMFacts(
            "brevia",
            "Brevia",
            organisation=Fact("=Acme", "us", "2026"),
            open_weights=Fact(True, "us", "2026"),
            context=Fact(128_000, "them", "2025-01"),
            price=Fact(Price(0.5, 2.0), "us", "2026"),
        )
    }
    full = {row["llm"]: row for row in rows_of(file_of(shown, FileFormat.CSV_FULL, MADE, facts))}
    json_rows = json.loads(file_of(shown, FileFormat.JSON, MADE, facts))
    as_json = {row["llm"]: row["facts"] for row in json_rows}
    table = pq.read_table(io.BytesIO(file_of(shown, FileFormat.PARQUET, MADE, facts)))
    typed = {row["llm"]: row for row in table.to_pylist()}

    place = list(full["brevia"]).index("title") + 1
    assert list(full["brevia"])[place : place + len(FACT_COLUMNS)] == list(FACT_COLUMNS)
    said = {name: full["brevia"][name] for name in FACT_COLUMNS}
    assert said == dict.fromkeys(FACT_COLUMNS, "") | {
        "organisation": "'=Acme",
        "open_weights": "yes",
        "context_tokens": "128000",
        "price_input": "0.5",
        "price_output": "2",
    }
    assert {full["lumen"][name] for name in FACT_COLUMNS} == {""}
    assert as_json["lumen"] == {}
    assert as_json["brevia"]["context"] == {"value": 128_000, "source": "them", "date": "2025-01"}
    assert as_json["brevia"]["price"]["output"] == 2.0
    assert (typed["brevia"]["open_weights"], typed["brevia"]["context_tokens"]) == (True, 128_000)
    assert typed["lumen"]["price_input"] is None
    plain = file_of(shown, FileFormat.CSV, MADE)
    assert file_of(shown, FileFormat.CSV, MADE, facts) == plain


def test_parquet_has_a_column_for_each_amount(shown: Leaderboard) -> None:
    llms = shown.llms
    amounts = (MeanAmount("emojis an answer", {llm: float(place) for place, llm in enumerate(llms)}, 0.5),)
    content = file_of(replace(shown, amounts=amounts), FileFormat.PARQUET)
    rows = pq.read_table(io.BytesIO(content)).to_pylist()
    assert [row["amount: emojis an answer"] for row in rows] == list(range(len(llms)))


def test_parquet_of_odd_names_and_an_unranked_llm(oddly_named: Leaderboard) -> None:
    rows = pq.read_table(io.BytesIO(file_of(oddly_named, FileFormat.PARQUET))).to_pylist()
    assert [row["llm"] for row in rows] == list(oddly_named.ranking.llms)
    assert (rows[-1]["llm"], rows[-1]["rank"], rows[-1]["win_rate"]) == ("silent", None, None)
