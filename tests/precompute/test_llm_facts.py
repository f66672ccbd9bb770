import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from leaderboard.llm_facts.catalogue import FACTS, Catalogue, Fact, LLMFacts, Rating
from leaderboard.llm_facts.files import FACTS_FILE, FIGURES_FILE, read_catalogue
from precompute import __main__ as command_line
from precompute.errors import PrecomputeError
from precompute.llm_facts import (
    disagreements,
    figures_text,
    missing_lines,
    prices_date,
    read_alpaca_eval,
    read_arena_tables,
    refreshed,
)
from tests.conftest import CORPORA

TODAY = date(2026, 11, 23)
NOTHING = Catalogue.of(())
Run = Callable[..., tuple[int, str, str]]


def arena_files(folder: Path, models: list[dict[str, Any]] | None = None) -> Path:
    row = {"rating": 1400.04, "rating_q025": 1390.0, "rating_q975": 1410.0}
    entry = {
        "model_api_name": "gpt-4.1-2025-04-14",
        "organization": "OpenAI",
        "license": "Propretary",
    }
    folder.mkdir(exist_ok=True)
    (folder / "text.json").write_text(json.dumps({"full": {"gpt-4.1-2025-04-14": row}, "coding": {}}))
    (folder / "models.json").write_text(json.dumps([entry] if models is None else models))
    return folder


BY_HAND = Catalogue.of(
    [
        LLMFacts("gpt-4.1", "GPT-4.1", arena="gpt-4.1-2025-04-14", priced_as="openai:gpt-4.1"),
        LLMFacts("gpt-4.1-long", "Long", variant_of="gpt-4.1"),
        LLMFacts("gemini", "Gemini", priced_as="google:gemini-2.5-pro"),
        LLMFacts("free", "Free", priced_as="openrouter:qwen/qwen3-coder:free"),
        LLMFacts("unknown", "Unknown", arena="nobody"),
    ]
)


def test_prices_and_ratings_become_facts_with_source_and_date(tmp_path: Path) -> None:
    rows = {
        row.name: row
        for row in refreshed(BY_HAND, read_arena_tables(arena_files(tmp_path), "2025-12"), NOTHING, TODAY)
    }
    gpt = rows["gpt-4.1"]

    assert list(rows) == ["gpt-4.1", "gemini"]
    assert gpt.price is not None
    assert (gpt.price.value.input, gpt.price.value.output) == (2.0, 8.0)
    assert gpt.price.source.startswith("genai-prices ")
    assert gpt.price.source.endswith(", OpenAI")
    assert gpt.price.date == prices_date(TODAY).isoformat()
    assert gpt.ratings is not None
    assert gpt.ratings.value.by_category == {"full": Rating(1400.0, 1390.0, 1410.0)}
    assert (gpt.ratings.source, gpt.ratings.date) == ("LMArena", "2025-12")
    assert gpt.licence == Fact("Proprietary", "LMArena, models.json", "2025-12")
    assert gpt.open_weights == Fact(False, "LMArena, models.json", "2025-12")
    gemini = rows["gemini"].price
    assert gemini is not None
    assert gemini.value.up_to == 200_000


def test_without_new_ratings_the_old_ones_stay(tmp_path: Path) -> None:
    arena = read_arena_tables(arena_files(tmp_path), "2025-12")
    before = Catalogue.of(refreshed(BY_HAND, arena, NOTHING, TODAY))
    assert refreshed(BY_HAND, None, before, TODAY) == refreshed(BY_HAND, arena, NOTHING, TODAY)


def test_figures_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    rows = refreshed(BY_HAND, read_arena_tables(arena_files(tmp_path), "2025-12"), NOTHING, TODAY)
    path = tmp_path / "figures.toml"
    path.write_text(figures_text(rows), encoding="utf-8")
    assert list(read_catalogue([path])) == rows


def test_prices_that_are_announced_for_later_do_not_count_yet() -> None:
    assert prices_date(TODAY) <= TODAY
    assert prices_date(date(2026, 1, 1)) <= date(2026, 1, 1)


@pytest.mark.parametrize(
    ("priced_as", "said"),
    [
        ("openai:gpt-4.1-typo", "has no model 'gpt-4.1-typo' of 'openai', which the LLM 'x' is priced as"),
        ("nobody:gpt-4.1", "has no provider 'nobody'"),
    ],
)
def test_a_name_that_genai_prices_does_not_have_is_refused(priced_as: str, said: str) -> None:
    by_hand = Catalogue.of([LLMFacts("x", "X", priced_as=priced_as)])
    with pytest.raises(PrecomputeError) as refused:
        refreshed(by_hand, None, NOTHING, TODAY)
    assert said in str(refused.value)
    assert str(refused.value).endswith("correct its 'priced_as' or take it out.")


LEADERBOARD = """,win_rate,length_controlled_winrate
gpt-4.1,50.0,57.04
gpt-4.1-long,80.0,31.2
somebody,1.0,1.0
"""


def test_alpaca_evals_win_rates_are_those_of_the_llm_that_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "leaderboard.csv"
    file.write_text(LEADERBOARD)
    rows = refreshed(BY_HAND, None, NOTHING, TODAY, read_alpaca_eval(file, "2025-01"))
    found = {row.name: row.alpaca_eval for row in rows}
    before = Catalogue.of(rows)

    assert found["gpt-4.1"] == Fact(57.0, "AlpacaEval 2, length-controlled", "2025-01")
    assert found["gpt-4.1-long"] == Fact(31.2, "AlpacaEval 2, length-controlled", "2025-01")
    assert found["gemini"] is None
    assert refreshed(BY_HAND, None, before, TODAY) == rows
    (tmp_path / "figures.toml").write_text(figures_text(rows))
    assert {row.name: row.alpaca_eval for row in read_catalogue([tmp_path / "figures.toml"])} == found


def test_a_variant_has_no_win_rate_from_what_it_is_a_variant_of() -> None:
    whole = LLMFacts("a", "A", alpaca_eval=Fact(50.0, "us", "2025"), context=Fact(8, "us", "2025"))
    both = Catalogue.of([whole, LLMFacts("b", "B", variant_of="a")])

    assert both.facts("b").alpaca_eval is None
    assert both.facts("b").context == whole.context


@pytest.mark.parametrize("text", ["", "llm,win_rate\na,50\n", ",length_controlled_winrate\na,high\n", "a\n"])
def test_a_damaged_leaderboard_of_alpaca_eval_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "leaderboard.csv"
    with pytest.raises(PrecomputeError, match=r"leaderboard\.csv"):
        read_alpaca_eval(file, "2025-01")
    file.write_text(text)
    with pytest.raises(PrecomputeError, match="it must hold LLMs in the first column"):
        read_alpaca_eval(file, "2025-01")


def test_damaged_tables_of_lmarena_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrecomputeError, match="there is no such file"):
        read_arena_tables(tmp_path, "2025-12")
    arena_files(tmp_path)
    (tmp_path / "text.json").write_text('{"coding": {}}')
    with pytest.raises(PrecomputeError, match="lacks the category 'full'"):
        read_arena_tables(tmp_path, "2025-12")
    (tmp_path / "text.json").write_text('{"full": {"a": 1}}')
    with pytest.raises(PrecomputeError, match="it must hold"):
        read_arena_tables(tmp_path, "2025-12")
    (tmp_path / "text.json").write_text("{")
    with pytest.raises(PrecomputeError, match="not valid JSON"):
        read_arena_tables(tmp_path, "2025-12")


def test_where_lmarena_says_otherwise_is_reported(tmp_path: Path) -> None:
    entry = {"model_api_name": "gpt-4.1-2025-04-14", "organization": "Meta", "license": "MIT"}
    arena = read_arena_tables(arena_files(tmp_path, [entry]), "2025-12")
    by_hand = Catalogue.of(
        [
            LLMFacts(
                "gpt-4.1", "GPT-4.1", arena="gpt-4.1-2025-04-14", organisation=Fact("OpenAI", "us", "2025")
            ),
            LLMFacts("unknown", "Unknown", arena="nobody"),
        ]
    )
    assert disagreements(by_hand, arena) == [
        "gpt-4.1: organisation 'OpenAI' here, 'Meta' in LMArena's models.json",
        "unknown: no rating at LMArena, where nothing there knows 'nobody'",
    ]


def test_what_is_missing_is_reported_by_fact() -> None:
    catalogue = Catalogue.of([LLMFacts("one", "One", organisation=Fact("Us", "us", "2025"))])
    lines = missing_lines(catalogue, ["one", "other"])
    assert lines[:2] == ["in the catalogue: 1 of 2; not: other", "organisation: 1 of 2; unknown: other"]
    assert "price: 0 of 2; unknown: one, other" in lines
    assert "parameters of those with open weights: 0 of 0" in lines


def test_the_bundled_prices_are_those_of_the_pinned_package() -> None:
    """What a newer package says otherwise is brought in by running the command."""
    bundled = read_catalogue([FIGURES_FILE])
    rows = refreshed(read_catalogue([FACTS_FILE]), None, bundled, TODAY)
    assert {row.name: row for row in rows} == bundled.llms


@pytest.mark.corpora
def test_the_bundled_figures_are_those_of_lmarena_and_alpaca_eval() -> None:
    arena = read_arena_tables(CORPORA / "lmarena_ratings", "2025-12")
    official = read_alpaca_eval(CORPORA / "alpaca_eval" / "leaderboard_alpaca_eval_2.csv", "2025-01")
    rows = refreshed(read_catalogue([FACTS_FILE]), arena, NOTHING, TODAY, official)
    assert FIGURES_FILE.read_text("utf-8") == figures_text(rows)


@pytest.mark.corpora
def test_every_llm_of_the_current_sources_is_in_the_catalogue() -> None:
    catalogue = read_catalogue([FIGURES_FILE, FACTS_FILE])
    sources = json.loads((CORPORA / "modern_llms" / "current_llms.json").read_text("utf-8"))
    names = sorted({name for names in sources.values() for name in names})
    assert [name for name in names if catalogue.find(name, "modern") is None] == []


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["precompute", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err

    return call


def test_the_command_writes_figures_and_reports_what_is_missing(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "figures.toml"
    ratings = arena_files(tmp_path / "ratings")
    code, said, notes = run("llm-facts", "--ratings", ratings, "--ratings-date", "2026-01", "--out", out)

    assert code == 0
    assert said.startswith("figures.toml: figures of ")
    assert "\nprice: " in said
    assert "gpt-5.1: no rating at LMArena" in notes
    rated = [llm.name for llm in read_catalogue([out]) if llm.ratings is not None]
    assert rated == ["gpt-4.1"]


def test_the_command_refuses_ratings_without_their_date(run: Run, tmp_path: Path) -> None:
    code, _, said = run("llm-facts", "--ratings", tmp_path)
    assert (code, said) == (
        2,
        "error: Give --ratings and --ratings-date together: a rating needs its date.\n",
    )
    code, _, said = run("llm-facts", "--ratings", tmp_path, "--ratings-date", "December")
    assert code == 2
    assert said.startswith("error: --ratings-date 'December' is no date: write 2025-04-14")


def test_the_command_refuses_win_rates_without_their_date(run: Run, tmp_path: Path) -> None:
    code, _, said = run("llm-facts", "--alpaca-eval", tmp_path / "leaderboard.csv")

    assert (code, said) == (
        2,
        "error: Give --alpaca-eval and --alpaca-eval-date together: a win rate needs its date.\n",
    )


def test_a_report_alone_writes_nothing(run: Run, tmp_path: Path) -> None:
    before = FIGURES_FILE.read_bytes()
    code, said, _ = run("llm-facts", "--report-only")
    assert code == 0
    assert said.startswith("in the catalogue: ")
    assert FIGURES_FILE.read_bytes() == before
    assert set(FACTS) >= {"price", "ratings", "context"}
