"""Criteria with a limit that ask for something else, too."""

import numpy as np
import pytest

from crm.criteria import CriteriaSet, Criterion
from crm.embedded.beside_limits import LimitsAndRest, limits_and_rest
from crm.embedded.concepts import concept_classifier
from crm.embedded.counts import count_names
from crm.embedded.model import embedded_crm


@pytest.mark.parametrize(
    ("criterion", "limit", "rest"),
    [
        ("a warm tone, in at most three sentences", "in at most three sentences", "a warm tone"),
        ("a warm tone in at most three sentences", "in at most three sentences", "a warm tone"),
        ("talks like a pirate but keeps it under a page", "under 500 words", "talks like a pirate"),
        ("max 150 words, no jargon", "max 150 words", "no jargon"),
        ("under 80 words. Warm.", "under 80 words", "Warm"),
        ("between 100 and 200 words: calm, unhurried", "between 100 and 200 words", "calm, unhurried"),
        ("three bullets (no bold), friendly", "three bullets", "no bold, friendly"),
        ("give me 5 options with pros and cons", "give me 5 options", "pros & cons"),
        ("explain like I'm five in exactly 3 sentences", "in exactly 3 sentences", "explain like I'm five"),
        ("≤ 100 words + uplifting", "at most 100 words", "uplifting"),
        ("kurz, höchstens drei Sätze, keine Emojis", "höchstens drei Sätze", "kurz, keine Emojis"),
    ],
)
def test_what_else_is_asked_for_is_read_apart_from_a_limit(criterion: str, limit: str, rest: str) -> None:
    assert limits_and_rest(criterion) == LimitsAndRest((limit,), rest)


@pytest.mark.parametrize(
    "criterion",
    [
        *("warm and funny", "no emojis, please", "two or three bullets", "between 100 and 200 words"),
        *("1,000 words at least", "at most 100 words please", "55 words tops – sorry to be a pain"),
        *("at most 100 words, because I read on the bus", "not a novel - 200 words tops"),
        "3 sentences please, thank you very much",
    ],
)
def test_nothing_is_beside_a_limit_but_reasons_and_manners(criterion: str) -> None:
    assert limits_and_rest(criterion) is None


@pytest.mark.parametrize(
    ("criterion", "limit"),
    [
        ("exactly three bullet points, each under ten words", "exactly three bullet points"),
        ("exactly 3 bullets, 10 words each", "exactly 3 bullets"),
        ("3 bullets max, 10 words per bullet", "3 bullets max"),
    ],
)
def test_how_long_each_of_what_is_counted_may_be_is_no_limit(criterion: str, limit: str) -> None:
    assert limits_and_rest(criterion) == LimitsAndRest((limit,), "")
    assert list(embedded_crm().limits(CriteriaSet.of([criterion]))) == [count_names().index("bullets")]


@pytest.mark.parametrize(
    ("criterion", "count", "high", "concept", "sign"),
    [
        ("funny but under 100 words", "words", 100, "funny", 1),
        ("max 150 words, no jargon", "words", 150, "technical_terms", -1),
        ("formal and no more than five bullets", "bullets", 5, "formal", 1),
        ("uses a table and stays under 200 words", "words", 200, "tables", 1),
        ("Under 180 words. Also I love a good metaphor.", "words", 180, "analogies", 1),
    ],
)
def test_both_count_alike(criterion: str, count: str, high: float, concept: str, sign: int) -> None:
    concepts = embedded_crm()._concepts
    assert concepts is not None

    [wanted] = concepts.read([Criterion(criterion)]).wanted
    limited = concepts.limited(CriteriaSet((Criterion(criterion),)))

    names = concept_classifier().names
    assert {column: (wish.limit.low, wish.limit.high) for column, wish in limited.items() if wish.limit} == {
        count_names().index(count): (None, high)
    }
    assert wanted[names.index(count)] == pytest.approx(0.5**0.5)
    assert 0.4 < sign * wanted[names.index(concept)] <= 0.5**0.5 + 1e-6


@pytest.mark.parametrize(
    ("criterion", "limits"),
    [
        ("warm, at least two sources, max 100 words", {"citations": (2, None), "words": (None, 100)}),
        ("at most 3 sentences and at least one joke", {"sentences": (None, 3)}),
        ("two examples and under 200 words", {"examples": (2, 2), "words": (None, 200)}),
        ("5 bullets, no more than 60 words in all", {"bullets": (5, 5), "words": (None, 60)}),
    ],
)
def test_several_limits_hold_together(
    criterion: str, limits: dict[str, tuple[float | None, float | None]]
) -> None:
    concepts = embedded_crm()._concepts
    assert concepts is not None

    found = concepts.limited(CriteriaSet((Criterion(criterion),)))

    read = {count_names()[column]: wish.limit for column, wish in found.items()}
    assert {name: limit and (limit.low, limit.high) for name, limit in read.items()} == limits


def test_a_limit_alone_stays_what_it_is() -> None:
    names = concept_classifier().names
    wanted = concept_classifier().read([Criterion("under 100 words"), Criterion("short, under 100 words")])

    assert (wanted.beside == -1).all()
    assert np.abs(wanted.wanted[:, names.index("words")]).min() > 0.8


def test_what_cannot_be_judged_beside_a_limit_does_not_count() -> None:
    crm = embedded_crm()
    both, alone = Criterion("cheap to run and under 100 words"), Criterion("under 100 words")

    assert crm.reliability(both).reading == crm.reliability(alone).reading == "at most 100 words"
    ordinary = crm._validity
    assert ordinary is not None
    one, other = crm._ordinary_margins(CriteriaSet((both, alone)), ordinary).T
    assert np.corrcoef(one, other)[0, 1] > 0.999


def test_a_reading_names_the_limit_and_what_is_beside_it() -> None:
    crm = embedded_crm()

    assert crm.reliability(Criterion("funny but under 100 words")).reading == "at most 100 words and funny"
    pirate = crm.reliability(Criterion("talks like a pirate but keeps it under a page")).reading
    assert pirate.endswith(" and at most 500 words")
    assert pirate.startswith("playful")
