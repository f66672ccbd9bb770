"""The scores of a critique, what is taken off them, and what they come to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.llm.structured import UnusableReplyError
from leaderboard.critique_scores import (
    FAULTS,
    HIGHEST,
    LOWEST,
    SCORE_WEIGHTS,
    SCORES,
    TOO_LONG,
    Assessment,
    read_assessment,
    scores_of,
    too_long_by,
)
from tests.leaderboard.critique_samples import ASSESSED

BRIEF = {"fault": "too_brief", "points": 2}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"helpfulness": 6}, "Its score for helpfulness is no whole number from -5 to 5."),
        ({"naturalness": "3"}, "Its score for naturalness is no whole number"),
        ({"personalization": 1.5}, "Its score for personalization is no whole number"),
        ({"personalization": True}, "Its score for personalization is no whole number"),
        ({"suggestions": ["one"]}, "It has 1 suggestions, not 2 to 3."),
        ({"suggestions": ["a", "b", "c", "d"]}, "It has 4 suggestions, not 2 to 3."),
        ({"suggestions": ["a", " "]}, "Suggestion 2 is no text."),
        ({"suggestions": ["a", "A"]}, "Its “suggestions” say the same twice."),
        ({"suggestions": ["a", "x" * 401]}, "Suggestion 2 has 401 characters"),
        ({"suggestions": "a"}, "Its “suggestions” is not of the kind asked for."),
        ({"simple_query": "yes"}, "Its “simple_query” is not of the kind asked for."),
        ({"faults": ["too_brief"]}, "Its “faults” is not of the kind asked for."),
        ({"faults": [BRIEF, BRIEF]}, "Its “faults” name the same twice."),
        ({"faults": [{"fault": "rude", "points": 2}]}, "Fault 1 is none of those listed."),
        ({"faults": [{"fault": "too_brief", "points": 4}]}, "Fault 1 takes off 2 to 3 points, not 4."),
        ({"faults": [{"fault": "too_brief"}]}, "It has no “points”."),
    ],
)
def test_what_is_no_assessment_is_refused_with_the_reason(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableReplyError) as refused:
        read_assessment(json.dumps(ASSESSED | changed))

    assert str(refused.value).startswith(reason)


def assessed(**changed: object) -> Assessment:
    return read_assessment(json.dumps(ASSESSED | changed))


def test_the_final_score_is_the_papers() -> None:
    assert SCORE_WEIGHTS == {"helpfulness": 0.35, "personalization": 0.40, "naturalness": 0.25}
    scores = scores_of(assessed(helpfulness=3, personalization=2, naturalness=4, faults=[]), "Short.")
    assert scores.final == pytest.approx(0.35 * 3 + 0.40 * 2 + 0.25 * 4)
    assert scores.deductions == ()


def test_a_fault_takes_its_points_off_its_own_score() -> None:
    scores = scores_of(assessed(helpfulness=3, personalization=2, naturalness=4), "Short.")
    assert (scores.helpfulness, scores.personalization, scores.naturalness) == (1, 1, 4)
    assert [(each.score, each.points) for each in scores.deductions] == [
        ("helpfulness", 2),
        ("personalization", 1),
    ]


@pytest.mark.parametrize(
    ("tokens", "points"), [(100, 0), (400, 0), (499, 0), (500, 1), (599, 1), (600, 2), (1_400, 10)]
)
def test_length_takes_a_point_for_every_hundred_tokens_beyond_four_hundred(tokens: int, points: int) -> None:
    assert too_long_by("abcd" * tokens, simple=True) == points
    assert too_long_by("abcd" * tokens, simple=False) == 0


def test_length_lowers_helpfulness_and_naturalness_alike() -> None:
    scores = scores_of(assessed(helpfulness=3, personalization=2, naturalness=4, faults=[]), "abcd" * 650)
    assert (scores.helpfulness, scores.personalization, scores.naturalness) == (1, 2, 2)
    assert {(each.score, each.points, each.why) for each in scores.deductions} == {
        ("helpfulness", 2, TOO_LONG),
        ("naturalness", 2, TOO_LONG),
    }


@given(
    st.lists(st.sampled_from(sorted(FAULTS)), unique=True),
    st.tuples(*[st.integers(LOWEST, HIGHEST)] * 3),
    st.integers(0, 9_000),
    st.booleans(),
)
def test_no_score_leaves_the_scale_and_no_fault_raises_one(
    names: list[str], given_scores: tuple[int, int, int], length: int, simple: bool
) -> None:
    faults = [{"fault": name, "points": FAULTS[name].most} for name in names]
    before = dict(zip(SCORES, given_scores, strict=True))
    scores = scores_of(assessed(**before, faults=faults, simple_query=simple), "x" * length)
    for name in SCORES:
        off = sum(each.points for each in scores.deductions if each.score == name)
        assert getattr(scores, name) == max(LOWEST, before[name] - off)
    assert LOWEST <= scores.final <= HIGHEST
