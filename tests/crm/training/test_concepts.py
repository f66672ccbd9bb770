import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crm.criteria import Criterion
from crm.embedded.concepts import ConceptClassifier
from crm.embedded.counts import count_names
from crm.errors import CRMError, UnavailableError
from crm.training.concepts import (
    ConceptName,
    ConceptOptions,
    TurnsOfPhrase,
    Wish,
    calibrated,
    concept_names,
    fit_network,
    read_concept_names,
    read_concept_wishes,
    read_turns,
    share_read_right,
    spelling_of,
    split_wishes,
)

TINY = ConceptOptions(rank=2, layers=1, word_size=8, epochs=6, batch=8, joined=0.0, named=0.1, seed=3)
TABLES = ("tables", "use tables", "a table, please", "put it in a table", "tabular form", "rows and columns")
WISHES = [
    *(Wish(text, "tables") for text in TABLES),
    *(Wish(f"no {text}", "tables", more=False) for text in TABLES),
    *(Wish(text, "funny") for text in ("funny", "make me laugh", "jokes", "humorous", "with wit", "a joke")),
    *(Wish(text, None) for text in ("names the rivers of Peru", "compares Kant and Hume", "oat milk only")),
]
_COMMON = {
    ("n", True): ["{}", "use {}"],
    ("n", False): ["no {}"],
    ("a", True): ["{}"],
    ("a", False): ["not {}"],
}
_RARE = {
    ("n", True): ["pile on the {}"],
    ("n", False): ["go easy on the {}"],
    ("a", True): ["very {}"],
    ("a", False): ["nothing {}"],
}
TURNS = TurnsOfPhrase([_COMMON, _RARE])
NAMES = [ConceptName("tables", "n", more=True, text="tables")]


def test_the_bundled_wishes_are_read() -> None:
    wishes, names = read_concept_wishes(), read_concept_names()
    concepts = concept_names(wishes)

    assert concepts[: len(count_names())] == count_names()
    assert len(set(concepts)) == len(concepts)
    assert {name.concept for name in names} <= set(concepts)
    signs = {(wish.concept, wish.more) for wish in wishes}
    assert all({(concept, True), (concept, False)} <= signs for concept in concepts)


def test_the_bundled_turns_have_a_place_for_a_name_and_go_both_ways() -> None:
    turns, draw = read_turns(), random.Random(0)
    for kind in "nav":
        drawn = [turns.one(kind, draw) for _ in range(400)]
        assert all(turn.count("{}") == 1 for turn, _ in drawn)
        assert len({turn for turn, _ in drawn}) > 150
        assert 150 < sum(asked for _, asked in drawn) < 250


def test_a_line_without_its_fields_is_refused(tmp_path: Path) -> None:
    (tmp_path / "style.tsv").write_text("funny\t+\tmake me laugh\nfunny make me laugh\n")
    with pytest.raises(CRMError, match=r"style.tsv, row 2: write concept, sign and text, with tabs between"):
        read_concept_wishes(tmp_path)
    (tmp_path / "style.tsv").write_text("")
    with pytest.raises(CRMError, match="has no wishes"):
        read_concept_wishes(tmp_path)


def test_a_name_makes_wishes_for_more_and_for_less() -> None:
    draw = random.Random(0)
    wishes = [ConceptName("funny", "a", more=False, text="solemn").wish(TURNS, draw) for _ in range(60)]

    assert {wish.concept for wish in wishes} == {"funny"}
    assert all("solemn" in wish.text for wish in wishes)
    assert {wish.more for wish in wishes} == {True, False}
    assert {wish.text: wish.more for wish in wishes} == {
        "solemn": False,
        "very solemn": False,
        "not solemn": True,
        "nothing solemn": True,
    }


def test_two_names_of_a_kind_make_one_wish_for_both() -> None:
    draw = random.Random(0)
    tables, solemn = (
        ConceptName("tables", "n", more=True, text="tables"),
        ConceptName("funny", "n", more=False, text="solemnity"),
    )
    made = dict(tables.wish_for_both(solemn, TURNS, draw) for _ in range(99))

    assert all("tables" in text and "solemnity" in text for text in made)
    assert all([wish.concept for wish in asked] == ["tables", "funny"] for asked in made.values())
    assert {(asked[0].more, asked[1].more) for asked in made.values()} == {(True, False), (False, True)}
    assert made["tables and solemnity"][0].more
    assert not next(asked for text, asked in made.items() if text.startswith("no tables"))[0].more


def test_a_small_classifier_learns_its_wishes_and_is_stored(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    names = concept_names(WISHES)
    fitted = fit_network(WISHES, NAMES, TURNS, TINY, lambda done, total: steps.append((done, total)))
    other = fit_network(WISHES, NAMES, TURNS, replace(TINY, queries=0, rarer=False))
    classifier = ConceptClassifier(
        names, [calibrated(each, WISHES, names) for each in (fitted, other)], spelling_of(WISHES)
    )

    assert steps[-1][0] == steps[-1][1]
    assert share_read_right(classifier, WISHES) > 0.8
    reading = classifier.read([Criterion("a table, please"), Criterion("no tables")]).prob
    tables = classifier.names.index("tables")
    more, less = reading[:, 2 * tables], reading[:, 2 * tables + 1]
    assert more[0] > less[0]
    assert less[1] > more[1]
    path = tmp_path / "concepts.npz"
    np.savez_compressed(path, **classifier.arrays())  # type: ignore[arg-type]
    stored, kept = (
        each.read([Criterion("use tables")]).prob for each in (ConceptClassifier.load(path), classifier)
    )
    np.testing.assert_allclose(stored, kept, atol=0.02)
    np.savez_compressed(path, **classifier.arrays() | {"names": np.array(["funny"])})  # type: ignore[arg-type]
    with pytest.raises(UnavailableError, match="fitted for other counts"):
        ConceptClassifier.load(path)


def test_wishes_are_kept_apart_by_chance_and_once() -> None:
    kept, used = split_wishes(WISHES, 0.25, seed=1)

    assert len(kept) == round(0.25 * len(WISHES))
    assert sorted(map(str, [*kept, *used])) == sorted(map(str, WISHES))
    assert split_wishes(WISHES, 0.25, seed=1)[0] == kept
    assert split_wishes(WISHES, 0.25, seed=2)[0] != kept
