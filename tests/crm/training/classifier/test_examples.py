import json
from dataclasses import replace
from pathlib import Path

import pytest

from crm.criteria import CriteriaSet
from crm.data.pairs import Direction, LabelledPair, both_directions
from crm.errors import CRMError
from crm.paths import PREFERENCES
from crm.protocol import Pair, Question, Verdict
from crm.training.classifier.examples import (
    FavouredSides,
    bare,
    by_pair,
    favoured_sides,
    hold_out,
    limited,
    of_direction,
    prepare,
    read_examples,
    statement_examples,
    without_criteria,
)
from crm.training.classifier.options import Options
from tests.crm.samples import KnownVerdicts
from tests.crm.training.classifier import samples
from tests.crm.training.classifier.samples import cat_examples, examples, training_lines


def test_training_data_is_read_without_its_ties(tmp_path: Path) -> None:
    read = read_examples(training_lines(tmp_path / "pairs.jsonl"), tmp_path)
    assert [item.label for item in read] == [1, -1] * 12
    assert read[0].pair == Pair("question 0", "a cat purring cats " * 3, "a dog barking dogs " * 3)
    assert str(read[0].criteria) == "cats; purring"
    assert not any(item.pair.query == "a tie" for item in read)


def test_training_data_may_have_pairs_without_criteria(tmp_path: Path) -> None:
    path = training_lines(tmp_path / "pairs.jsonl", 1)
    rows = [json.loads(line) | {"criteria": []} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = read_examples(path, tmp_path)

    assert [(item.label, item.criteria) for item in read] == [(1, CriteriaSet()), (-1, CriteriaSet())]


@pytest.mark.corpora
def test_annotations_give_both_directions_of_every_pair(corpora: Path) -> None:
    dev = read_examples(PREFERENCES, corpora, "dev")
    assert len(dev) == 2 * 182
    for first, second in zip(dev[::2], dev[1::2], strict=True):
        assert first.pair == second.pair
        assert (first.label, second.label) == (1, -1)
        assert (first.criteria, first.opposite) == (second.opposite, second.criteria)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "pairs.jsonl is empty"),
        (
            '{"idx": 1, "prompt": "q", "model_a": "a", "model_b": "b", "criteria": ["c"]}\n',
            "row 1: .*preference",
        ),
        (
            '{"idx": 1, "prompt": "q", "model_a": "a", "model_b": "b", '
            '"criteria": ["c"], "preference": "tie"}\n',
            "only ties",
        ),
    ],
)
def test_unusable_data_is_one_clear_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CRMError, match=message):
        read_examples(path, tmp_path)


def test_no_instruction_is_trained_on_and_held_out() -> None:
    train, held_out = hold_out(examples(30), 0.2, seed=1)
    assert len(held_out) == 12
    assert len(train) == 48
    assert not {item.instruction for item in train} & {item.instruction for item in held_out}
    assert hold_out(examples(30), 0.2, seed=1) == (train, held_out)
    assert hold_out(examples(30), 0.2, seed=2)[1] != held_out


def test_too_few_queries_are_one_clear_sentence() -> None:
    with pytest.raises(CRMError, match="only 3 different queries"):
        hold_out(examples(3), 0.1, seed=0)


def test_a_limit_draws_pairs_with_both_directions() -> None:
    every = examples(30)
    few = limited(every, 10, seed=3)
    assert len(few) == 2 * 10
    assert all(len(directions) == 2 for directions in by_pair(few))
    assert [every.index(item) for item in few] == sorted(every.index(item) for item in few)
    assert limited(every, None, seed=3) == every


def test_a_query_of_dev_must_not_be_trained_on() -> None:
    with pytest.raises(CRMError, match="1 queries are both trained and reported on"):
        prepare(examples(10), examples(1), Options())


def test_withheld_criteria_go_and_examples_without_others_with_them() -> None:
    left = without_criteria(examples(2), frozenset({"cats", "purring"}))
    assert [str(item.criteria) for item in left] == ["dogs; barking"] * 2
    assert not any(item.opposite for item in left)
    with pytest.raises(CRMError, match="held-out cluster"):
        without_criteria(examples(2)[:1], frozenset({"cats", "purring"}))


def test_a_pair_that_never_had_criteria_stays_when_some_are_withheld() -> None:
    preference = samples.without_criteria(1)
    assert without_criteria([*examples(1)[:1], *preference], frozenset({"cats", "purring"})) == preference


class LongerIsAverage(KnownVerdicts):
    def judge(self, questions: list[Question]) -> list[Verdict]:  # type: ignore[override]
        assert not any(question.criteria for question in questions)
        return [Verdict(float(len(q.pair.response_a) > len(q.pair.response_b)), ()) for q in questions]


def test_directions_are_those_of_average_preference_and_against_it() -> None:
    wish = CriteriaSet.of(["wish"])
    short_long = Pair("q", "short", "a long one")
    both = list(both_directions(short_long, (wish, wish), instruction="q"))
    sides = favoured_sides(both, LongerIsAverage())

    assert of_direction(both, Direction.PLUS, sides) == both[1:]
    assert of_direction(both, Direction.MINUS, sides) == both[:1]
    assert of_direction(both, Direction.BOTH, sides) == both
    with pytest.raises(CRMError, match="direction minus"):
        prepare(both[1:], [], Options(direction=Direction.MINUS), LongerIsAverage())


def _short_and_long(query: str, chosen: float = 0.0) -> list[LabelledPair]:
    wish = CriteriaSet.of(["wish"])
    pair = Pair(query, "short", "a long one")
    return list(both_directions(pair, (wish, wish), instruction=query, chosen=chosen))


def test_plus_is_what_people_chose_and_the_judge_is_asked_only_where_nobody_did() -> None:
    short, long, unknown = _short_and_long("1", 1.0), _short_and_long("2", -1.0), _short_and_long("3")
    every = [*short, *long, *unknown]
    alone, judged = favoured_sides(every), favoured_sides(every, LongerIsAverage())

    assert of_direction(every, Direction.PLUS, alone) == [short[0], long[1]]
    assert of_direction(every, Direction.MINUS, alone) == [short[1], long[0]]
    assert of_direction(every, Direction.PLUS, judged) == [short[0], long[1], unknown[1]]
    assert str(alone) == (
        "plus and minus: 2 pairs go by what people chose; "
        "1 are left out, as nobody chose: --general names a judge for them"
    )
    assert str(judged) == "plus and minus: 2 pairs go by what people chose, 1 by known 1"


def test_a_pair_is_one_whichever_response_comes_first() -> None:
    first, other = _short_and_long("1", 1.0)
    turned = [first, other.swapped()]
    nobody = [replace(item, chosen=0.0) for item in turned]

    assert of_direction(turned, Direction.PLUS, favoured_sides(turned)) == [first]
    assert of_direction(nobody, Direction.PLUS, favoured_sides(nobody, LongerIsAverage())) == nobody[1:]
    assert [favoured_sides(turned).chosen, favoured_sides(nobody).left_out] == [1, 1]


def test_a_preference_without_criteria_is_a_choice_and_most_choices_count() -> None:
    with_reasons = _short_and_long("1")
    preference = LabelledPair(Pair("1", "a long one", "short"), CriteriaSet(), -1.0)
    every = [*with_reasons, preference]
    assert of_direction(every, Direction.PLUS, favoured_sides(every)) == [with_reasons[0], preference]

    divided = [*every, replace(preference, label=1.0)]
    assert favoured_sides(divided).left_out == 1
    outvoted = [*divided, replace(preference, label=1.0)]
    assert of_direction(outvoted, Direction.MINUS, favoured_sides(outvoted)) == [with_reasons[0], preference]


def test_one_direction_by_peoples_choice_needs_no_judge() -> None:
    told = list[FavouredSides]()
    chosen = [item for i in range(10) for item in _short_and_long(str(i), 1.0 if i % 2 else -1.0)]
    every = [*chosen, *_short_and_long("nobody chose")]
    options = Options(direction=Direction.PLUS, held_out=0.2)
    made = prepare(every, [], options, on_favoured=told.append)

    assert {item.instruction: item.label for item in (*made.train, *made.held_out)} == {
        item.instruction: item.chosen for item in chosen
    }
    assert [(sides.chosen, sides.judged, sides.left_out) for sides in told] == [(10, 0, 1)]
    prepare(every, [], replace(options, direction=Direction.BOTH), on_favoured=told.append)
    assert len(told) == 1


def test_dev_of_which_nobody_chose_is_not_reported_on_where_criteria_are_left_out() -> None:
    chosen = [item for i in range(10) for item in _short_and_long(str(i), 1.0)]
    options = Options(direction=Direction.PLUS, skip_criteria=True, held_out=0.2)
    made = prepare(chosen, _short_and_long("dev"), options)
    assert (len(made.train) + len(made.held_out), made.dev) == (10, ())


def test_preferences_alone_are_one_example_a_pair() -> None:
    cats = cat_examples(3)
    turned = [replace(item, criteria=CriteriaSet.of(["soft"])).swapped() for item in cats[:1]]
    alone = bare([*cats, *turned])

    assert len(alone) == 3
    assert not any(item.criteria or item.opposite or item.extra for item in alone)
    with pytest.raises(CRMError, match=r"Of 2 pairs either response is preferred.*--direction plus"):
        bare([*examples(2), *cats])


def test_without_criteria_what_is_learnt_and_reported_on_is_what_average_preference_favours() -> None:
    options = Options(skip_criteria=True, direction=Direction.PLUS, held_out=0.2)
    every = examples(12)
    made = prepare(every[:20], every[20:], options, LongerIsAverage())

    assert [len(part) for part in (made.train, made.held_out, made.dev)] == [8, 2, 2]
    assert {(item.label, item.criteria) for part in vars(made).values() for item in part} == {
        (1.0 if len(every[0].pair.response_a) > len(every[0].pair.response_b) else -1.0, CriteriaSet())
    }
    with pytest.raises(CRMError, match="--direction plus"):
        prepare(every[:20], [], replace(options, direction=Direction.BOTH))


def test_statements_stand_for_the_responses_of_their_side() -> None:
    drawn = statement_examples(examples(5), seed=0)
    assert len(drawn) == 5 * 3 * 2
    of_cats = {"cats", "purring", "a cat"}
    for item in drawn:
        asked = next(iter(item.criteria)).text
        assert item.pair.response_a in of_cats
        assert item.pair.response_b in {"dogs", "barking"}
        assert (item.label > 0) == (asked in of_cats)
        assert asked not in (item.pair.response_a, item.pair.response_b)
    assert statement_examples(examples(5), seed=0) == drawn
    with pytest.raises(CRMError, match="two criteria for either response"):
        statement_examples(cat_examples(5), seed=0)
