"""What a collection is said to cost before, what it costs, and a budget that ends it in time."""

import re
from collections.abc import Iterator

import pytest

from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings
from leaderboard.llm_facts.catalogue import Catalogue, Fact, LLMFacts, Price
from leaderboard.llm_facts.configured import has_price, with_prices
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples
from tests.precompute.collect.conftest import Lab

COST = (100 * 10 + 10 * 100) / 1e6
"""Of one answer of `samples.completion` at 10 and 100 for a million tokens."""
CATALOGUE = Catalogue.of([LLMFacts("gpt-x", "GPT-X", price=Fact(Price(2.0, 8.0), "its seller", "2026"))])


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(samples.KEY_VARIABLE, "a-key")
    yield


def row_of(printed: str, llm: str) -> list[str]:
    [row] = [line.split() for line in printed.splitlines() if line.split()[:1] == [llm]]
    return row


def test_a_dry_run_asks_nothing_and_the_second_estimate_is_what_is_spent(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("alpha", "beta", price_prompt=10, price_completion=100, max_tokens=50)
    code, out, _ = lab.run("--dry-run")
    assert (code, asked) == (0, [])
    assert row_of(out, "alpha")[1:3] == ["12", "0"]
    assert row_of(out, "alpha")[4:6] == ["600", "?"]  # 12 times the 50 that it may write at most
    assert row_of(out, "all")[1] == "24"
    assert lab.collected() == {}

    lab.run("--llm", "alpha", "--limit", "4")
    code, out, _ = lab.run("--dry-run", "--llm", "alpha")
    row = row_of(out, "alpha")
    assert row[1:3] == ["8", "4"]
    assert row[4] == "80"  # as the first four: 10 each
    before = sum(record.cost for record in lab.collected().values())
    lab.run("--llm", "alpha")
    spent = sum(record.cost for record in lab.collected().values()) - before
    assert spent == pytest.approx(8 * COST)
    assert len(asked) == 12
    assert row_of(lab.run("--dry-run", "--llm", "alpha")[1], "alpha")[1:3] == ["0", "12"]


def test_answers_of_another_benchmark_are_not_estimated_again(lab: Lab) -> None:
    lab.behave()
    lab.llms(price_prompt=10)
    lab.run()
    samples.store(lab.database, slug="other", n_queries=14)
    out = lab.run("--dry-run", "--benchmark", "other")[1]
    assert row_of(out, "alpha")[1:3] == ["2", "12"]


def test_a_budget_is_not_exceeded_and_the_rest_comes_with_the_next_run(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("alpha", price_completion=200, max_tokens=10, concurrency=3)
    code, _, err = lab.run("--budget", 5.5 * COST)
    assert code == 2
    assert re.search(
        r"alpha: \d+ were not asked for, as the next could exceed the budget of 0.011, of which", err
    )
    spent = sum(record.cost for record in lab.collected().values())
    assert spent == pytest.approx(5 * COST)
    first = list(asked)

    code, _, err = lab.run("--budget", 1)
    assert (code, err) == (0, "")
    assert len(asked) == len(set(asked)) == 12
    assert asked[: len(first)] == first


def test_all_llms_share_the_budget(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("alpha", "beta", price_completion=200, max_tokens=10)
    assert lab.run("--budget", 9.5 * COST)[0] == 2
    assert len(asked) == 9


def test_failed_attempts_count(lab: Lab) -> None:
    def broken(asked: str, model: str, before: int) -> Answer:
        return Answer(samples.completion(""))  # paid for, and empty

    asked = lab.behave(broken).asked
    lab.llms("alpha", price_completion=200, max_tokens=10, retries=1, concurrency=1)
    lab.run("--budget", 6 * COST)
    assert len(asked) == 6


def test_what_is_free_is_asked_on_any_budget(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("alpha")
    assert lab.run("--budget", 0)[0] == 0
    assert len(asked) == 12


def test_an_unknown_price_is_said_and_keeps_no_budget(lab: Lab) -> None:
    asked = lab.behave().asked
    lab.llms("alpha", api_key_env=samples.KEY_VARIABLE)
    assert row_of(lab.run("--dry-run")[1], "alpha")[-4:-2] == ["not", "known"]
    code, _, err = lab.run("--budget", 1)
    assert code == 2
    assert "The price of alpha is not known" in err
    assert asked == []


def test_prices_come_from_the_catalogue_where_a_table_has_none() -> None:
    keyed = {"model": "vendor/gpt-x", "api_key_env": "A_KEY"}
    bare, own, free, unknown = with_prices(
        [
            ConfiguredLLM("a", EndpointLLMSettings(**keyed)),
            ConfiguredLLM("b", EndpointLLMSettings(**keyed, price_prompt=1.0)),
            ConfiguredLLM("c", EndpointLLMSettings(model="gpt-x", url="http://127.0.0.1:8000/v1")),
            ConfiguredLLM("d", EndpointLLMSettings(**keyed | {"model": "another"})),
        ],
        CATALOGUE,
    )
    assert (bare.settings.price_prompt, bare.settings.price_completion) == (2.0, 8.0)
    assert (own.settings.price_prompt, own.settings.price_completion) == (1.0, 0.0)
    assert free.settings.cost(1000, 1000) == 0
    assert [has_price(llm) for llm in (bare, own, free, unknown)] == [True, True, True, False]
    assert bare.digest == ConfiguredLLM("a", EndpointLLMSettings(**keyed)).digest
