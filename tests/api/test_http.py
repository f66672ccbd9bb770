"""The HTTP API gives the numbers of page and command line, and says what is wrong in a sentence."""

import csv
import io
import json
from threading import Event
from typing import Any

import pytest
from anyio import create_task_group, wait_all_tasks_blocked
from anyio.from_thread import start_blocking_portal
from starlette.requests import Request
from starlette.testclient import TestClient

from api.http import application
from api.limits import MAX_BODY, MAX_CRITERIA, MAX_PAIRS, MAX_TEXT, BusyError, Desk, client_of
from api.settings import Settings
from crm.cli import main as crm_main
from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.errors import UnavailableError
from leaderboard.__main__ import main
from leaderboard.errors import LeaderboardError
from leaderboard.file_formats import FileFormat, file_of
from leaderboard.llm_facts.listing import Listing
from leaderboard.ranked import rank_view
from leaderboard.service import Service
from leaderboard.statistics.style_control import Control
from leaderboard.view import TopicWeight, View
from tests.conftest import Run
from tests.judges import GatedCRM, register, wait_until

PAIR: dict[str, Any] = {
    "id": 7,
    "query": "How do I boil an egg?",
    "response_a": "Eight minutes in boiling water.",
    "response_b": "Eggs are wonderful! First, let us talk about what an egg is, and where it comes from. 🥚",
    "criteria": ["Concise", {"text": "emojis", "weight": "Optional", "polarity": "avoid"}],
}


@pytest.fixture(scope="module")
def client(service: Service) -> TestClient:
    return TestClient(application(lambda: service, Settings()), "http://testserver/")


def asked(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(path, params={name.replace("_", "-"): value for name, value in parameters.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


def error(answer: Any) -> tuple[int, str]:
    """Status and sentence of an answer that is nothing but a sentence."""
    assert list(answer.json()) == ["error"]
    sentence = answer.json()["error"]
    assert sentence.endswith(".") and "\n" not in sentence and "Traceback" not in sentence
    return answer.status_code, sentence


class TestRank:
    def test_a_link_to_the_page_is_a_request(self, client: TestClient, service: Service) -> None:
        view = View(
            "dailybench",
            ("Lifestyle & Hobbies", "Humor & Entertainment"),
            CriteriaSet((Criterion("Warm", Weight.IMPORTANT), Criterion("emojis", polarity=Polarity.AVOID))),
            soft=True,
            control=Control.LENGTH,
            topic_weights=(TopicWeight("Humor & Entertainment", 2.5),),
            interests=("planning trips",),
            floor=0.5,
            must_have=True,
            listing=Listing(search="e"),
        )
        shown = rank_view(service, view)
        answer = client.get(f"rank{view.to_link()}").json()

        rows = file_of(shown.listed.leaderboard, FileFormat.JSON, facts=shown.listed.facts)
        assert [
            {name: value for name, value in row.items() if name != "title"} for row in answer["ranking"]
        ] == json.loads(rows)
        assert answer["about"]["view"] == view.to_link()
        assert answer["answer"]["headline"] == shown.answer.headline
        assert answer["notes"] == list(shown.notes)

    def test_a_category_may_have_a_list_of_its_own(self, client: TestClient, service: Service) -> None:
        own = Criterion("Warm", only_for=("Gaming & Virtual Worlds", "Puzzles & Logic"))
        view = View("dailybench", criteria=CriteriaSet((Criterion("Short answers"), own)))
        answer = client.get(f"rank{view.to_link()}").json()

        ranked = service.leaderboard(view).ranking
        assert [row["llm"] for row in answer["ranking"]] == list(ranked.llms)
        assert answer["about"]["view"] == view.to_link()
        names = "for=Gaming+%26+Virtual+Worlds|" * 20
        assert "at most 340 characters" in error(client.get(f"rank?criterion={names}{'a' * 341}"))[1]

    @pytest.mark.parametrize("benchmark", ["dailybench", "modern"])
    def test_the_csv_is_that_of_the_command_line(
        self, client: TestClient, run_main: Run, benchmark: str
    ) -> None:
        options = ("--criterion", "Concise and direct", "--avoid", "marketing language", "--format", "csv")
        code, out, _ = run_main(main, "rank", "--benchmark", benchmark, *options)
        parameters = {"criterion": "Concise and direct", "avoid": "marketing language", "format": "csv"}
        answer = client.get("rank", params={"benchmark": benchmark, **parameters})

        assert code == 0
        assert answer.text == out
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"

    def test_the_full_csv_says_what_it_is_a_ranking_of(self, client: TestClient) -> None:
        answer = client.get("rank", params={"benchmark": "dailybench", "format": "csv-full"})
        [first, *_] = csv.DictReader(io.StringIO(answer.text))

        assert (first["benchmark"], first["judge"]) == ("dailybench", "embedded")

    def test_without_a_name_it_is_the_benchmark_of_the_page(
        self, client: TestClient, service: Service
    ) -> None:
        assert asked(client, "rank")["about"]["benchmark"] == service.first_benchmark()

    def test_filters_hide_llms_and_say_so(self, client: TestClient) -> None:
        everyone = asked(client, "rank", benchmark="modern")
        found = asked(client, "rank", benchmark="modern", open_weights=True, max_price=1.0)
        ranks = {row["llm"]: row["rank"] for row in everyone["ranking"]}

        assert 0 < len(found["ranking"]) < len(ranks)
        assert {row["llm"]: row["rank"] for row in found["ranking"]}.items() <= ranks.items()
        assert any("hidden" in note for note in found["notes"])

    def test_what_has_not_changed_is_not_sent_again(self, client: TestClient) -> None:
        parameters = {"benchmark": "dailybench", "criterion": "Funny"}
        mark = client.get("rank", params=parameters).headers["etag"]
        again = client.get("rank", params=parameters, headers={"If-None-Match": f'"other", {mark}'})
        other = client.get("rank", params={**parameters, "soft": True}, headers={"If-None-Match": mark})

        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", mark)
        assert other.status_code == 200

    @pytest.mark.parametrize(
        ("query", "status", "said"),
        [
            ("benchmark=nope", 404, "There is no benchmark 'nope'"),
            ("topic=Cookin", 422, "There is no topic 'Cookin'"),
            ("crm=nope", 422, "There is no CRM named 'nope'"),
            ("floor=1", 422, "“floor”: input should be less than 1"),
            ("max-price=nan", 422, "“max-price”: input should be a finite number"),
            ("topic-weight=twice", 422, "write NAME=NUMBER"),
            ("sort=beauty", 422, "Rows cannot be sorted by 'beauty'"),
            ("organisation=Nobody", 422, "No LLM by 'Nobody' is known"),
            ("released-since=soon", 422, "The date 'soon'"),
            ("tokens-read=5", 422, "say how many messages a day"),
            ("criterion=%07", 422, "A criterion is empty"),
            (f"criterion={'a' * 301}", 422, "has 301 characters"),
            (f"criterion={'a' * 9_000}", 422, "at most 340 characters"),
            ("&".join(["criterion=a"] * (MAX_CRITERIA + 1)), 422, f"at most {MAX_CRITERIA} items"),
            ("criteria=Concise", 422, "“criteria” is nothing that can be asked for"),
            ("format=xml", 422, "“format”"),
            ("control=weight", 422, "“control”"),
        ],
    )
    def test_what_cannot_be_is_said_in_a_sentence(
        self, client: TestClient, query: str, status: int, said: str
    ) -> None:
        found = error(client.get(f"rank?{query}"))

        assert found[0] == status
        assert said in found[1]


class TestSlowJudge:
    QUERY = "rank?benchmark=dailybench&criterion=Concise&crm=slow"

    @pytest.fixture
    def judge(self, own_service: Service, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setattr("api.http.PATIENCE", 0.0)
        gated = GatedCRM()
        register(monkeypatch, gated)
        yield gated
        gated.let(10_000)
        own_service.close()

    def test_is_asked_again_until_it_has_finished(self, own_service: Service, judge: GatedCRM) -> None:
        client = TestClient(application(lambda: own_service, Settings()), "http://testserver/")
        first = client.get(self.QUERY)
        judge.let(10_000)
        place = first.headers["location"]
        wait_until(lambda: client.get(place).status_code == 200, 60)
        finished = client.get(place).json()

        assert first.status_code == 202
        assert place == first.json()["ask"] == f"/{self.QUERY}"
        assert first.headers["retry-after"].isdigit()
        assert first.json()["progress"] | {"seconds_left": None} == {
            "state": first.json()["progress"]["state"],
            "pairs_done": 0,
            "pairs_all": 522 * 7,
            "seconds_left": None,
        }
        assert "answer" not in first.json() or first.json()["answer"] is None
        assert {row["rank"] for row in first.json()["ranking"]} == {None}
        assert [row["rank"] for row in finished["ranking"]][:1] == [1]
        assert "progress" not in finished or finished["progress"] is None

    def test_its_failure_is_a_sentence(self, own_service: Service, judge: GatedCRM) -> None:
        client = TestClient(application(lambda: own_service, Settings()), "http://testserver/")
        judge.failure = UnavailableError("The judge's server does not answer: start it.")
        judge.let(10)
        client.get(self.QUERY)
        wait_until(lambda: client.get(self.QUERY).status_code == 503)

        assert error(client.get(self.QUERY)) == (503, "The judge's server does not answer: start it.")

    def test_one_client_leaves_room_for_others(
        self, own_service: Service, judge: GatedCRM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("USL_JUDGING_OF_CLIENT", "3")
        service = Service(own_service.database)
        app = application(lambda: service, Settings())
        one, other = (
            TestClient(app, "http://testserver/", client=(host, 1)) for host in ("2001:db8::1", "192.0.2.1")
        )
        same_network = TestClient(app, "http://testserver/", client=("2001:db8::2", 1))
        asked_for = [f"rank?benchmark=dailybench&criterion={text}&crm=slow" for text in "abcd"]
        found = [one.get(query) for query in asked_for]

        assert [answer.status_code for answer in found] == [202, 202, 202, 429]
        assert error(found[-1])[1].startswith("3 rankings that you asked for are at work or wait")
        assert found[-1].headers["retry-after"].isdigit()
        assert one.get(asked_for[0]).status_code == 202
        assert same_network.get(asked_for[3]).status_code == 429
        assert other.get(asked_for[3]).status_code == 202
        judge.let(10_000)
        service.close()


class TestLists:
    def test_benchmarks(self, client: TestClient, service: Service) -> None:
        found = asked(client, "benchmarks")["benchmarks"]

        assert {item["slug"]: item["n_llms"] for item in found} == {
            summary.slug: summary.n_llms for summary in service.benchmarks()
        }
        assert [item["slug"] for item in found if item["first"]] == [service.first_benchmark()]

    def test_every_topic_can_be_asked_for(self, client: TestClient) -> None:
        categories = asked(client, "topics", benchmark="dailybench")["categories"]
        names = [topic["name"] for category in categories for topic in category["topics"]]
        asked(client, "rank", benchmark="dailybench", topic=names[::9])

        assert sum(category["n_queries"] for category in categories) == 522
        assert len(names) == 87

    def test_llms_come_with_their_facts(self, client: TestClient, service: Service) -> None:
        found = {llm["name"]: llm for llm in asked(client, "llms", benchmark="modern")["llms"]}

        assert set(found) == {llm.name for llm in service.benchmark("modern").record.llms}
        assert any("price" in llm["facts"] and "source" in llm["facts"]["price"] for llm in found.values())
        assert [
            llm["name"] for llm in asked(client, "llms", benchmark="dailybench")["llms"] if llm["is_baseline"]
        ] == ["atlas"]

    @pytest.mark.parametrize("path", ["topics", "llms"])
    def test_of_no_benchmark_there_are_none(self, client: TestClient, path: str) -> None:
        assert error(client.get(path, params={"benchmark": "nope"}))[0] == 404


class TestScore:
    def test_verdicts_are_those_of_the_command_line(
        self, client: TestClient, run_main: Run, tmp_path: Any
    ) -> None:
        (tmp_path / "in.jsonl").write_text(json.dumps(PAIR) + "\n", encoding="utf-8")
        code, _, _ = run_main(crm_main, "score", tmp_path / "in.jsonl", tmp_path / "out.jsonl")
        found = client.post("score", json={"pairs": [PAIR]}).json()

        assert code == 0
        assert found["crm"] == "embedded"
        assert found["verdicts"] == [json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"query": None}, "“pairs.0.query”: input should be a valid string"),
            ({"response_a": "a" * (MAX_TEXT + 1)}, f"at most {MAX_TEXT} characters"),
            ({"criteria": [" "]}, "A criterion is empty"),
            ({"criteria": [{"text": "a", "weight": "huge"}]}, "weight"),
            ({"note": "?"}, "“pairs.0.note” is nothing that can be asked for"),
        ],
    )
    def test_a_pair_that_is_none(self, client: TestClient, change: dict[str, Any], said: str) -> None:
        status, sentence = error(client.post("score", json={"pairs": [PAIR | change]}))

        assert status == 422
        assert said in sentence

    def test_no_more_pairs_than_are_scored_at_once(self, client: TestClient) -> None:
        assert error(client.post("score", json={"pairs": [PAIR] * (MAX_PAIRS + 1)}))[0] == 422
        assert error(client.post("score", json={"pairs": []}))[0] == 422

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b"[" * 100_000, 400),
            (b'{"pairs": ' + b"9" * 400 + b"}", 400),
            (b'{"pairs": NaN}', 400),
            (b"\xff", 400),
            (b"", 422),
            (b" " * (MAX_BODY + 1), 413),
        ],
    )
    def test_a_body_that_is_none(self, client: TestClient, body: bytes, status: int) -> None:
        answer = client.post("score", content=body, headers={"Content-Type": "application/json"})

        assert error(answer)[0] == status

    def test_only_judges_that_the_server_lets_programs_ask(self, client: TestClient) -> None:
        status, sentence = error(client.post("score", json={"crm": "smollm2", "pairs": [PAIR]}))

        assert status == 422
        assert "choose among embedded, longer, cosine" in sentence


class TestServer:
    def test_nothing_else_is_there(self, client: TestClient) -> None:
        assert error(client.get("nowhere"))[0] == 404
        assert error(client.put("rank"))[0] == 405
        assert error(client.get("docs"))[0] == 404

    def test_what_fails_unexpectedly_is_a_sentence_without_its_words(self) -> None:
        def broken() -> Service:
            raise RuntimeError("secret")

        client = TestClient(
            application(broken, Settings()), "http://testserver/", raise_server_exceptions=False
        )
        status, sentence = error(client.get("benchmarks"))

        assert status == 500
        assert "RuntimeError" in sentence and "secret" not in sentence

    def test_pages_of_others_may_ask_only_where_the_server_says_so(self, service: Service) -> None:
        origin = {"Origin": "https://example.org"}
        closed = TestClient(application(lambda: service, Settings()), "http://testserver/")
        opened = TestClient(
            application(lambda: service, Settings(origins=("https://example.org",))), "http://testserver/"
        )

        assert "access-control-allow-origin" not in closed.get("benchmarks", headers=origin).headers
        allowed = opened.get("benchmarks", headers=origin).headers["access-control-allow-origin"]
        assert allowed == "https://example.org"
        other = opened.get("benchmarks", headers={"Origin": "https://example.com"}).headers
        assert "access-control-allow-origin" not in other

    @pytest.mark.parametrize("name", ["USL_API"])
    def test_settings_are_read_from_the_environment(self, name: str) -> None:
        found = Settings.from_environment(
            {
                name: "Off",
                "USL_CORS_ORIGINS": "https://a.org, https://b.org",
                "USL_API_JUDGES": "mine",
                "USL_METRICS": "on",
            }
        )

        assert found == Settings(
            api=False, origins=("https://a.org", "https://b.org"), judges=("mine",), metrics=True
        )
        assert Settings.from_environment({}) == Settings()
        assert Settings.from_environment({name: "", "USL_API_JUDGES": " , "}) == Settings()
        with pytest.raises(LeaderboardError, match="write on or off"):
            Settings.from_environment({name: "perhaps"})

    @pytest.mark.parametrize(
        ("host", "client"),
        [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
            ("/run/usl.sock", "/run/usl.sock"),
            (None, ""),
        ],
    )
    def test_a_client_is_told_by_its_address(self, host: str | None, client: str) -> None:
        scope = {"type": "http", "client": None if host is None else (host, 1)}
        assert client_of(Request(scope)) == client

    def test_more_than_can_wait_are_sent_away(self) -> None:
        desk, over = Desk(at_once=1, most_waiting=1), Event()

        async def crowd() -> None:
            async with create_task_group() as group:
                group.start_soon(desk.do, over.wait)
                group.start_soon(desk.do, over.wait)
                await wait_all_tasks_blocked()
                try:
                    with pytest.raises(BusyError, match="ask again in 5 seconds"):
                        await desk.do(over.wait)
                finally:
                    over.set()

        with start_blocking_portal() as portal:
            portal.call(crowd)
