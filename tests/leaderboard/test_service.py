import html
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from crm import registry
from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet
from crm.data.taxonomy import THEMES_FILE, CriterionThemes, Theme, ThemeCluster
from crm.errors import ConfigError, CRMError
from crm.protocol import JudgedBenchmark, ScoreBlock
from db.errors import DatabaseError, NotFoundError
from db.models import Benchmark
from db.records import LLMRecord, ScoreKey, StepCount
from db.repositories import benchmarks, contents, llm_answers, preferences, scores
from db.source_records import PreferenceSetInfo
from leaderboard.alignment import won_alone
from leaderboard.errors import LeaderboardError
from leaderboard.llm_facts.listing import Listing
from leaderboard.offers import contenders
from leaderboard.render.chart_style import DARK, LIGHT
from leaderboard.render.tables import themes_table
from leaderboard.render.topic_charts import theme_chart
from leaderboard.service import SHIPPED_THEMES, Service
from leaderboard.view import View
from tests.db import samples
from tests.judges import SlowCRM, register

CONCISE = CriteriaSet.of(["concise and direct"])
LLMS = {"brevia", "scholia", "stepwise", "lumen", "fabula", "verity", "jester"}


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[CriteriaSet]:
    """The criteria that the judge “longer” is asked to judge by, one entry a matrix."""
    asked: list[CriteriaSet] = []

    class Counting(LongerCRM):
        def score(self, criteria: CriteriaSet, benchmark: JudgedBenchmark) -> Iterator[ScoreBlock]:
            asked.append(criteria)
            yield from super().score(criteria, benchmark)

    register(monkeypatch, Counting())
    return asked


def test_the_bundled_benchmarks_are_there(service: Service) -> None:
    found = {summary.slug: summary for summary in service.benchmarks()}

    assert (found["dailybench"].n_queries, found["dailybench"].n_llms, found["dailybench"].has_texts) == (
        522,
        7,
        True,
    )
    assert (found["alpaca-eval"].n_queries, found["alpaca-eval"].has_texts) == (805, False)
    record = service.benchmark("dailybench").record
    assert len(record.categories) == 12
    assert sum(len(category.topics) for category in record.categories) == 87


class TestLeaderboard:
    def test_without_criteria_it_is_the_default_ranking(self, service: Service) -> None:
        shown = service.leaderboard(View("dailybench"))

        assert shown.ranking is shown.default
        assert set(shown.ranking.llms) == LLMS
        assert shown.changes.tolist() == [0] * 7
        assert shown.correlations.tau == pytest.approx(1)
        assert shown.summary == "Your ranking is the same as the average ranking."
        assert shown.n_queries == 522
        assert shown.titles["atlas"] == "atlas (balanced, neutral)"

    def test_changes_are_places_climbed_since_the_default_ranking(self, service: Service) -> None:
        shown = service.leaderboard(View("dailybench", criteria=CONCISE))
        default = service.leaderboard(View("dailybench")).ranking.ranks

        assert shown.default.ranks == default
        changes = dict(zip(shown.ranking.llms, shown.changes.tolist(), strict=True))
        assert changes == {llm: default[llm] - rank for llm, rank in shown.ranking.ranks.items()}
        assert changes["brevia"] > 0 > changes["scholia"]

    def test_only_the_selected_queries_count(self, service: Service) -> None:
        view = View("dailybench", ("Puzzles & Logic", "Short fiction"), CONCISE)
        shown = service.leaderboard(view)

        assert shown.n_queries == 36
        assert shown.ranking.n_queries.tolist() == [36] * 7
        assert shown.shown_categories == ("Creative Writing & Literature", "Puzzles & Logic")
        column = shown.ranking.category_names.index("Puzzles & Logic")
        of_category = service.leaderboard(View("dailybench", ("Puzzles & Logic",), CONCISE)).ranking
        by_llm = dict(zip(of_category.llms, of_category.win_rate, strict=True))
        np.testing.assert_allclose(
            shown.ranking.category_win_rate[:, column], [by_llm[llm] for llm in shown.ranking.llms]
        )

    def test_one_topic_is_ranked_with_a_caution(self, service: Service) -> None:
        shown = service.leaderboard(View("dailybench", ("Short fiction",), CONCISE))

        assert shown.n_queries == 6
        assert shown.summary.startswith("Judging by only 6 questions, your ranking ")

    def test_soft_win_rates_are_mean_probabilities(self, service: Service) -> None:
        hard, soft = (
            service.leaderboard(View("dailybench", criteria=CONCISE, soft=soft)) for soft in (False, True)
        )
        benchmark = service.benchmark("dailybench")
        matrix = service.score_matrix(benchmark, registry.get_crm(), CONCISE)
        row = benchmark.llms.index("brevia")

        assert soft.ranking.win_rate[soft.ranking.llms.index("brevia")] == pytest.approx(
            matrix[row].mean(), abs=1e-5
        )
        assert hard.ranking.win_rate[hard.ranking.llms.index("brevia")] == pytest.approx(
            (matrix[row] > 0.5).mean()
        )

    def test_equal_wishes_in_another_order_give_the_same_numbers(self, service: Service) -> None:
        one, other = (
            service.leaderboard(View("dailybench", criteria=CriteriaSet.of(wishes))).ranking
            for wishes in (["warm", "concise", "vivid"], ["vivid", "warm", "concise", "warm"])
        )

        assert one.llms == other.llms
        np.testing.assert_array_equal(one.win_rate, other.win_rate)
        np.testing.assert_array_equal(one.ci_low, other.ci_low)

    @pytest.mark.parametrize(
        ("view", "error", "message"),
        [
            (
                View("absent"),
                NotFoundError,
                "no benchmark 'absent'; known are 'alpaca-eval', 'dailybench', 'modern'",
            ),
            (View("dailybench", ("Short fictions",)), LeaderboardError, "did you mean 'Short fiction'"),
            (View("dailybench", crm="oracle"), ConfigError, "no CRM named 'oracle'"),
            (
                View("alpaca-eval", crm="longer"),
                CRMError,
                "“git clone .* --benchmark alpaca-eval .*” imports them",
            ),
        ],
    )
    def test_what_cannot_be_shown_is_refused(
        self, service: Service, view: View, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            service.leaderboard(view)


class TestStoredScores:
    def test_of_a_judge_that_reads_texts_are_computed_once(
        self, own_service: Service, judged: list[CriteriaSet]
    ) -> None:
        view = View("dailybench", criteria=CONCISE, crm="longer")
        own_service.judge(view)
        first = own_service.leaderboard(view).ranking
        assert judged == [CONCISE, CriteriaSet()]
        assert first.llms[0] == "scholia"
        assert first.llms[-1] == "brevia"

        # Another process reads what the first one stored.
        other = Service(own_service.database)
        other.judge(view)
        second = other.leaderboard(view).ranking
        assert len(judged) == 2
        assert second.llms == first.llms
        np.testing.assert_array_equal(second.win_rate, first.win_rate)
        with own_service.database.session() as session:
            stored = scores.get_scores(
                session,
                benchmarks.find_benchmark(session, "dailybench"),
                ScoreKey("longer", "1", CONCISE.key),
            )
        assert set(stored) == LLMS
        assert stored["brevia"].judged.all()

    def test_are_computed_anew_when_the_benchmark_changes(
        self, own_service: Service, judged: list[CriteriaSet]
    ) -> None:
        view = View("dailybench", crm="longer")
        before = own_service.leaderboard(view, patience=60).ranking
        queries = [query.external_id for query in own_service.benchmark("dailybench").record.queries]
        with own_service.database.session() as session:
            contents.set_responses(
                session,
                benchmarks.find_benchmark(session, "dailybench"),
                "brevia",
                dict.fromkeys(queries, "long " * 2000),
            )
        after = own_service.leaderboard(view, patience=60).ranking

        assert len(judged) == 2
        assert before.llms[-1] == after.llms[0] == "brevia"
        assert after.win_rate[0] == 1

    def test_what_changes_meanwhile_is_not_seen_at_one_moment(self, own_service: Service) -> None:
        def title() -> str:
            return own_service.benchmark("dailybench").record.info.title

        before = title()
        with own_service.at_one_moment():
            assert title() == before
            with own_service.database.session() as session:
                renamed = {"title": "Another title", "updated_at": datetime(2101, 1, 1, tzinfo=UTC)}
                session.execute(update(Benchmark).where(Benchmark.slug == "dailybench").values(renamed))
            assert title() == before
            with ThreadPoolExecutor(1) as thread:
                assert thread.submit(title).result() == "Another title"
        assert title() == "Another title"

    def test_of_the_embedded_judge_are_only_kept_in_memory(self, own_service: Service) -> None:
        own_service.leaderboard(View("dailybench", criteria=CONCISE))
        crm = registry.get_crm()
        with own_service.database.session() as session:
            key = ScoreKey(crm.name, crm.version, CONCISE.key)
            assert scores.get_scores(session, benchmarks.find_benchmark(session, "dailybench"), key) == {}

        benchmark = own_service.benchmark("dailybench")
        assert own_service.score_matrix(benchmark, crm, CONCISE) is own_service.score_matrix(
            benchmark, crm, CONCISE
        )

    def test_another_baseline_gives_another_leaderboard(self, own_service: Service) -> None:
        before = own_service.leaderboard(View("dailybench", criteria=CONCISE)).ranking
        with own_service.database.session() as session:
            benchmarks.set_baseline(session, benchmarks.find_benchmark(session, "dailybench"), "brevia")
        after = own_service.leaderboard(View("dailybench", criteria=CONCISE)).ranking

        assert "brevia" not in after.llms
        assert "atlas" in after.llms
        assert after.win_rate.max() < 0.1 < before.win_rate.max()


class TestDrillDown:
    def test_topics_add_up_to_the_selection(self, service: Service) -> None:
        view = View("dailybench", ("Puzzles & Logic", "Arts & Culture"), CONCISE)
        found = service.topic_scores(view, "verity")
        shown = service.leaderboard(view)

        assert sum(score.n_queries for score in found) == shown.n_queries == 72
        assert {score.category for score in found} == {"Puzzles & Logic", "Arts & Culture"}
        overall = sum(score.win_rate * score.n_queries for score in found) / 72
        assert overall == pytest.approx(shown.ranking.win_rate[shown.ranking.llms.index("verity")])
        assert [score.win_rate for score in found] == sorted(
            (score.win_rate for score in found), reverse=True
        )

    def test_queries_come_clearest_win_first(self, service: Service) -> None:
        view = View("dailybench", ("Short fiction",), CONCISE)
        found = service.query_scores(view, "verity")

        assert len(found) == 6
        assert {score.topic for score in found} == {"Short fiction"}
        assert [score.prob for score in found] == sorted((score.prob for score in found), reverse=True)

    def test_unanswered_queries_are_left_out(self, service: Service) -> None:
        assert len(service.query_scores(View("alpaca-eval"), "llama-2-70b-chat-hf")) == 804

    def test_passages_nearest_to_a_criterion_are_quoted_where_they_decide(self, service: Service) -> None:
        view = View("dailybench", criteria=CriteriaSet.of(["mentions the sea", "no emojis"]))
        report = service.pair_report(view, "fabula", "01-1")
        by_passages, counted = (verdict.nearest for verdict in report.verdicts)

        answers = (report.response, report.opponent_response)
        assert len(by_passages) == len(answers)
        for passage, answer in zip(by_passages, answers, strict=True):
            assert passage
            assert " ".join(passage.split()) in " ".join(str(answer).split())
        assert counted == (None, None)

    def test_no_passage_is_quoted_of_texts_that_are_not_stored(self, service: Service) -> None:
        view = View("alpaca-eval", criteria=CriteriaSet.of(["mentions the sea"]))
        query = service.query_scores(view, "gpt4")[0].query
        [verdict] = service.pair_report(view, "gpt4", query).verdicts

        assert verdict.nearest == (None, None)

    def test_a_pair_is_shown_with_a_verdict_a_criterion(self, service: Service) -> None:
        view = View("dailybench", criteria=CriteriaSet.of(["concise and direct"], ["numbered steps"]))
        report = service.pair_report(view, "stepwise", "01-1")
        score = next(score for score in service.query_scores(view, "stepwise") if score.query == "01-1")

        assert (report.query, report.topic) == ("01-1", "Short fiction")
        assert report.query_text == service.query_texts("dailybench")[0]
        assert report.response
        assert report.opponent_response
        assert report.response != report.opponent_response
        assert report.prob == score.prob
        assert [str(verdict.criterion) for verdict in report.verdicts] == [
            "concise and direct",
            "Avoid: numbered steps",
        ]
        assert all(verdict.prob < 0.5 and verdict.reasons for verdict in report.verdicts)

    def test_one_criterion_alone_is_the_whole_verdict(self, service: Service) -> None:
        for criteria in (CONCISE, CriteriaSet()):
            report = service.pair_report(View("dailybench", criteria=criteria), "verity", "05-2")
            [verdict] = report.verdicts

            assert verdict.criterion == (next(iter(criteria)) if criteria else None)
            assert verdict.prob == pytest.approx(report.prob, abs=1e-4)

    def test_a_benchmark_without_texts_has_verdicts_all_the_same(self, service: Service) -> None:
        query = service.benchmark("alpaca-eval").record.queries[0].external_id
        report = service.pair_report(View("alpaca-eval", criteria=CONCISE), "gpt4", query)

        assert (report.query_text, report.response, report.opponent_response) == (None, None, None)
        assert len(report.verdicts) == 1
        assert set(service.query_texts("alpaca-eval")) == {None}

    def test_an_unanswered_query_has_no_verdict(self, service: Service) -> None:
        view = View("alpaca-eval", criteria=CONCISE)
        answered = {score.query for score in service.query_scores(view, "llama-2-70b-chat-hf")}
        [unanswered] = {
            query.external_id for query in service.benchmark(view.benchmark).record.queries
        } - answered
        report = service.pair_report(view, "llama-2-70b-chat-hf", unanswered)

        assert np.isnan(report.prob)
        assert report.verdicts == ()

    def test_a_judge_without_reasons_gives_none(self, own_service: Service) -> None:
        view = View("dailybench", criteria=CONCISE, crm="longer")
        own_service.judge(view, compare=False)
        report = own_service.pair_report(view, "scholia", "01-1")

        assert report.prob > 0.5
        assert report.verdicts == ()

    def test_unknown_llms_and_queries_are_refused(self, service: Service) -> None:
        view = View("dailybench")
        for llm in ("absent", "atlas"):
            for ask in (service.topic_scores, service.query_scores):
                with pytest.raises(LeaderboardError, match=f"'{llm}' is not ranked in DailyBench"):
                    ask(view, llm)
        with pytest.raises(LeaderboardError, match="no query 'absent' in DailyBench"):
            service.pair_report(view, "jester", "absent")


def test_a_benchmark_of_ones_own_is_served_beside_the_bundled(own_service: Service) -> None:
    with own_service.database.session() as session:
        samples.store(session)
    shown = own_service.leaderboard(View(samples.SLUG, crm="longer"), patience=60)

    assert set(shown.ranking.llms) == {"alpha", "zeta"}
    assert shown.n_queries == 3
    assert own_service.leaderboard(View(samples.SLUG, ("Garden",), crm="longer")).n_queries == 1


def test_an_llm_imported_later_is_judged_alone(own_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = SlowCRM()
    register(monkeypatch, judge)
    view = View(samples.SLUG, crm="slow", keep_partial=True)
    with own_service.database.session() as session:
        samples.store(session)
    own_service.judge(view)
    assert len(judge.asked) == 6
    with own_service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, samples.SLUG)
        contents.upsert_llms(session, benchmark, [LLMRecord("new", "New")])
        contents.set_responses(session, benchmark, "new", {"q1": "a new answer that is longest"})
    shown = own_service.leaderboard(view, patience=60)

    assert len(judge.asked) == 7
    assert judge.asked[-1].pair.response_a == "a new answer that is longest"
    assert shown.ranking.llms[0] == "new"
    assert shown.ranking.n_queries.tolist() == [1, 3, 3]


ODD = CriterionThemes(
    "<b>odd</b>",
    2,
    3,
    (
        Theme(
            "<i>Tone</i>",
            ("tone",),
            30,
            (("warm & kind", 9), ("%{y}", 2)),
            ("<script>",),
            (ThemeCluster(("a",), 30),),
        ),
        Theme("Code", ("code",), 10, (), (), (ThemeCluster(("b", "c"), 7), ThemeCluster(("d",), 3))),
    ),
)


def test_a_bar_is_as_long_as_the_share_and_its_parts_are_the_clusters() -> None:
    figure = theme_chart(ODD, LIGHT)
    first, second = figure.data
    assert list(first.x) == [75.0]
    assert (list(second.base), list(second.x)) == ([0.0, 17.5], [17.5, 7.5])
    assert list(second.customdata[0]) == ["Code", "b, c", 7]
    assert figure.layout.xaxis.range[1] >= 75
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_names_are_shown_as_they_stand() -> None:
    first, second = theme_chart(ODD, DARK).layout.annotations
    assert first.text == "<b>&lt;i&gt;Tone&lt;/i&gt;</b>  75.0 %  <i>warm &amp; kind, &#37;{y}</i>"
    assert second.text == "<b>Code</b>  25.0 %"
    table = themes_table(ODD)
    assert html.escape("<i>Tone</i>") in table
    assert "&lt;script&gt;" in table
    assert "warm &amp; kind" in table
    assert "<i>" not in table


def test_a_line_has_as_many_adjectives_as_a_phone_has_room_for() -> None:
    shipped = CriterionThemes.load(THEMES_FILE)
    for theme, line in zip(shipped.themes, theme_chart(shipped, LIGHT).layout.annotations, strict=True):
        text = line.text.replace("<b>", "").replace("</b>", "").replace("<i>", "").replace("</i>", "")
        assert len(text) <= 66
        assert theme.adjectives[0][0] in text


def test_the_table_shows_adjectives_examples_and_counts() -> None:
    table = themes_table(CriterionThemes.load(THEMES_FILE), n_adjectives=2)
    assert table.count("<tr>") == 13
    assert table.count(" times") == 24
    assert "16.3 % · 8,451 criteria" in table


def test_themes_of_preference_data_come_after_the_shipped_ones(own_service: Service) -> None:
    assert list(own_service.criterion_themes()) == [SHIPPED_THEMES]
    with own_service.database.session() as session:
        info = PreferenceSetInfo("arena", "Arena", "file", "0" * 64, {}, (StepCount("rows", 0),))
        preferences.put_preference_set(session, info)
        llm_answers.put_themes(session, preferences.find_preference_set(session, "arena"), ODD.to_json())
    found = own_service.criterion_themes()
    assert (list(found), found["arena"]) == ([SHIPPED_THEMES, "arena"], ODD)
    with own_service.database.session() as session:
        llm_answers.put_themes(session, preferences.find_preference_set(session, "arena"), {"format": 99})
    with pytest.raises(CRMError, match="no themes of criteria"):
        own_service.criterion_themes()


def test_equal_views_of_different_people_are_computed_once(service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(["Mentions a lighthouse", "Warm"]))
    first = service.leaderboard(view)
    before = service.caches()
    listed = replace(view, listing=Listing(search="lumen"))
    second = service.leaderboard(listed, subscriber="somebody else")

    assert second.ranking is first.ranking
    assert (first.view, second.view) == (view, listed)
    after = service.caches()
    assert after["leaderboards"].misses == before["leaderboards"].misses
    assert after["margins"].misses + after["matrices"].misses == (
        before["margins"].misses + before["matrices"].misses
    )


def test_what_follows_from_a_ranking_rests_on_the_same_estimate(service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(["Mentions a harbour"]))
    service.leaderboard(view)
    before = service.caches()["estimates"].misses
    contenders(service, view)
    won_alone(service, view, view.criteria.criteria)

    assert service.caches()["estimates"].misses == before


def test_what_is_worked_out_of_a_ranking_is_worked_out_again_when_it_changes(service: Service) -> None:
    one, other = (
        service.leaderboard(View("dailybench", criteria=CriteriaSet.of([text]))) for text in ("Warm", "Terse")
    )
    worked_out = []
    for board in (one, other, one):
        service.derived(board, "what", lambda board=board: worked_out.append(board) or board)

    assert worked_out == [one, other]


class TestWhileTheDatabaseDoesNotAnswer:
    @pytest.fixture
    def away(self, filled_file: Path, tmp_path: Path) -> Iterator[tuple[Service, Path]]:
        """A service that has ranked DailyBench by a criterion, and the file of its database."""
        file = Path(shutil.copy(filled_file, tmp_path / "usl.sqlite3"))
        served = Service.open(f"sqlite:///{file}")
        served.leaderboard(View("dailybench", criteria=CriteriaSet.of(["Mentions a harbour"])))
        served.benchmarks()
        yield served, file
        served.close()

    def test_what_is_in_memory_is_ranked_on(self, away: tuple[Service, Path]) -> None:
        served, file = away
        listed = served.benchmarks()
        kept = file.read_bytes()
        served.database.close()
        file.write_bytes(b"no database at all" * 100)

        shown = served.leaderboard(View("dailybench", criteria=CriteriaSet.of(["Mentions a lighthouse"])))
        assert len(shown.ranking.llms) == 7
        assert served.benchmarks() == listed

        file.write_bytes(kept)
        served.database.close()
        assert served.leaderboard(View("alpaca-eval")).ranking.llms

    def test_the_last_state_is_ranked_on_also_where_the_clock_was_set_back(
        self, away: tuple[Service, Path]
    ) -> None:
        served, file = away
        with served.database.session() as session:
            session.execute(
                update(Benchmark)
                .where(Benchmark.slug == "dailybench")
                .values(updated_at=datetime(2001, 1, 1, tzinfo=UTC))
            )
        last = served.benchmark("dailybench")
        served.database.close()
        file.write_bytes(b"no database at all" * 100)

        assert served.benchmark("dailybench") is last

    def test_what_is_not_says_so_in_a_sentence(self, away: tuple[Service, Path]) -> None:
        served, file = away
        served.database.close()
        file.write_bytes(b"no database at all" * 100)

        with pytest.raises(DatabaseError, match=r"^The database cannot be used just now, the SQLite file"):
            served.leaderboard(View("alpaca-eval"))
