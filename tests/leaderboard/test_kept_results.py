"""What a service keeps is bounded in bytes, however many people ask for whatever."""

from collections.abc import Iterator

import pytest

from crm.criteria import CriteriaSet
from crm.embedded.representation import NAME
from leaderboard import kept_results
from leaderboard.kept_results import KeptResults
from leaderboard.service import Service
from leaderboard.view import Against, View

SHARE = 128
WORDS = ("cats", "dogs", "maps", "music", "law", "food", "poems", "jokes", "costs", "risks", "sport", "rain")


@pytest.fixture
def small(own_service: Service) -> Iterator[Service]:
    """A service that keeps very little."""
    service = Service(own_service.database, share=SHARE)
    yield service
    service.close()


def test_however_much_is_asked_for_little_is_kept(small: Service) -> None:
    topics = [category.name for category in small.benchmark("dailybench").record.categories]
    for number, word in enumerate(WORDS):
        criteria = CriteriaSet.of([f"Mentions {word}"])
        view = View("dailybench", (topics[number % len(topics)],), criteria, must_have=True, floor=0.5)
        small.leaderboard(view)
        small.leaderboard(View("dailybench", criteria=criteria, against=Against.ALL))
    found = small.caches()

    bounds = {
        "default rankings": kept_results._DEFAULTS,
        "leaderboards": kept_results._LEADERBOARDS,
        "requirements": kept_results._MISSES,
    }
    for name, bound in bounds.items():
        assert found[name].size <= bound // SHARE, name
        assert found[name].misses > found[name].kept >= 1, name


def test_win_rates_are_counted_with_what_was_worked_out_of_them(own_service: Service) -> None:
    service = Service(own_service.database, share=32)
    bound = kept_results._ESTIMATES // 32
    for word in WORDS:
        service.leaderboard(
            View("dailybench", criteria=CriteriaSet.of([f"Mentions {word}"]), against=Against.ALL)
        )
    kept = [kept_results._own_bytes(found) for _, found in service._kept.estimates.items()]

    assert len(kept) > 1
    assert service.caches()["estimates"].size == sum(kept)
    assert sum(kept[:-1]) <= bound  # the last one has grown since it was kept
    service.close()


def test_of_benchmarks_only_the_one_in_use_is_kept_where_it_is_too_large(small: Service) -> None:
    for slug in ("alpaca-eval", "dailybench"):
        small.benchmark(slug).representation(NAME)
    assert small.caches()["benchmarks"].kept <= 2
    used = small.benchmark("dailybench")

    assert used.nbytes > kept_results._BENCHMARKS // SHARE
    assert small.benchmark("dailybench") is used
    figures = small.caches()["benchmarks"]
    assert (figures.kept, figures.size) == (1, used.nbytes)


def test_all_bundled_benchmarks_are_kept_beside_each_other(service: Service) -> None:
    together = 0
    for summary in service.benchmarks():
        arrays = service.benchmark(summary.slug).representation(NAME)
        together += sum(arrays[name].nbytes for name in arrays)
    assert together <= kept_results._BENCHMARKS


def test_a_session_keeps_a_share(service: Service) -> None:
    whole, part = KeptResults(), KeptResults(8)
    for name in ("defaults", "leaderboards", "missed", "derived", "estimates", "loaded"):
        assert getattr(part, name)._maxsize == getattr(whole, name)._maxsize // 8
