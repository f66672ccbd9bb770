from dataclasses import replace

import numpy as np
import pytest

from leaderboard.errors import LeaderboardError
from leaderboard.llm_facts.catalogue import Catalogue, Fact, LLMFacts, Price
from leaderboard.llm_facts.choosing import PER_MILLION, Choice, MonthlyUse, choose

USE = MonthlyUse.of_messages(300, 1_000, 500)


def priced(*prices: float | None, deprecated: str = "") -> Catalogue:
    """LLMs a, b, c, … at so many dollars for a million tokens read and twice as many for those written."""
    return Catalogue.of(
        LLMFacts(
            name,
            name.upper(),
            price=None
            if price is None
            else Fact(Price(price, 2 * price, None, name in deprecated), "us", day),
        )
        for name, price, day in zip("abcdefgh", prices, ["2026-02-02", *["2026-03"] * 7], strict=False)
    )


def chosen(catalogue: Catalogue, n_alike: int, n: int = 4) -> Choice:
    """The first ``n_alike`` cannot be told apart from the first, all other pairs can."""
    apart = ~np.eye(n, dtype=np.bool_)
    apart[:n_alike, :n_alike] = False
    return choose("abcdefgh"[:n], np.linspace(0.9, 0.5, n), apart[0], catalogue, apart=apart, use=USE)


def test_a_month_costs_what_its_tokens_cost() -> None:
    # 300,000 tokens at $2 and 150,000 at $8 for a million.
    assert USE.cost(Price(2.0, 8.0)) == pytest.approx(1.8)
    assert PER_MILLION.cost(Price(2.0, 8.0)) == pytest.approx(5.0)
    with pytest.raises(LeaderboardError, match="a number from 0 on"):
        MonthlyUse.of_messages(-1, 100, 100)
    with pytest.raises(LeaderboardError, match="a number from 0 on"):
        MonthlyUse(float("nan"), 100)


def test_the_cheapest_that_cannot_be_told_apart_is_named_with_place_and_cost() -> None:
    choice = chosen(priced(10, 5, 1, 0.1), n_alike=3)

    assert choice.cheapest_like_first is not None
    assert choice.cheapest_like_first.llm == "c"
    assert choice.sentence == (
        "C (place 3) costs least of those that may be as good as the first: $0.60 a month. "
        "The price of the first is $6.00."
    )
    assert choice.prices_date == "2026-02-02"
    assert [offer.on_frontier for offer in choice.offers] == [True, True, True, True]


def test_the_first_may_be_the_cheapest_itself_or_the_only_one() -> None:
    assert chosen(priced(1, 5, 2, 0.1), n_alike=3).sentence == (
        "A is itself the cheapest of those that may be as good: $0.60 a month."
    )
    assert chosen(priced(1, 5, 2, 0.1), n_alike=1).sentence == (
        "No other LLM is as good as A: it is clearly ahead of all."
    )


def test_one_llm_alone_is_not_ahead_of_others() -> None:
    choice = chosen(priced(1, 5, 2, 0.1), n_alike=1)

    assert replace(choice, offers=choice.offers[:1]).sentence is None


def test_unknown_prices_are_said_and_never_guessed() -> None:
    choice = chosen(priced(None, 5, None, 0.1), n_alike=3)

    assert choice.sentence == (
        "B (place 2) costs least of those that may be as good as the first: $3.00 a month. "
        "The price of the first is unknown. 1 more of these has no known price."
    )
    assert choice.unpriced == ("a", "c")
    assert [offer.cost is None for offer in choice.offers] == [True, False, True, False]
    assert chosen(priced(None, None, None, 0.1), n_alike=3).sentence is None


def test_another_that_its_seller_takes_off_is_passed_over() -> None:
    choice = chosen(priced(10, 5, 1, 0.1, deprecated="c"), n_alike=3)
    assert choice.cheapest_like_first is not None
    assert choice.cheapest_like_first.llm == "b"


def test_of_equally_cheap_ones_the_better_is_named() -> None:
    choice = chosen(priced(10, 1, 1, 0.1), n_alike=3)
    assert choice.cheapest_like_first is not None
    assert choice.cheapest_like_first.llm == "b"


def test_without_a_use_the_costs_are_for_a_million_tokens() -> None:
    choice = choose("ab", np.array([0.9, 0.8]), np.zeros(2, np.bool_), priced(10, 0.001))
    assert choice.sentence is not None
    assert choice.sentence.endswith("less than $0.01 for a million tokens. The price of the first is $15.00.")


def test_who_costs_more_and_is_surely_worse_is_beaten() -> None:
    choice = chosen(priced(1, 5, 0.5, 0.1), n_alike=1)
    assert [offer.surely_beaten for offer in choice.offers] == [False, True, False, False]
    assert [offer.on_frontier for offer in choice.offers] == [True, False, True, True]


def test_arrays_that_do_not_match_are_refused() -> None:
    with pytest.raises(LeaderboardError, match="Give 2 scores and 2 comparisons"):
        choose("ab", np.array([0.9]), np.zeros(2, np.bool_), priced(1, 1))


def test_llms_are_called_what_the_benchmark_calls_them_and_keep_their_places() -> None:
    titles, places = {"a": "First", "b": "Second"}, {"a": 3, "b": 17}
    choice = choose(
        "ab", np.array([0.9, 0.8]), np.zeros(2, np.bool_), priced(10, 1), titles=titles, places=places
    )
    assert choice.sentence is not None
    assert choice.sentence.startswith("Second (place 17) costs least")
