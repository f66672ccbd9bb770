"""Uploads of one session, ranked with what is stored."""

import gc
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.embedded.representation import NAME
from db.repositories import contents
from db.repositories.benchmarks import find_benchmark
from leaderboard.errors import BusyError, LeaderboardError, UploadError
from leaderboard.render.tables import ranking_table
from leaderboard.service import Service
from leaderboard.statistics.style_control import Control
from leaderboard.user_data import session_data
from leaderboard.user_data.admin import import_material
from leaderboard.user_data.session_benchmark import SessionService
from leaderboard.user_data.session_data import SessionData, added_llms, check_room, own_benchmark
from leaderboard.user_data.uploads import UploadedResponse, read_responses
from leaderboard.view import View, read_topic_weights
from tests.db.samples import row_counts

SHORT = View("dailybench", ("Arts & Culture",), CriteriaSet.of(["Short answers"]))
HALF = read_topic_weights(["Arts & Culture=0.5"])
SOUPS = (
    UploadedResponse(1, "Tomato soup.", query="Which soup?", llm="alpha"),
    UploadedResponse(2, "Onion soup, hot and brown, with bread and cheese.", query="Which soup?", llm="beta"),
    UploadedResponse(3, "Rye.", query="Which bread?", llm="alpha"),
    UploadedResponse(4, "A sourdough loaf that was baked this morning.", query="Which bread?", llm="beta"),
)


def answers_of(service: Service, llm: str, topic: str = "Arts & Culture") -> list[UploadedResponse]:
    """What a stored LLM answered to the queries of a category, as an upload."""
    record = service.benchmark("dailybench").record
    with service.database.session() as session:
        responses = contents.response_texts(session, find_benchmark(session, "dailybench"), llm)
    rows = zip(record.queries, service.query_texts("dailybench"), responses, strict=True)
    return [
        UploadedResponse(row, response, query=query)
        for row, (item, query, response) in enumerate(rows, start=1)
        if item.category == topic and query and response
    ]


def added(service: Service, answers: Sequence[UploadedResponse], name: str = "mine") -> SessionData:
    return added_llms(answers, service.benchmark("dailybench").record, name, "a.csv")


def rates(service: Service, view: View) -> dict[str, float]:
    ranking = service.leaderboard(view).ranking
    return dict(zip(ranking.llms, ranking.win_rate.tolist(), strict=True))


def test_an_uploaded_llm_is_ranked_as_the_stored_one_with_the_same_responses(service: Service) -> None:
    with service.database.session() as session:
        before = row_counts(session)
    own = SessionService(service, (added(service, answers_of(service, "brevia")),))
    mine, alone = rates(own, SHORT), rates(service, SHORT)

    assert mine["mine"] == pytest.approx(alone["brevia"], abs=0.03)
    assert {llm: rate for llm, rate in mine.items() if llm != "mine"} == alone
    with service.database.session() as session:
        assert row_counts(session) == before


@pytest.mark.parametrize(
    ("view", "moved"),
    [
        pytest.param(replace(SHORT, control=Control.STYLE), 0.04, id="style control"),
        pytest.param(
            replace(SHORT, topic_weights=read_topic_weights(["Arts & Culture=2"])), 0.03, id="topic weights"
        ),
        pytest.param(replace(SHORT, interests=("paintings",)), 0.03, id="interests"),
        pytest.param(
            replace(SHORT, control=Control.LENGTH, interests=("paintings",)), 0.03, id="control and interests"
        ),
    ],
)
def test_an_uploaded_llm_is_weighed_and_controlled_like_the_others(
    service: Service, view: View, moved: float
) -> None:
    own = SessionService(service, (added(service, answers_of(service, "brevia")),))
    mine, alone = rates(own, view), rates(service, view)

    # The effects of a control are shared, so a second LLM of the same responses moves what both come to.
    assert mine["mine"] == pytest.approx(mine["brevia"], abs=0.03)
    others = alone.keys() - {"brevia"}
    assert {llm: mine[llm] for llm in others} == pytest.approx({llm: alone[llm] for llm in others}, abs=moved)


def test_a_sessions_representation_holds_stored_and_own_rows(service: Service) -> None:
    own = SessionService(service, (added(service, answers_of(service, "brevia")),)).benchmark("dailybench")
    stored, both = service.benchmark("dailybench").representation(NAME), own.representation(NAME)

    assert own.llms == (*service.benchmark("dailybench").llms, "mine")
    for name, array in stored.items():
        np.testing.assert_array_equal(both[name][:-2], array[:-1])
        np.testing.assert_array_equal(both[name][-1], array[-1])
    brevia = own.llms.index("brevia")
    answered = own.judgeable(NAME)[-1]
    assert answered.sum() == 42
    np.testing.assert_array_equal(both["digest"][-2][answered], both["digest"][brevia][answered])


def test_a_session_does_not_hold_the_largest_arrays_once_more(service: Service) -> None:
    own = SessionService(service, (added(service, answers_of(service, "brevia")),))
    rates(own, SHORT)
    benchmark = own.benchmark("dailybench")
    joined = benchmark.representation(NAME)
    held = benchmark.nbytes
    largest = ("features", "passages")
    stored = sum(joined[name].nbytes for name in largest)

    assert benchmark.nbytes == held < stored
    assert joined["digest"] is joined["digest"]
    assert joined["features"] is not joined["features"]


def test_the_table_says_whose_it_is_and_shows_names_as_text(service: Service) -> None:
    name = "<script>alert(1)</script>"
    own = SessionService(service, (added(service, answers_of(service, "brevia"), name),))
    leaderboard = own.leaderboard(SHORT)
    table = ranking_table(leaderboard, (), lambda _: "", "#000000")

    assert "&lt;script&gt;alert(1)&lt;/script&gt; (yours, this session)" in table
    assert "<script>" not in table
    assert "only this session has the responses" in leaderboard.caveats[0]


def test_queries_are_found_by_id_and_by_exact_text_and_others_are_reported(service: Service) -> None:
    record = service.benchmark("dailybench").record
    text = service.query_texts("dailybench")[1] or ""
    material = added(
        service,
        [
            UploadedResponse(1, "By id.", id=record.queries[0].external_id, query="quoted in another way"),
            UploadedResponse(2, "By text.", query=text),
            UploadedResponse(3, "Of nothing.", query=f"{text} "),
            UploadedResponse(4, "Of nothing.", id="nowhere"),
        ],
    )

    given = {record.queries[0].external_id: "By id.", record.queries[1].external_id: "By text."}
    assert material.responses == {"mine": given}
    assert material.queries == {record.queries[1].external_id: text}
    assert material.notices == (
        "2 responses were left out, to queries that are not here (row 3, 4).",
        "520 queries have no response; scores rest on the others.",
    )


def test_queries_whose_texts_are_not_stored_are_found_by_their_sha256(service: Service) -> None:
    record = service.benchmark("alpaca-eval").record
    query = record.queries[3]
    material = added_llms([UploadedResponse(2, "x", id=query.external_id)], record, "mine", "a.csv")
    own = SessionService(service, (material,))

    assert own.leaderboard(View("alpaca-eval")).ranking.llms[-1] in own.benchmark("alpaca-eval").llms
    assert own.benchmark("alpaca-eval").text_at("mine", 3) == "x"
    assert rates(own, View("alpaca-eval"))["mine"] in (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("answers", "name", "message"),
    [
        ([UploadedResponse(2, "x", query="What?")], "mine", "no row has the id or the exact text of a query"),
        (
            [UploadedResponse(2, "x", query="What?")],
            "",
            "row 2: there is no column 'llm', and no name is given",
        ),
        (
            [UploadedResponse(2, "x", query="What?", llm="BREVIA")],
            "",
            "row 2: 'BREVIA' is ranked here already",
        ),
    ],
)
def test_what_cannot_be_ranked_here_is_refused(
    service: Service, answers: list[UploadedResponse], name: str, message: str
) -> None:
    with pytest.raises(UploadError, match=message):
        added(service, answers, name)


def test_a_second_response_to_a_query_is_refused(service: Service) -> None:
    answers = answers_of(service, "brevia")[:1] * 2
    with pytest.raises(UploadError, match="a response to this query in a row before"):
        added(service, answers)


def test_own_queries_make_a_benchmark_of_the_session(service: Service) -> None:
    material = own_benchmark(SOUPS, "Soups", "", "soups.csv")
    own = SessionService(service, (material,))
    view = View(material.benchmark, criteria=CriteriaSet.of(["Detailed and vivid"]))
    leaderboard = own.leaderboard(view)

    assert [summary.title for summary in own.benchmarks()][-1] == "Soups (yours, this session)"
    assert leaderboard.ranking.llms == ("beta",)
    assert leaderboard.n_queries == 2
    assert leaderboard.opponent == "alpha"
    report = own.pair_report(view, "beta", leaderboard.benchmark.queries[0].external_id)
    assert (report.query_text, report.opponent_response) == ("Which soup?", "Tomato soup.")
    assert report.verdicts
    loaves = own.leaderboard(replace(view, interests=("baking bread",)))
    assert 1 < loaves.n_effective < 2
    assert material.benchmark not in {summary.slug for summary in service.benchmarks()}


@pytest.mark.parametrize(
    ("answers", "baseline", "message"),
    [
        (SOUPS[:1], "", "there is one LLM in it; two are needed"),
        (SOUPS, "gamma", "the baseline 'gamma' is none of its LLMs: alpha, beta"),
        ((*SOUPS, UploadedResponse(5, "x", id="q", llm="alpha")), "", "row 5: 'query' is empty"),
        ((*SOUPS, SOUPS[0]), "", "a response to this query in a row before"),
        (
            (UploadedResponse(1, "x", "q", "One?", "alpha"), UploadedResponse(2, "y", "q", "Two?", "beta")),
            "",
            "row 2: 'query' is another than in a row before",
        ),
    ],
)
def test_own_queries_that_cannot_be_ranked_are_refused(
    answers: tuple[UploadedResponse, ...], baseline: str, message: str
) -> None:
    with pytest.raises(UploadError, match=message):
        own_benchmark(answers, "", baseline, "a.csv")


def test_judges_that_store_verdicts_do_not_see_a_sessions_material(own_service: Service) -> None:
    soups = own_benchmark(SOUPS, "", "", "a.csv")
    own = SessionService(own_service, (added(own_service, answers_of(own_service, "brevia")), soups))
    view = View("dailybench", ("Arts & Culture",), crm="longer")
    own.judge(view)
    leaderboard = own.leaderboard(view)

    assert "mine" not in leaderboard.ranking.llms
    assert "not judged by longer" in leaderboard.caveats[-1]
    assert own.query_scores(view, "brevia")
    with pytest.raises(LeaderboardError, match="choose 'embedded'"):
        own.leaderboard(View(soups.benchmark, crm="longer"))


def test_a_session_holds_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    soups = own_benchmark(SOUPS, "", "", "a.csv")
    with pytest.raises(LeaderboardError, match="'alpha' is among your uploads already"):
        check_room([soups], soups)
    monkeypatch.setenv("USL_UPLOAD_RESPONSES", "7")
    check_room([], soups)
    with pytest.raises(LeaderboardError, match="up to 7 responses"):
        check_room([soups], own_benchmark(SOUPS, "", "beta", "a.csv"))
    monkeypatch.setenv("USL_UPLOAD_FILES", "1")
    with pytest.raises(LeaderboardError, match="up to 1 uploads"):
        check_room([soups], soups)


def test_a_session_brings_only_so_many_llms_and_all_sessions_so_many_responses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    soups, others = (own_benchmark(SOUPS, title, "", "a.csv") for title in ("one", "another"))
    monkeypatch.setenv("USL_UPLOAD_LLMS", "3")
    check_room([], soups)
    with pytest.raises(LeaderboardError, match="up to 3 LLMs of yours: remove an upload first"):
        check_room([soups], others)
    gc.collect()
    kept = sum(material.n_responses for material in session_data._kept)
    monkeypatch.setenv("USL_UPLOAD_RESPONSES_OF_ALL", str(kept + 7))
    check_room([], others)
    soups.encode(NAME)
    with pytest.raises(BusyError, match=f"up to {kept + 7:,} responses here, which are reached: try again"):
        check_room([], others)
    del soups  # as when a visitor has gone
    gc.collect()
    check_room([], others)


def test_progress_is_told_and_nothing_is_computed_twice() -> None:
    soups = own_benchmark(SOUPS, "", "", "a.csv")
    told: list[tuple[int, int]] = []
    soups.encode(NAME, lambda done, total: told.append((done, total)))
    assert told[-1] == (4, 4)
    soups.encode(NAME, lambda done, total: told.append((done, total)))
    assert told[-1] == (4, 4)
    assert len(told) <= 4


def test_an_upload_can_be_kept_for_everybody(own_service: Service) -> None:
    mine = added(own_service, answers_of(own_service, "brevia")[:3])
    said = import_material(own_service.database, mine, own_service.benchmark("dailybench"))
    assert "3 imported" in said
    assert "mine" in own_service.benchmark("dailybench").llms
    assert len(own_service.benchmark("dailybench").record.queries) == 522

    soups = own_benchmark(SOUPS, "Soups", "beta", "a.csv")
    own = SessionService(own_service, (soups,))
    import_material(own_service.database, soups, own.benchmark(soups.benchmark), "soups", title="Soups")
    assert own_service.leaderboard(View("soups")).ranking.llms == ("alpha",)
    assert own_service.benchmark("soups").record.info.title == "Soups"


def test_responses_to_queries_without_text_are_not_kept_for_everybody(own_service: Service) -> None:
    benchmark = own_service.benchmark("alpaca-eval")
    query = benchmark.record.queries[0].external_id
    mine = added_llms([UploadedResponse(2, "x", id=query)], benchmark.record, "mine", "a.csv")
    with pytest.raises(LeaderboardError, match="upload it with a column query"):
        import_material(own_service.database, mine, benchmark)


def test_a_file_in_the_form_of_the_downloaded_queries_is_understood(service: Service) -> None:
    record = service.benchmark("dailybench").record
    content = json.dumps({"id": record.queries[0].external_id, "query": "…", "response": "Yes."}).encode()
    assert added(service, read_responses(content, "a.jsonl")).n_responses == 1
