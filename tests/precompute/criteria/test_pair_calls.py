"""Both sides of a pair in one call: strengths and weaknesses, then the criteria of either side."""

import json
import re
from typing import Any

import pytest

from crm.llm.structured import UnusableReplyError
from db.source_records import AnswerStatus, SideKey, Winner
from precompute.criteria.question import PairQuestion
from tests.precompute.collect import samples as collect_samples
from tests.precompute.criteria import samples
from tests.precompute.criteria.conftest import Lab

NOTED = {"strengths": ["it is warm"], "weaknesses": []}


def body(one: list[str], other: list[str], /, **changed: Any) -> str:
    reply = {"first": NOTED, "second": NOTED, "criteria_first": one, "criteria_second": other}
    return json.dumps(reply | changed)


def manners(prompt: str) -> list[str]:
    """The manners of the first and of the second answer."""
    return [re.findall(rf"<{place}_answer>\nIn (\w+) words", prompt)[0] for place in ("first", "second")]


def well_behaved(prompt: str, _before: int = 0) -> Any:
    first, second = map(samples.criteria_of, manners(prompt))
    return samples.Answer(collect_samples.completion(body(first, second)))


def test_one_call_stores_the_criteria_of_both_sides_in_their_places(lab: Lab) -> None:
    lab.behave(well_behaved)
    lab.llms()
    options = ("--preferences", samples.SLUG, "--llm", "alpha")
    code, out, err = lab.command("extract-criteria", *options)
    assert (code, err) == (0, "")
    assert "4 of 4" in out
    stored = lab.extracted()
    assert {key.external_id for key in stored} == {"p0", "p1", "p3", "p4"}
    for key, record in stored.items():
        manner = samples.MANNERS[key.side == Winner.B]
        assert (record.status, list(record.criteria)) == (AnswerStatus.OK, samples.criteria_of(manner))
    # Nothing is left to ask; another way to ask is another extraction.
    assert lab.command("extract-criteria", *options)[0] == 0
    code, _, err = lab.command("extract-criteria", *options, "--call", "side")
    assert code == 2
    assert "8 lists of criteria of 'arena' were extracted by another LLM" in err


def test_what_the_call_took_is_shared_by_the_sides(lab: Lab) -> None:
    lab.behave(well_behaved)
    lab.llms(price_prompt=10.0, price_completion=20.0)
    lab.command("extract-criteria", "--preferences", samples.SLUG, "--llm", "alpha")
    sides = [lab.extracted()[SideKey("p0", side)] for side in (Winner.A, Winner.B)]
    assert abs((sides[0].prompt_tokens or 0) - (sides[1].prompt_tokens or 0)) <= 1
    total = sum(side.prompt_tokens or 0 for side in sides), sum(side.completion_tokens or 0 for side in sides)
    assert sum(side.cost for side in sides) == pytest.approx((10 * total[0] + 20 * total[1]) / 1e6)


QUESTION = PairQuestion(samples.preference(0))
GOOD = samples.criteria_of("warm")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("{}", 'It has no "first".'),
        (body(GOOD, GOOD, second={"strengths": [], "weaknesses": []}), 'Its "second.strengths" is empty.'),
        (body(GOOD, GOOD[:2]), 'It has 2 criteria in "criteria_second", not 3 to 5.'),
        (body([*GOOD[:2], "better than Response A"], GOOD), 'Criterion 3 of "criteria_first" speaks of one'),
        (body(GOOD, GOOD, criteria_second="x"), 'Its "criteria_second" is not as asked.'),
    ],
)
def test_what_cannot_be_used_is_said(reply: str, problem: str) -> None:
    with pytest.raises(UnusableReplyError, match=re.escape(problem)):
        QUESTION.criteria(reply)


def test_criteria_go_to_the_side_that_was_shown_there() -> None:
    for number in range(12):
        question = PairQuestion(samples.preference(number))
        first, second = map(samples.criteria_of, manners(question.prompt().text))
        found = question.criteria(body(first, second))
        assert {side: list(criteria) for side, criteria in found.items()} == {
            Winner.A: samples.criteria_of("warm"),
            Winner.B: samples.criteria_of("brief"),
        }
    assert {PairQuestion(samples.preference(number)).first_shown for number in range(12)} == {*Winner} - {
        Winner.TIE
    }
