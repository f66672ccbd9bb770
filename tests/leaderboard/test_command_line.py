import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

from crm.criteria import CriteriaSet
from crm.errors import UnavailableError
from crm.protocol import Question, Verdict
from db.database import URL_VARIABLE
from leaderboard.__main__ import main
from leaderboard.alignment import alignment
from leaderboard.result import Leaderboard
from leaderboard.scoring_jobs import progress
from leaderboard.service import Service
from leaderboard.view import Against, TopicWeight, View
from tests.conftest import Run
from tests.judges import GatedCRM, SlowCRM, WarningCRM, register

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"
HEADER = ["rank", "llm", "win_rate", "ci_low", "ci_high", "n_queries"]


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


class TestRank:
    def test_every_llm_against_every_other(self, run_main: Run, service: Service) -> None:
        options = ("--benchmark", "dailybench", "--criterion", "short answers", "--against", "all")
        code, out, _ = run_main(main, "rank", *options, "--format", "csv")
        _, table, _ = run_main(main, "rank", *options)
        view = View("dailybench", criteria=CriteriaSet.of(["short answers"]), against=Against.ALL)

        assert code == 0
        assert [row["llm"] for row in rows_of(out)] == list(service.leaderboard(view).ranking.llms)
        assert list(rows_of(out)[0])[:6] == HEADER
        assert "8 LLMs against each other, judged by embedded" in table

    def test_what_cannot_be_ranked_against_every_other_is_said(self, run_main: Run) -> None:
        code, _, err = run_main(
            main, "rank", "--benchmark", "dailybench", "--against", "all", "--crm", "longer"
        )

        assert code == 2
        assert "choose the judge 'embedded', or rank against a baseline" in " ".join(err.split())

    def test_csv_has_the_promised_columns_and_the_numbers_of_the_page(
        self, run_main: Run, service: Service
    ) -> None:
        code, out, err = run_main(
            main,
            "rank",
            "--benchmark",
            "dailybench",
            "--criterion",
            "short answers",
            "--avoid",
            "slang",
            "--topic",
            "Puzzles & Logic",
            "--topic",
            "Short fiction",
            "--format",
            "csv",
        )
        view = View(
            "dailybench",
            ("Puzzles & Logic", "Short fiction"),
            CriteriaSet.of(["short answers"], ["slang"]),
        )
        ranking = service.leaderboard(view).ranking
        rows = rows_of(out)

        assert (code, err) == (0, "")
        categories = ["Creative Writing & Literature", "Puzzles & Logic"]
        assert list(rows[0]) == [*HEADER, *categories, "words an answer"]
        assert [row["llm"] for row in rows] == list(ranking.llms)
        assert [int(row["rank"]) for row in rows] == ranking.rank.tolist()
        assert {row["n_queries"] for row in rows} == {"36"}
        for column, values in (
            ("win_rate", ranking.win_rate),
            ("ci_low", ranking.ci_low),
            ("ci_high", ranking.ci_high),
        ):
            assert [row[column] for row in rows] == [f"{value:.4f}" for value in values]

    def test_filters_hide_rows_and_change_none(self, run_main: Run) -> None:
        command = ("rank", "--benchmark", "alpaca-eval", "--format", "csv")
        every_row = run_main(main, *command)[1].splitlines()
        code, out, err = run_main(
            main,
            *command,
            "--open-weights",
            "--max-price",
            "1",
            "--organisation",
            "meta",
            "--search",
            "llama 3.1",
        )
        rows = out.splitlines()

        assert code == 0
        assert [row.split(",")[1] for row in rows[1:]] == [
            f"Meta-Llama-3.1-{size}-Instruct-Turbo" for size in ("405B", "70B", "8B")
        ]
        assert set(rows) < set(every_row)
        assert "note: 3 of 47 LLMs are listed, 44 hidden" in err

    def test_every_number_stands_under_its_heading(self, run_main: Run) -> None:
        command = ("rank", "--benchmark", "modern", "--max-price", "2", "--messages-per-day", "20")
        heading, first, *_ = run_main(main, *command)[1].split("\n\n")[1].splitlines()

        assert heading.split()[-3:] == ["answered", "a", "month"]
        assert re.search(r"\d%\s+\$\d+\.\d\d$", first)

    def test_the_cheapest_that_is_as_good_is_named_with_what_a_month_costs(self, run_main: Run) -> None:
        command = ("rank", "--benchmark", "alpaca-eval", "--search", "gpt-4o")
        code, out, _ = run_main(main, *command, "--messages-per-day", "20")

        assert code == 0
        assert "a month" in out.split("\n\n")[1].splitlines()[0]
        # 600 messages of 500 tokens and as many of answers at $5 and $15 for a million.
        assert "$6.00" in out
        assert "47 LLMs against" in out
        assert re.search("itself the cheapest|costs least of those|No other LLM is as good", out)
        assert "Prices as of 20" in out

    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("--released-since", "June", "'June' is no date"),
            ("--max-price", "-1", "a number of dollars from 0 on"),
            ("--min-context", "0", "a number of tokens from 1 on"),
            ("--organisation", "Acne Corporation", "No LLM by 'Acne Corporation' is known: choose among"),
            ("--tokens-read", "100", "say how many messages a day"),
        ],
    )
    def test_what_nobody_can_filter_by_is_refused(
        self, run_main: Run, option: str, value: str, message: str
    ) -> None:
        code, out, err = run_main(main, "rank", "--benchmark", "dailybench", option, value)
        assert (code, out) == (2, "")
        assert message in err

    def test_without_topics_every_category_has_a_column(self, run_main: Run, service: Service) -> None:
        rows = rows_of(run_main(main, "rank", "--benchmark", "dailybench", "--format", "csv")[1])

        assert list(rows[0]) == HEADER + list(service.benchmark("dailybench").category_names)
        assert len(rows) == 7

    def test_the_default_benchmark_is_that_of_current_llms(self, run_main: Run) -> None:
        rows = rows_of(run_main(main, "rank", "--format", "csv")[1])

        assert len(rows) == 64
        assert {row["llm"]: row["n_queries"] for row in rows}["chatgpt-4o-latest"] == "821"

    def test_a_control_is_named_and_its_numbers_stand_beside_the_plain_ones(self, run_main: Run) -> None:
        arguments = ("rank", "--benchmark", "dailybench", "--criterion", "concise", "--format", "json")
        plain = {row["llm"]: row for row in json.loads(run_main(main, *arguments)[1])}
        code, out, err = run_main(main, *arguments, "--control", "style")
        rows = json.loads(out)

        assert code == 0
        assert err.startswith("note: Adjusted for length, lists, headings and bold. ")
        assert {row["llm"]: row["plain_win_rate"] for row in rows} == {
            llm: row["win_rate"] for llm, row in plain.items()
        }
        assert any(abs(row["win_rate"] - row["plain_win_rate"]) > 0.01 for row in rows)

    def test_json_says_the_same(self, run_main: Run) -> None:
        arguments = ("rank", "--benchmark", "dailybench", "--criterion", "warm", "--soft", "--format")
        as_json = json.loads(run_main(main, *arguments, "json")[1])
        as_csv = rows_of(run_main(main, *arguments, "csv")[1])

        assert [row["llm"] for row in as_json] == [row["llm"] for row in as_csv]
        for one, other in zip(as_json, as_csv, strict=True):
            assert one["win_rate"] == float(other["win_rate"])
            assert one["categories"]["Puzzles & Logic"] == float(other["Puzzles & Logic"])

    def test_every_format_can_be_written_to_a_file(self, run_main: Run, tmp_path: Path) -> None:
        arguments = ("rank", "--benchmark", "dailybench", "--format")
        for name in ("csv", "csv-full", "json", "every-eval-ever", "parquet"):
            code, out, _ = run_main(main, *arguments, name, "--output", tmp_path / name)
            assert (code, out) == (0, "")
        for name in ("csv", "csv-full", "json"):
            assert (tmp_path / name).read_text(encoding="utf-8") == run_main(main, *arguments, name)[1]
        rows = rows_of((tmp_path / "csv-full").read_text(encoding="utf-8"))
        assert {row["llm"]: row["title"] for row in rows}["lumen"] == "lumen (warm, encouraging)"
        assert len(json.loads((tmp_path / "every-eval-ever").read_text(encoding="utf-8"))) == 7
        assert pq.read_table(tmp_path / "parquet").num_rows == 7

    def test_the_table_is_for_people(self, run_main: Run) -> None:
        code, out, err = run_main(
            main, "rank", "--benchmark", "dailybench", "--criterion", "concise and direct"
        )
        answer, why, _, heading, first, *_ = out.splitlines()

        assert (code, err) == (0, "")
        assert answer == "Best for you: brevia (extremely concise)."
        assert why.startswith("It wins ")
        assert "brevia (extremely concise) is 7th of 7 by default" in why
        assert heading.split()[:3] == ["rank", "±", "LLM"]
        assert "brevia (extremely concise)" in first
        assert "%" in first
        assert "522 queries, 7 LLMs against atlas, judged by embedded." in out
        assert "Your ranking" in out.splitlines()[-1]

    def test_names_are_printed_as_they_are(
        self, run_main: Run, oddly_named: Leaderboard, own_service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(
            URL_VARIABLE, own_service.database.engine.url.render_as_string(hide_password=False)
        )
        arguments = (
            "rank",
            "--benchmark",
            "tiny",
            "--crm",
            "longer",
            "--topic",
            "Cooking",
            "--topic",
            "Mail",
        )
        code, out, err = run_main(main, *arguments)

        assert code == 0
        assert err.startswith("note: This selection is too narrow to rank: it has 2 questions.")
        assert "<b>Zed</b> & [bold]sons[/bold]" in out
        assert "%{y} [/] one of a family of models, 1" in out
        [silent] = [line for line in out.splitlines() if "models, 2" in line]
        assert silent.startswith("Not compared: ")
        assert silent.endswith(" answered none of the 2 queries.")
        rows = rows_of(run_main(main, *arguments, "--format", "csv")[1])
        assert {row["llm"] for row in rows} == set(oddly_named.ranking.llms)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ["--benchmark", "absent"],
                "There is no benchmark 'absent'; known are 'alpaca-eval', 'dailybench', 'modern'.",
            ),
            (["--topic", "Short fictions", "--benchmark", "dailybench"], "did you mean 'Short fiction'"),
            (["--criterion", "x" * 301], "has 301 characters"),
            (["--criterion", " "], "A criterion is empty"),
            (["--avoid", "x" * 301], "has 301 characters"),
            (["--avoid", ""], "A criterion is empty"),
            (["--crm", "oracle"], "There is no CRM named 'oracle': choose one of embedded"),
            (["--benchmark", "alpaca-eval", "--crm", "longer"], "python -m precompute import alpaca-eval"),
            (["--format", "xml"], "'xml'"),
            (["--output", "ranking.txt"], "A table is only printed: choose another --format for a file."),
            (["--format", "csv", "--output", "absent/x.csv"], "Cannot write absent/x.csv (No such file"),
            (["--nonsense"], "--nonsense"),
        ],
    )
    def test_bad_input_is_one_line(self, run_main: Run, arguments: list[str], message: str) -> None:
        refused(run_main(main, "rank", *arguments), message)

    def test_parquet_is_not_printed_on_a_screen(self, run_main: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        refused(run_main(main, "rank", "--format", "parquet"), "Parquet cannot be read on a screen")
        refused(run_main(main, "rank", "--format", "png"), "A picture cannot be read on a screen")

    def test_a_picture_is_written_to_a_file(self, run_main: Run, tmp_path: Path) -> None:
        options = ("--benchmark", "dailybench", "--criterion", "Concise and direct", "--format", "png")
        code, out, _ = run_main(main, "rank", *options, "--output", tmp_path / "mine.png")
        assert (code, out) == (0, "")
        assert Image.open(tmp_path / "mine.png").size == (1200, 630)

    def test_too_many_criteria_are_one_line(self, run_main: Run) -> None:
        wishes = [word for number in range(201) for word in ("--criterion", f"wish {number}")]
        refused(run_main(main, "rank", *wishes), "There are 201 criteria")

    def test_a_database_that_cannot_be_opened_is_one_line(
        self, run_main: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("no database at all, but a text of some length" * 50)
        for url in ("nonsense", f"sqlite:///{tmp_path / 'file'}", f"sqlite:///{tmp_path / 'file' / 'below'}"):
            monkeypatch.setenv(URL_VARIABLE, url)
            refused(run_main(main, "rank"), "database")

    def test_topics_and_interests_are_weighted_as_on_the_page(self, run_main: Run, service: Service) -> None:
        options = ("--benchmark", "dailybench", "--topic-weight", "Poetry=3", "--interest", "short stories")
        code, out, err = run_main(main, "rank", *options, "--format", "json")
        view = View("dailybench", topic_weights=(TopicWeight("Poetry", 3),), interests=("short stories",))
        shown = service.leaderboard(view)

        assert (code, err) == (0, f"note: {shown.weighted}\n")
        assert [row["llm"] for row in json.loads(out)] == list(shown.ranking.llms)
        assert json.loads(out)[0]["n_effective"] == round(shown.n_effective, 1) < 200

    def test_who_is_under_the_floor_follows_apart(self, run_main: Run) -> None:
        options = ("rank", "--benchmark", "alpaca-eval", "--criterion", "Short answers", "--floor", "0.5")
        code, out, _ = run_main(main, *options)
        above, below = out.split("\n\nBelow the floor: they suit you, but most people prefer others:\n")

        assert code == 0
        assert len(above.split("\n\n")[1].splitlines()) == 1 + 24
        assert below.splitlines()[0].split() == ["would", "be", "LLM", "win", "rate"]
        assert len(below.split("\n\n")[0].splitlines()) == 1 + 23
        assert "47 LLMs against" in below
        rows = rows_of(run_main(main, *options, "--format", "csv")[1])
        assert [row["under_floor"] for row in rows] == ["no"] * 24 + ["yes"] * 23
        refused(run_main(main, *options[:-1], "1.5"), "The floor must be a number from 0 to less than 1")

    def test_what_is_missed_of_a_must_stands_beside_the_llm(self, run_main: Run) -> None:
        options = ("rank", "--benchmark", "dailybench", "--criterion", "concise and direct", "--must-have")
        out = run_main(main, *options)[1]
        rows = rows_of(run_main(main, *options, "--format", "csv")[1])

        assert [row["misses"] for row in rows] == [""] * 3 + ["concise and direct"] * 4
        assert out.count("misses") == 4
        assert "misses" not in run_main(main, *options[:-1])[1]

    def test_grades_are_those_of_the_page(self, run_main: Run, service: Service, tmp_path: Path) -> None:
        file, options = tmp_path / "g.csv", ("--criterion", "Warm", "--avoid", "Long answers")
        code, out, _ = run_main(main, "rank", "--benchmark", "dailybench", *options, "--grades", file)
        found = alignment(service, View("dailybench", criteria=CriteriaSet.of(["Warm"], ["Long answers"])))

        assert code == 0
        assert "Best for you" in out
        assert found is not None
        assert file.read_text(encoding="utf-8") == found.to_csv()

    def test_where_more_criteria_are_given_than_are_graded_that_is_noted(
        self, run_main: Run, tmp_path: Path
    ) -> None:
        wishes = [word for number in range(21) for word in ("--criterion", f"at most {number + 3} words")]
        command = ("rank", "--benchmark", "dailybench", *wishes, "--format", "csv")
        code, _, err = run_main(main, *command, "--grades", tmp_path / "g.csv")
        assert code == 0
        assert "note: Only the first 20 of 21 criteria are graded." in err.splitlines()
        assert len(rows_of((tmp_path / "g.csv").read_text())[0]) == 2 + 20

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ((), "Nothing can be graded, as there are no criteria: give another --criterion."),
            (("--criterion", "Written in Finnish"), "as the judge can judge none of your criteria"),
            (("--criterion", "Warm", "--grades", "absent/g.csv"), "Cannot write absent/g.csv: name a file"),
            (("--criterion", "Warm", "--grades", "."), "Cannot write .: name a file in a folder that exists"),
            (
                ("--criterion", "Warm", "--output", "g.csv", "--format", "csv"),
                "--output and --grades name the same file",
            ),
            (("--criterion-for", "Poetry=Warm", "--topic", "Short fiction"), "for a topic that you chose"),
            (("--criterion", "Warm", "--crm", "oracle"), "There is no CRM named 'oracle'"),
        ],
    )
    def test_grades_that_cannot_be_given_are_one_line(
        self, run_main: Run, options: tuple[str, ...], message: str
    ) -> None:
        refused(run_main(main, "rank", "--benchmark", "dailybench", "--grades", "g.csv", *options), message)
        assert not Path("g.csv").exists()

    def test_a_selection_too_narrow_to_rank_is_noted(self, run_main: Run) -> None:
        code, _, err = run_main(main, "rank", "--benchmark", "dailybench", "--topic", "Poetry")

        assert code == 0
        assert err.startswith("note: This selection is too narrow to rank: it has 6 questions.")


class TestSlowJudges:
    ARGUMENTS = ("rank", "--benchmark", "dailybench", "--crm", "slow", "--criterion", "concise and direct")

    @pytest.fixture
    def url(self, own_service: Service, run_main: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """The commands use a copy of the database."""
        url = own_service.database.engine.url.render_as_string(hide_password=False)
        monkeypatch.setenv(URL_VARIABLE, url)

    def test_it_blocks_until_the_ranking_is_complete(
        self, url: None, run_main: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judge = SlowCRM()
        register(monkeypatch, judge)
        code, out, err = run_main(main, *self.ARGUMENTS, "--format", "csv")

        assert (code, err) == (0, "")
        assert {row["n_queries"] for row in rows_of(out)} == {"522"}
        assert rows_of(out)[0]["llm"] == "scholia"
        assert len(judge.asked) == 522 * 7  # a file needs no comparison
        code, out, err = run_main(main, *self.ARGUMENTS)
        assert (code, err) == (0, "")
        assert "Your ranking is the same as the average ranking." in out
        assert len(judge.asked) == 2 * 522 * 7

    def test_progress_is_told_on_standard_error(
        self, url: None, run_main: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        register(monkeypatch, SlowCRM())
        monkeypatch.setattr(progress, "_LOG_SECONDS", 0.0)
        _, out, err = run_main(main, *self.ARGUMENTS, "--format", "csv")
        lines = err.splitlines()

        assert out.startswith("rank,llm")
        assert lines[0] == "Judging with slow: 0 %, 0 of 3,654 pairs"
        line = re.compile(
            r"Judging with slow: \d+ %, ([\d,]+) of 3,654 pairs(?: · about \d+ (?:s|min|h) left)?"
        )
        told = [line.fullmatch(each) for each in lines]
        judged = [int(found[1].replace(",", "")) for found in told if found]
        assert len(judged) == len(lines) > 2
        assert judged == sorted(judged)
        assert " left" in lines[-1]
        assert lines[-1].startswith("Judging with slow: 9")

    def test_an_interruption_keeps_what_is_judged(
        self, url: None, run_main: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Interrupted(SlowCRM):
            def judge(self, questions: Sequence[Question]) -> list[Verdict]:
                if len(self.asked) > 1000:
                    raise KeyboardInterrupt
                return super().judge(questions)

        register(monkeypatch, Interrupted())
        refused(
            run_main(main, *self.ARGUMENTS),
            "Stopped at 27 % of the pairs, which are kept: the same command continues there.",
        )
        judge = SlowCRM()
        register(monkeypatch, judge)
        assert run_main(main, *self.ARGUMENTS, "--format", "csv")[0] == 0
        assert len(judge.asked) == 522 * 7 - 1015

    def test_a_judge_that_fails_is_one_line(
        self, url: None, run_main: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judge = GatedCRM()
        judge.failure = UnavailableError("The server is down: start it.")
        judge.let(1)
        register(monkeypatch, judge)
        refused(run_main(main, *self.ARGUMENTS), "The server is down: start it.")

    def test_grades_by_criterion_are_given_here_and_now_and_once(
        self, url: None, own_service: Service, run_main: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        register(monkeypatch, judge := SlowCRM())
        monkeypatch.setattr(progress, "_LOG_SECONDS", 0.0)
        file, options = tmp_path / "grades.csv", ("--criterion", "warm", "--topic", "Puzzles & Logic")
        command = (*self.ARGUMENTS, *options, "--format", "csv", "--grades", file)
        code, out, err = run_main(main, *command)
        view = View(
            "dailybench", ("Puzzles & Logic",), CriteriaSet.of(["concise and direct", "warm"]), crm="slow"
        )
        found = alignment(own_service, view)

        assert code == 0
        assert out.startswith("rank,llm")
        assert "Grading by 2 criteria with slow: 0 %, 0 of 420 pairs" in err.splitlines()
        assert found is not None
        assert found.is_whole
        assert file.read_text(encoding="utf-8") == found.to_csv()
        assert rows_of(file.read_text())[0].keys() == {"llm", "pref_align", "concise and direct", "warm"}
        assert len(judge.asked) == 3 * 30 * 7  # the ranking, and each criterion
        assert run_main(main, *command)[2] == ""
        assert len(judge.asked) == 3 * 30 * 7

    def test_a_judge_that_fails_over_grades_is_one_line_and_what_it_graded_is_kept(
        self, url: None, run_main: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        class Failing(SlowCRM):
            def judge(self, questions: Sequence[Question]) -> list[Verdict]:
                if len(self.asked) > 400:
                    raise UnavailableError("The server is down: start it.")
                return super().judge(questions)

        command = (*self.ARGUMENTS, "--criterion", "warm", "--topic", "Puzzles & Logic", "--format", "csv")
        register(monkeypatch, Failing())
        refused(run_main(main, *command, "--grades", tmp_path / "x.csv"), "The server is down: start it.")
        assert not (tmp_path / "x.csv").exists()
        register(monkeypatch, judge := SlowCRM())
        assert run_main(main, *command, "--grades", tmp_path / "x.csv")[0] == 0
        assert 0 < len(judge.asked) < 3 * 30 * 7 - 400

    @pytest.mark.parametrize("style", ["table", "csv", "json"])
    def test_doubts_are_told_beside_the_ranking(
        self, url: None, run_main: Run, monkeypatch: pytest.MonkeyPatch, style: str
    ) -> None:
        register(monkeypatch, WarningCRM())
        arguments = ("--criterion", "of 1990", "--topic", "Puzzles & Logic", "--format", style)
        code, out, err = run_main(main, *self.ARGUMENTS, *arguments)

        assert code == 0
        assert "of 1990" not in out
        assert err == "note: “of 1990” is left out of this ranking. It tells no number from another.\n"
        kept = run_main(main, *self.ARGUMENTS, *arguments, "--keep-unjudged")
        assert kept[2] == "note: Do not rely on “of 1990” in this ranking. It tells no number from another.\n"

    def test_where_nothing_can_be_judged_the_ranking_is_the_default_one(
        self, url: None, run_main: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        register(monkeypatch, judge := WarningCRM())
        options = ("rank", "--benchmark", "dailybench", "--crm", "slow", "--topic", "Puzzles & Logic")
        crowd = run_main(main, *options, "--format", "csv")[1]
        n_asked = len(judge.asked)
        _, out, err = run_main(main, *options, "--criterion", "of 1990", "--format", "csv")

        assert out == crowd
        assert len(judge.asked) == n_asked
        assert err.endswith(
            "note: Your criterion is left out, so this is the ranking without criteria: "
            "what people prefer on average.\n"
        )


class TestCorrelate:
    @pytest.mark.parametrize(
        ("downstream", "published"),
        [
            ("best_of_n", {"ndcg": 0.9180, "rbo": 0.5732, "weighted_tau": 0.3409, "spearman": 0.2571}),
            ("ppo", {"ndcg": 0.9265, "rbo": 0.5732, "weighted_tau": 0.4793, "spearman": 0.3714}),
        ],
    )
    def test_json_has_the_numbers_of_personalized_rewardbench(
        self, run_main: Run, downstream: str, published: dict[str, float]
    ) -> None:
        accuracy, other = (
            GOLDEN / f"personalized_rewardbench_{name}.csv" for name in ("accuracy", downstream)
        )
        code, out, err = run_main(main, "correlate", accuracy, other, "--format", "json")
        found = json.loads(out)

        assert (code, err) == (0, "")
        assert {name: round(found[name], 4) for name in published} == published
        assert found["n"] == 6

    def test_the_table_has_the_tau_of_usl(self, run_main: Run) -> None:
        first, second, default = (GOLDEN / f"usl_table4_{name}.csv" for name in ("c1", "c2", "default"))

        code, out, err = run_main(main, "correlate", first, default)
        assert (code, err) == (0, "")
        assert "Kendall τ-b" in out
        assert " 0.43" in out
        n_llms = len((GOLDEN / "usl_table4_c1.csv").read_text().splitlines()) - 1
        assert f"(of at most {1 - 0.8**n_llms:.4f})" in out
        assert "-0.83" in run_main(main, "correlate", first, second)[1]

    def test_a_ranking_agrees_with_itself(self, run_main: Run, tmp_path: Path) -> None:
        path = tmp_path / "ranking.csv"
        path.write_text(run_main(main, "rank", "--benchmark", "dailybench", "--format", "csv")[1])
        found = json.loads(run_main(main, "correlate", path, path, "--format", "json")[1])

        assert (found["tau"], found["n"]) == (pytest.approx(1), 7)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("rank,llm\nfirst,a\n", "Row 2 has the rank “first”"),
            ("llm\na\n", "no column “rank”"),
            ("rank,llm\n1,stranger\n", "no LLM"),
        ],
    )
    def test_a_bad_file_is_one_line(self, run_main: Run, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "ranking.csv"
        path.write_text(text)
        refused(run_main(main, "correlate", path, GOLDEN / "usl_table4_c1.csv"), message)

    def test_an_absent_file_is_one_line(self, run_main: Run) -> None:
        refused(
            run_main(main, "correlate", "absent.csv", GOLDEN / "usl_table4_c1.csv"),
            "absent.csv cannot be read",
        )
        refused(run_main(main, "correlate", "absent.csv"), "B.csv")


def test_a_command_whose_code_is_loaded_late_is_guessed_at(run_main: Run) -> None:
    code, _, said = run_main(main, "critique")

    assert code == 2
    assert "Did you mean 'critiques'?" in said


def test_it_runs_as_a_module(bundled_file: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "leaderboard", "rank", "--topic", "Nonsense"],
        cwd=ROOT,
        env={**os.environ, URL_VARIABLE: f"sqlite:///{bundled_file}"},
        capture_output=True,
        text=True,
        check=False,
    )

    refused((ended.returncode, ended.stdout, ended.stderr), "There is no topic 'Nonsense'")


@pytest.mark.parametrize("named", ["dailybench", "nowhere"])
def test_the_benchmark_to_begin_with_can_be_chosen(bundled_file: Path, named: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "leaderboard", "rank", "--format", "csv"],
        cwd=ROOT,
        env={**os.environ, URL_VARIABLE: f"sqlite:///{bundled_file}", "USL_BENCHMARK": named},
        capture_output=True,
        text=True,
        check=False,
    )

    if named == "dailybench":
        assert {line.split(",")[1] for line in ended.stdout.splitlines()[1:]} >= {"brevia", "jester"}
    else:
        printed = ended.returncode, ended.stdout, ended.stderr
        refused(printed, "USL_BENCHMARK names the one to begin with")


def refused(ended: tuple[int, str, str], message: str) -> None:
    """The command ended with exit code 2 and one line on standard error."""
    code, out, err = ended
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
