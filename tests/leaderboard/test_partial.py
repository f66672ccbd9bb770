"""LLMs of which something is missing: still to be embedded, or with answers to few of the queries."""

import json
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import pytest
from sqlalchemy import delete, select

from crm.embedded.representation import MISSING, NAME, Representation, representation
from crm.errors import RepresentationMissingError
from db.models import LLM
from db.models import Representation as StoredRepresentation
from db.records import LLMRecord, QuerySource
from db.repositories import benchmarks, contents, representations
from leaderboard.__main__ import main
from leaderboard.elicitation.session import candidate_pairs
from leaderboard.file_formats import FileFormat, file_of
from leaderboard.render.tables import not_compared_table, ranking_table
from leaderboard.robustness import assess_robustness
from leaderboard.service import Service
from leaderboard.user_data.session_benchmark import SessionService
from leaderboard.user_data.session_data import added_llms
from leaderboard.user_data.uploads import UploadedResponse
from leaderboard.view import Against, View
from precompute.importers import ImportedBenchmark, ImportedQuery
from precompute.load import import_benchmark
from tests.conftest import Run

SLUG = "dailybench"
NOT_READY = f"is not ready yet: “python -m precompute embed --benchmark {SLUG}” computes its representations"


def answers_of(service: Service, llm: str) -> dict[str, str]:
    with service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, SLUG)
        texts = contents.response_texts(session, benchmark, llm)
        queries = benchmarks.get_benchmark(session, benchmark).queries
    return {query.external_id: text for query, text in zip(queries, texts, strict=True) if text}


def add_llm(service: Service, name: str, answers: dict[str, str]) -> None:
    """Store an LLM with its responses, and no representation."""
    with service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, SLUG)
        contents.upsert_llms(session, benchmark, [LLMRecord(name, name.title())])
        contents.set_responses(session, benchmark, name, answers)


def as_if_embedded(service: Service, name: str, like: str = "brevia") -> None:
    """Store a representation of an LLM's responses that is another one's, where it has responses."""
    with service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, SLUG)
        arrays = representations.get_representation(session, benchmark, like, NAME)
        assert arrays is not None
        texts = contents.response_texts(session, benchmark, name)
        arrays["digest"][[text is None for text in texts]] = MISSING
        representations.put_representation(session, benchmark, name, NAME, arrays)


def forget_representations(service: Service, llms: Sequence[str]) -> None:
    with service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, SLUG)
        of_llms = select(LLM.id).where(LLM.benchmark_id == benchmark.id, LLM.name.in_(llms))
        session.execute(delete(StoredRepresentation).where(StoredRepresentation.llm_id.in_(of_llms)))
        contents.upsert_llms(session, benchmark, [])


class TestAnInterruptedImport:
    @pytest.fixture
    def before(self, own_service: Service) -> dict[str, int]:
        return own_service.leaderboard(View(SLUG)).ranking.ranks

    @pytest.fixture
    def interrupted(
        self, own_service: Service, before: dict[str, int], monkeypatch: pytest.MonkeyPatch
    ) -> Service:
        """DailyBench while “late” is imported: its responses are stored, and none is embedded."""

        def stop(*_: object) -> NoReturn:
            raise KeyboardInterrupt

        answers = answers_of(own_service, "brevia")
        with own_service.database.session() as session:
            benchmark = benchmarks.find_benchmark(session, SLUG)
            texts = contents.query_texts(session, benchmark, list(answers))
            info = benchmarks.get_benchmark(session, benchmark).info
        queries = tuple(
            ImportedQuery(text or "", external_id) for external_id, text in zip(answers, texts, strict=True)
        )
        responses = {"late": {row: f"{text} Indeed." for row, text in enumerate(answers.values())}}
        given = ImportedBenchmark(info, queries, (LLMRecord("late", "Late"),), responses, None)
        with monkeypatch.context() as patch:
            patch.setattr(Representation, "encode", stop)
            with pytest.raises(KeyboardInterrupt):
                import_benchmark(own_service.database, given)
        return own_service

    @pytest.mark.parametrize("against", list(Against))
    def test_the_others_are_ranked_as_before(self, interrupted: Service, against: Against) -> None:
        shown = interrupted.leaderboard(View(SLUG, against=against))

        assert "late" not in shown.ranking.ranks
        assert len(shown.ranking.ranks) == 7 + (against is Against.ALL)
        assert shown.not_compared == {"late": NOT_READY}
        assert "1 LLM is not compared" in shown.caveats
        assert assess_robustness(interrupted, shown.view) is not None

    def test_against_the_baseline_not_a_rank_changes(
        self, interrupted: Service, before: dict[str, int]
    ) -> None:
        assert interrupted.leaderboard(View(SLUG)).ranking.ranks == before

    def test_page_command_line_and_files_say_what_to_do(
        self, interrupted: Service, run_main: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shown = interrupted.leaderboard(View(SLUG))
        url = interrupted.database.engine.url.render_as_string(hide_password=False)
        monkeypatch.setenv("USL_DATABASE_URL", url)
        code, out, _ = run_main(main, "rank", "--benchmark", SLUG)
        rows = {row["llm"]: row for row in json.loads(file_of(shown, FileFormat.JSON))}
        csv = file_of(shown, FileFormat.CSV).decode().splitlines()

        assert code == 0
        assert f"Not compared: Late {NOT_READY}." in out
        assert 'data-llm="late"' not in ranking_table(shown, (), str, "#000")
        assert NOT_READY in not_compared_table(shown, str, "#000")
        assert rows["late"]["not_compared"] == NOT_READY
        assert rows["brevia"]["not_compared"] is None
        assert csv[0].endswith(",answered,not_compared")
        assert csv[-1].startswith(",late,,,,0,")

    def test_no_pair_is_shown_that_the_judge_cannot_compare(self, interrupted: Service) -> None:
        row = interrupted.benchmark(SLUG).respondents.index("late")
        assert not candidate_pairs(interrupted, SLUG, ()).allowed[row].any()

    def test_where_none_is_embedded_that_is_not_called_a_narrow_choice(self, own_service: Service) -> None:
        with own_service.database.session() as session:
            benchmark = benchmarks.find_benchmark(session, SLUG)
            for llm in own_service.benchmark(SLUG).llms:
                blank = representation().blank(522)
                representations.put_representation(session, benchmark, llm, NAME, blank)
        shown = own_service.leaderboard(View(SLUG))

        assert len(shown.not_compared) == 7
        assert shown.narrow == ""

    def test_once_embedded_it_is_ranked(self, interrupted: Service) -> None:
        as_if_embedded(interrupted, "late")
        shown = interrupted.leaderboard(View(SLUG))
        assert "late" in shown.ranking.ranks
        assert shown.not_compared == {}


def test_without_the_baselines_representation_or_with_no_other_nothing_can_be_ranked(
    own_service: Service,
) -> None:
    contenders = own_service.benchmark(SLUG).llms
    forget_representations(own_service, contenders[1:])
    assert set(own_service.leaderboard(View(SLUG)).ranking.ranks) == {contenders[0]}
    forget_representations(own_service, contenders)
    with pytest.raises(RepresentationMissingError, match="run “python -m precompute embed"):
        own_service.leaderboard(View(SLUG))


def test_without_the_baselines_representation_nothing_can_be_ranked(own_service: Service) -> None:
    forget_representations(own_service, ["atlas"])
    with pytest.raises(RepresentationMissingError, match=r"^atlas has no representation"):
        own_service.leaderboard(View(SLUG))


def test_queries_that_were_added_later_count_as_not_answered(own_service: Service) -> None:
    n_before = own_service.benchmark(SLUG).n_queries
    with own_service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, SLUG)
        record = benchmarks.get_benchmark(session, benchmark)
        query = record.queries[0]
        new = QuerySource("new", query.category, query.topic, "0" * 64, "And now?")
        contents.upsert_queries(session, benchmark, [new])
    shown = own_service.leaderboard(View(SLUG))
    assert shown.n_queries == n_before + 1
    assert set(shown.ranking.n_queries.tolist()) == {n_before}
    assert np.allclose(list(shown.answered.values()), n_before / (n_before + 1))


def test_an_llm_without_any_response_is_listed_apart(own_service: Service) -> None:
    add_llm(own_service, "mute", {})
    shown = own_service.leaderboard(View(SLUG))
    assert shown.not_compared == {"mute": "answered none of the 522 queries"}


class TestFewAnswers:
    """“late” answered what one category asks, 40 of the 522 queries, “half” every second query."""

    @pytest.fixture
    def partial(self, own_service: Service) -> Service:
        answers = answers_of(own_service, "brevia")
        add_llm(own_service, "late", dict(list(answers.items())[:40]))
        add_llm(own_service, "half", dict(list(answers.items())[::2]))
        as_if_embedded(own_service, "late")
        as_if_embedded(own_service, "half")
        return own_service

    def test_who_answered_less_than_half_of_the_queries_is_not_ranked(self, partial: Service) -> None:
        shown = partial.leaderboard(View(SLUG))

        assert "late" not in shown.ranking.ranks
        assert "half" in shown.ranking.ranks
        assert shown.not_compared == {
            "late": "answered only 40 of the 522 queries (8 %); ranked are LLMs from 50 % on"
        }
        assert shown.too_few == ("late",)
        certain = assess_robustness(partial, View(SLUG))
        assert certain is not None
        assert "late" not in certain.significance.llms

    def test_coverage_stands_beside_every_score(
        self, partial: Service, run_main: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shown = partial.leaderboard(View(SLUG))
        url = partial.database.engine.url.render_as_string(hide_password=False)
        monkeypatch.setenv("USL_DATABASE_URL", url)
        _, out, _ = run_main(main, "rank", "--benchmark", SLUG)
        rows = {row["llm"]: row for row in json.loads(file_of(shown, FileFormat.JSON))}

        assert (shown.coverage["half"], shown.coverage["brevia"]) == (0.5, 1.0)
        assert rows["half"]["answered"] == 0.5
        assert ">Answered<" in ranking_table(shown, (), str, "#000")
        assert "--keep-partial ranks LLMs that answered only a part, too." in out
        [half] = [line for line in out.splitlines() if " Half " in line]
        assert half.rstrip().endswith("50%")

    def test_a_switch_takes_them_in(self, partial: Service) -> None:
        shown = partial.leaderboard(View(SLUG, keep_partial=True))
        assert "late" in shown.ranking.ranks
        assert (shown.not_compared, shown.too_few) == ({}, ())
        assert shown.coverage["late"] == pytest.approx(40 / 522)

    def test_an_upload_of_a_few_answers_is_ranked_for_who_brought_it(self, service: Service) -> None:
        record = service.benchmark(SLUG).record
        rows = [UploadedResponse(1, "Yes.", id=record.queries[0].external_id)]
        own = SessionService(service, (added_llms(rows, record, "mine", "mine.csv"),))
        shown = own.leaderboard(View(SLUG))
        assert "mine" in shown.ranking.ranks
        assert shown.coverage["mine"] == pytest.approx(1 / 522)

    def test_in_duels_fewer_answers_are_enough(self, partial: Service) -> None:
        shown = partial.leaderboard(View(SLUG, against=Against.ALL))
        assert {"late", "half"} <= set(shown.ranking.ranks)

    def test_even_in_duels_a_twentieth_is_needed(self, partial: Service) -> None:
        add_llm(partial, "hasty", dict(list(answers_of(partial, "brevia").items())[::21]))
        as_if_embedded(partial, "hasty")
        shown = partial.leaderboard(View(SLUG, against=Against.ALL))
        kept = partial.leaderboard(View(SLUG, against=Against.ALL, keep_partial=True))
        assert shown.not_compared == {
            "hasty": "answered only 25 of the 522 queries (5 %); ranked are LLMs from 5 % on"
        }
        assert "hasty" in kept.ranking.ranks

    def test_a_judge_of_texts_ranks_the_same_ones(self, partial: Service) -> None:
        view = View(SLUG, crm="longer")
        partial.judge(view)
        shown = partial.leaderboard(view, subscriber=None)
        assert set(shown.not_compared) == {"late"}
        assert shown.coverage["half"] == 0.5

    def test_where_the_baseline_answered_few_that_is_no_ones_fault(self, own_service: Service) -> None:
        answers = answers_of(own_service, "brevia")
        add_llm(own_service, "trial", dict(list(answers.items())[:20]))
        as_if_embedded(own_service, "trial")
        with own_service.database.session() as session:
            benchmarks.set_baseline(session, benchmarks.find_benchmark(session, SLUG), "trial")
        shown = own_service.leaderboard(View(SLUG))
        assert len(shown.ranking.ranks) == 8
        assert {round(share, 6) for share in shown.coverage.values()} == {round(20 / 522, 6)}
