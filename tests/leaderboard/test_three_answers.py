"""Three answers to one question: who is compared, on which questions, and what is said of them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.embedded.counts import countables
from leaderboard.errors import LeaderboardError
from leaderboard.render.three_answers import (
    Whose,
    amount_in_words,
    marked_in_words,
    three_answers_html,
    verdict_in_words,
)
from leaderboard.service import Service
from leaderboard.three_answers import AmountInAnswer, Role, ShownAnswer, ThreeLLMs, find_three, show_trio
from leaderboard.view import View, read_topic_weights

EMOJIS_AND_STEPS = CriteriaSet.of(["No emojis", "Provide numbered steps"])
STEPS = View("dailybench", criteria=CriteriaSet.of(["Provide numbered steps"]))


def found(service: Service, view: View) -> ThreeLLMs:
    leaderboard = service.leaderboard(view)
    return find_three(service, leaderboard, leaderboard.llms)


def test_the_best_the_default_best_and_one_of_the_lower_half_are_compared(service: Service) -> None:
    leaderboard = service.leaderboard(STEPS)
    three = find_three(service, leaderboard, leaderboard.llms)
    ranked = list(leaderboard.ranking.ranks)
    assert leaderboard.default is not None
    by_default = [llm for llm in leaderboard.default.ranks if llm != ranked[0]]

    assert three.best == ranked[0] == "stepwise"
    assert (three.other, three.place) == (by_default[0], leaderboard.default.ranks[by_default[0]])
    assert {trio.contrast for trio in three.trios} <= set(ranked[len(ranked) // 2 :]) - {three.other}


def test_questions_come_by_separation_and_each_once(service: Service) -> None:
    three = found(service, STEPS)

    assert all(one.separation >= other.separation for one, other in pairwise(three.trios))
    assert len({trio.query for trio in three.trios}) == len(three.trios) > 100
    assert three == found(service, STEPS)


def test_the_separation_is_the_smallest_difference_of_what_the_judge_says(service: Service) -> None:
    three = found(service, STEPS)
    scored = service.scored(STEPS)
    margins = service.margins(scored.request.benchmark, scored.request.crm, STEPS.criteria)  # type: ignore[arg-type]
    trio = three.trios[0]
    rows = [scored.request.llms.index(llm) for llm in (three.best, three.other, trio.contrast)]
    best, other, contrast = margins.asked[rows, trio.query].tolist()

    assert trio.separation == pytest.approx(min(best - other, best - contrast, abs(other - contrast)))
    assert trio.separation > 0


def test_only_questions_of_the_chosen_topics_with_a_weight_are_shown(service: Service) -> None:
    topics = ("Humor & Entertainment", "Puzzles & Logic")
    view = replace(STEPS, topics=topics, topic_weights=read_topic_weights(["Puzzles & Logic=0"]))
    queries = service.benchmark("dailybench").record.queries

    assert {queries[trio.query].category for trio in found(service, view).trios} == {topics[0]}


def test_heavier_topics_come_earlier(service: Service) -> None:
    heavy = replace(STEPS, topic_weights=read_topic_weights(["Puzzles & Logic=100"]))
    queries = service.benchmark("dailybench").record.queries
    plain, weighed = (
        np.mean(
            [queries[trio.query].category == "Puzzles & Logic" for trio in found(service, view).trios[:10]]
        )
        for view in (STEPS, heavy)
    )

    assert weighed > plain


def test_two_llms_are_too_few(service: Service) -> None:
    leaderboard = service.leaderboard(STEPS)

    with pytest.raises(LeaderboardError, match="three LLMs"):
        find_three(service, leaderboard, ["stepwise", "lumen"])


def test_answers_that_are_held_back_as_gaming_are_not_shown(service: Service) -> None:
    view = View("dailybench", criteria=CriteriaSet.of(["Warm and encouraging"]))
    three, scored = found(service, view), service.scored(view)
    margins = service.margins(scored.request.benchmark, scored.request.crm, view.criteria)  # type: ignore[arg-type]

    for trio in three.trios:
        rows = [scored.request.llms.index(llm) for llm in (three.best, three.other, trio.contrast)]
        assert (margins.taken_off[rows, trio.query] <= 0).all()


def test_counts_are_those_of_the_shown_text_and_are_marked(service: Service) -> None:
    view = replace(STEPS, criteria=EMOJIS_AND_STEPS)
    three = found(service, view)
    question = show_trio(service, view, three, three.trios[0])

    for answer in question.answers:
        counts = {item.counted.name: item.amount for item in answer.amounts}
        assert answer.text is not None
        assert counts == {item.counted.name: item.counted.count(answer.text) for item in answer.amounts}
        assert set(counts) == {"emojis", "numbered"}
    titles = {llm.name: llm.title for llm in service.benchmark("dailybench").record.llms}
    shown = three_answers_html(question, three, Whose(titles, personal=True))
    n_numbered = sum(
        item.amount
        for answer in question.answers
        for item in answer.amounts
        if item.counted.name == "numbered"
    )
    assert shown.count('<li class="usl-mark">') == n_numbered > 0
    assert "numbered items" in marked_in_words(question)


def test_a_judge_that_reads_texts_says_who_is_preferred_without_reasons(own_service: Service) -> None:
    view = replace(STEPS, crm="longer", topics=("Jokes & puns",))
    own_service.judge(view)
    three = found(own_service, view)
    question = show_trio(own_service, view, three, three.trios[0])

    assert not any(answer.amounts or answer.reasons for answer in question.answers)
    assert question.answers[0].prob > 1 / 2


def test_llms_ranked_against_each_other_are_compared_where_they_meet(service: Service) -> None:
    view = View("modern", criteria=CriteriaSet.of(["Short"]))
    three, present = found(service, view), ~np.isnan(service.scored(view).standing)
    llms = service.scored(view).request.llms

    assert not three.readable
    for trio in three.trios:
        assert present[
            [llms.index(llm) for llm in (three.best, three.other, trio.contrast)], trio.query
        ].all()


def counted(name: str, amount: float) -> AmountInAnswer:
    return AmountInAnswer(next(item for item in countables() if item.name == name), amount)


@pytest.mark.parametrize(
    ("name", "amount", "written"),
    [
        ("emojis", 1.0, "1 emoji"),
        ("tables", 0.0, "0 tables"),
        ("words", 1234.0, "1,234 words"),
        ("sentence_length", 14.25, "14.2 words a sentence"),
    ],
)
def test_amounts_are_written_for_one_answer(name: str, amount: float, written: str) -> None:
    assert amount_in_words(counted(name, amount)) == written


@pytest.mark.parametrize(
    ("role", "prob", "written"),
    [
        (Role.BEST, 0.9, "Suits you better than both others: warmer wording."),
        (Role.BEST, 0.4, "Suits you no better than the others here: warmer wording."),
        (Role.OTHER, 0.01, "Suits you far less than X’s answer: warmer wording."),
        (Role.CONTRAST, 0.3, "Suits you less than X’s answer: warmer wording."),
        (Role.CONTRAST, 0.7, "Suits you as well as X’s answer or better: warmer wording."),
    ],
)
def test_a_verdict_is_said_in_words(role: Role, prob: float, written: str) -> None:
    answer = ShownAnswer(role, "x", None, (), prob, ("warmer wording",))

    assert verdict_in_words(answer, "X", "you", 2) == written


def test_beside_one_other_answer_there_are_not_both_others() -> None:
    better, worse = (ShownAnswer(Role.BEST, "x", None, (), prob, ()) for prob in (0.9, 0.4))

    assert verdict_in_words(better, "X", "you", 1) == "Suits you better than the other."
    assert verdict_in_words(worse, "X", "you", 1) == "Suits you no better than the other here."
