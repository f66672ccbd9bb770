"""What was collected for one benchmark is not asked for again for another one."""

import pytest

from crm.embedded.representation import NAME
from db.repositories import benchmarks, contents, representations
from db.source_records import AnswerStatus
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples
from tests.precompute.collect.conftest import Lab
from tests.precompute.collect.samples import completion, number_of, query

V2 = "mine-v2"


@pytest.fixture
def collected(lab: Lab) -> list[tuple[str, str]]:
    """What the endpoint was asked for when “mine” was collected."""
    asked = lab.behave().asked
    lab.llms("alpha", "beta", price_prompt=3)
    assert lab.run()[0] == 0
    assert len(asked) == 24
    return asked


def texts(lab: Lab, slug: str, llm: str) -> list[str | None]:
    with lab.database.session() as session:
        return contents.response_texts(session, benchmarks.find_benchmark(session, slug), llm)


def test_a_new_version_with_a_renamed_topic_asks_nothing(lab: Lab, collected: list[tuple[str, str]]) -> None:
    samples.store(lab.database, slug=V2, category="House")
    code, out, _ = lab.run("--benchmark", V2)

    assert (code, len(collected)) == (0, 24)
    assert "note: 12 responses of alpha were collected before and are taken over.\n" in out
    assert f"{V2}: representations: 0 computed, 36 already current.\n" in out
    assert texts(lab, V2, "beta") == texts(lab, samples.SLUG, "beta")
    again = samples.collected(lab.database, "alpha", V2)["q3"]
    assert (again.status, again.cost, again.attempts) == (AnswerStatus.OK, 0.0, 0)
    with lab.database.session() as session:
        for slug in (samples.SLUG, V2):
            benchmark = benchmarks.find_benchmark(session, slug)
            arrays = representations.get_representation(session, benchmark, "alpha", NAME)
            assert arrays is not None
            assert arrays["digest"].all()


def test_one_response_is_one(lab: Lab, collected: list[tuple[str, str]]) -> None:
    samples.store(lab.database, 1, slug=V2)
    _, out, _ = lab.run("--benchmark", V2)
    assert "note: 1 response of alpha was collected before and is taken over.\n" in out


def test_only_new_queries_are_asked(lab: Lab, collected: list[tuple[str, str]]) -> None:
    samples.store(lab.database, 15, slug=V2)
    assert lab.run("--benchmark", V2)[0] == 0
    assert sorted(number_of(text) for text, _ in collected[24:]) == [12, 12, 13, 13, 14, 14]
    assert texts(lab, V2, "alpha") == [f"alpha-model on: {query(n)}" for n in range(15)]


def test_other_settings_are_asked_anew(lab: Lab, collected: list[tuple[str, str]]) -> None:
    samples.store(lab.database, slug=V2)
    lab.llms("alpha", temperature=0.9)
    assert lab.run("--benchmark", V2)[0] == 0
    assert len(collected) == 36


def test_an_llm_of_another_name_is_another_one(lab: Lab, collected: list[tuple[str, str]]) -> None:
    samples.store(lab.database, slug=V2)
    lab.llms("gamma")
    assert lab.run("--benchmark", V2)[0] == 0
    assert len(collected) == 36


def test_of_several_samples_each_is_taken_over_by_its_number(lab: Lab) -> None:
    said = iter(range(100))
    lab.behave(lambda *_: Answer(completion(f"sample {next(said)}")))
    lab.llms()
    samples.store(lab.database, 4, slug="three", number_of=lambda n: n % 2)
    assert lab.run("--benchmark", "three")[0] == 0
    first = texts(lab, "three", "alpha")
    assert len(set(first)) == 4
    samples.store(lab.database, 6, slug=V2, number_of=lambda n: n % 2)
    assert lab.run("--benchmark", V2)[0] == 0
    assert texts(lab, V2, "alpha")[:4] == first
    assert len(set(texts(lab, V2, "alpha"))) == 6


def test_failures_are_asked_again(lab: Lab) -> None:
    lab.behave(
        lambda asked, model, _: Answer("oops", 503) if number_of(asked) == 4 else samples.answer(asked, model)
    )
    lab.llms(retries=0)
    lab.run()
    asked = lab.behave().asked
    samples.store(lab.database, slug=V2)
    assert lab.run("--benchmark", V2)[0] == 0
    assert [number_of(text) for text, _ in asked] == [4]
