import json
from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import CriteriaSet
from crm.doctor.complaints import complaints
from crm.doctor.examination import Examination, LongAnswers, Verdicts
from crm.doctor.pairs import LONG, SHOWN, general_pairs, long_questions, plain_pairs
from crm.evaluation.metrics import Numbers
from crm.protocol import Pair, Question, ShownPrompt, Workings

N = 20
LABEL = np.tile([1.0, -1.0], N // 2)
QUESTION = Question(CriteriaSet.of(["formal"]), Pair('the "q" & so on', "one <b>", "two"))
FINE = np.linspace(0.1, 0.4, N)


def verdicts(right: float = 1.0, gap: float = 0.0, noise: float = 0.0) -> Verdicts:
    """What a judge says that is right on a share of the pairs and prefers the first response by a gap."""
    wrong = np.arange(N) >= round(right * N)
    prob = np.where((LABEL > 0) ^ wrong, 0.5 + FINE, 0.5 - FINE)
    prob, exchanged = (np.clip(each + gap / 2, 0, 1) for each in (prob, 1 - prob))
    return Verdicts(
        prob,
        exchanged,
        LABEL,
        alone=prob[SHOWN] + noise,
        contrary=True,
        seconds=0.1,
    )


def of(said: Verdicts | None = None, workings: Workings | None = None, **known: object) -> list[str]:
    return complaints(Examination("mine", "1", QUESTION, workings, verdicts=said, **known))  # type: ignore[arg-type]


def workings(text: str, **known: object) -> Workings:
    return Workings((ShownPrompt(text),), "the bundled one", "two", "the last", **known)  # type: ignore[arg-type]


def long(*prob: float, **known: object) -> LongAnswers:
    answers = LongAnswers(np.array(prob), None, None)
    return replace(answers, **known)  # type: ignore[arg-type]


def test_the_pairs_are_even_in_every_respect_but_what_is_asked() -> None:
    pairs = plain_pairs()

    assert len(pairs) == len(general_pairs()) == N
    assert sum(item.label for item in pairs) == sum(item.label for item in general_pairs()) == 0
    assert all(len(item.criteria) == 1 for item in pairs)
    assert all(one.pair == other.pair for one, other in zip(pairs[::2], pairs[1::2], strict=True))
    assert {'"', "&"} <= set(pairs[SHOWN].pair.query)


def test_long_questions_differ_in_their_last_words_only() -> None:
    first, *others = long_questions(CriteriaSet())

    assert len(first.pair.response_b.split()) == LONG
    for other in others:
        assert other.pair.response_b == first.pair.response_b
        assert other.pair.response_a.split()[:LONG] == first.pair.response_a.split()[:LONG]
        assert other.pair.response_a != first.pair.response_a


def test_of_a_sound_judge_there_is_nothing_to_say() -> None:
    text = f"formal {QUESTION.pair.query} one <b> two"
    assert of(verdicts(), workings(text), long=long(0.4, 0.5, 0.6)) == []


@pytest.mark.parametrize("agreed", [0, 6])
def test_labels_look_swapped_below_a_third(agreed: int) -> None:
    [said] = of(verdicts(agreed / N))
    assert said.startswith(f"The labels look swapped: it agrees with {agreed} of 20 plain pairs")


@pytest.mark.parametrize("agreed", [7, 12])
def test_above_a_third_it_may_be_guessing(agreed: int) -> None:
    [said] = of(verdicts(agreed / N))
    assert said.startswith(f"It agrees with {agreed} of 20 plain pairs, as a coin may")


def test_all_probabilities_alike() -> None:
    same = np.full(N, 0.9)
    [said] = of(Verdicts(same, same + 0.01, LABEL, 0.9, contrary=True, seconds=1))
    assert said.startswith("All probabilities are alike (0.900 to 0.910), whatever it is shown")


@pytest.mark.parametrize("nonsense", [np.nan, 1.5, -0.1])
def test_what_is_no_probability(nonsense: float) -> None:
    prob: Numbers = np.where(np.arange(N) == 3, nonsense, verdicts().prob)
    [said] = of(replace(verdicts(), prob=prob))
    assert said.startswith("Some answers are no probabilities")


def test_a_judge_that_goes_by_position() -> None:
    [moved] = of(verdicts(gap=0.3))
    assert moved.startswith("The order of the responses moves the probability by 0.2")
    [always] = of(verdicts(gap=1.0))
    assert always.startswith("It prefers the first response in 100% of the questions, whatever is in it")


def test_criteria_that_change_nothing() -> None:
    prob = np.repeat(np.linspace(0.2, 0.8, N // 2), 2)
    [said] = of(Verdicts(prob, 1 - prob, LABEL, prob[SHOWN], contrary=True, seconds=1))
    assert said.startswith("Criteria change nothing")


def test_an_answer_that_is_another_one_the_next_time() -> None:
    [said] = of(verdicts(noise=0.1))
    assert said.startswith("Asked twice about the same pair it says 0.10 more or less")


def test_questions_without_a_verdict() -> None:
    half = np.arange(N) < N // 2
    found = verdicts()
    prob, exchanged = (np.where(half, 0.5, each) for each in (found.prob, found.exchanged))
    [said] = of(Verdicts(prob, exchanged, LABEL, 0.5, contrary=True, seconds=1))
    assert said.startswith("20 of 40 questions got no verdict (exactly 0.5)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("formal | one <b> | two", "The prompt does not show the query: mend the template."),
        ('the "q" & so on | two', "The prompt does not show the first response and the criterion"),
        (
            "formal | the &#34;q&#34; &amp; so on | one &lt;b&gt; | two",
            "The query and the first response is escaped as for HTML",
        ),
        (r'formal | "the \"q\" \u0026 so on" | "one \u003cb\u003e" | two', "is escaped as for HTML"),
    ],
)
def test_a_prompt_without_what_it_should_show(text: str, said: str) -> None:
    [found] = of(workings=workings(text))
    assert said in found


def test_json_is_as_good_as_text() -> None:
    pair = QUESTION.pair
    text = json.dumps({"wish": "formal", "q": pair.query, "a": pair.response_a, "b": pair.response_b})
    assert of(workings=workings(text)) == []


def test_shortened_prompts_name_both_lengths() -> None:
    short = Workings((ShownPrompt("formal", 32, 40),), "", "", "", window=32)
    [said] = of(workings=short)
    assert said.startswith("Even short responses are cut: the prompt needs 40 tokens and may have 32")
    [said] = of(verdicts(), long=long(0.5, 0.6, 0.7, workings=short))
    assert said.startswith(
        "Long responses are cut: with responses of 600 words a prompt needs 40 tokens and may have 32"
    )


def test_a_server_or_a_judge_that_does_not_read_the_end() -> None:
    [cut] = of(verdicts(), long=long(0.4, 0.5, 0.6, counted=0.3))
    assert cut.startswith("The server cuts long prompts off: it counts 30% of the tokens")
    [unread] = of(verdicts(), long=long(0.6, 0.6, 0.6))
    assert unread.startswith("The end of long responses is not read")
    assert of(verdicts(), long=long(1.0, 1.0, 1.0)) == []  # too sure to be moved


def test_what_stopped_the_examination_comes_first() -> None:
    said = of(workings=workings("formal", doubts=("It doubts itself.",)), trouble="It is gone.")
    assert said[:2] == ["It is gone.", "It doubts itself."]
