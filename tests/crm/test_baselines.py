import pytest

from crm.baselines import CosineCRM, LongerCRM
from crm.criteria import CriteriaSet
from crm.protocol import CRM, Pair, Question
from tests.crm.samples import BOIL, STOCKS


@pytest.mark.parametrize("judge", [LongerCRM(), CosineCRM()])
def test_it_is_a_judge_of_texts(judge: CRM) -> None:
    assert isinstance(judge, CRM)
    assert judge.representation is None
    assert judge.judge([]) == []


@pytest.mark.parametrize(
    ("response_a", "response_b", "prob"), [("aaa", "a", 2 / 3), ("a", "aaa", 1 / 3), ("", "", 0.5)]
)
def test_longer_goes_by_the_ratio_of_lengths_whatever_is_wished(
    response_a: str, response_b: str, prob: float
) -> None:
    criteria = CriteriaSet.of(["concise"], ["brevity"])
    [verdict] = LongerCRM().judge([Question(criteria, Pair("q", response_a, response_b))])

    assert verdict.prob_a == pytest.approx(prob)
    assert verdict.per_criterion == (verdict.prob_a,) * 2


def test_cosine_goes_by_the_likeness_of_answer_and_wish() -> None:
    def verdict(criteria: CriteriaSet, query: str = "") -> float:
        return CosineCRM().judge([Question(criteria, Pair(query, BOIL, STOCKS))])[0].prob_a

    assert verdict(CriteriaSet.of(["about cooking eggs"])) > 0.9
    assert verdict(CriteriaSet.of([], ["about cooking eggs"])) < 0.1
    assert verdict(CriteriaSet(), "How do I cook an egg?") > 0.9
    assert verdict(CriteriaSet(), "How are shares doing?") < 0.1


def test_cosine_names_every_criterion_alone_in_their_order() -> None:
    criteria = CriteriaSet.of(["shares and trade", "cooking eggs"], ["cooking eggs"])
    [verdict] = CosineCRM().judge([Question(criteria, Pair("", BOIL, STOCKS))])

    market, egg, no_egg = verdict.per_criterion
    assert market < 0.1
    assert egg > 0.9
    assert no_egg == pytest.approx(1 - egg, abs=1e-5)
    # To want and to avoid eggs cancel, which leaves the market.
    assert verdict.prob_a == pytest.approx(market, abs=1e-5)
