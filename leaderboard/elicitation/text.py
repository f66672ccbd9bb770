"""Sentences on what was learnt: the evidence of a line, how sure the ranking is, what a history tells."""

from __future__ import annotations

from collections.abc import Sequence

from crm.criteria import Polarity
from leaderboard.elicitation.checking import FEWEST_CHECKS, CorrectedRanking
from leaderboard.elicitation.checklist import ChecklistLine
from leaderboard.elicitation.history.choices import ChoiceHistory
from leaderboard.elicitation.history.learn import HistoryChecklist
from leaderboard.elicitation.interview import MAX_QUESTIONS
from leaderboard.elicitation.per_category import CategoryChecklist
from leaderboard.elicitation.taste_test import N_PAIRS, BlindPair, CorrectedTaste, Taste, TasteTest
from leaderboard.sentences import listed
from parsing.messages import quantity

ENOUGH = 12
"""Choices after which a ranking is usually good (docs/personal.md)."""
SETTLED_SENTENCE = "Further questions would not change your top three."
"""Why an interview ends before the last of its questions."""
_MAX_NAMED = 3


def evidence_sentence(line: ChecklistLine) -> str:
    """Return what speaks for a line: “You answered “Numbered steps”. You chose … 8 of 9 times.”"""
    evidence, sentences = line.evidence, []
    if named := [reply.text for reply in evidence.replies if reply.named]:
        sentences.append(f"You answered {_quoted(named)}.")
    elif evidence.replies:
        sentences.append(f"It goes with your answer {_quoted([evidence.replies[0].text])}.")
    avoided = line.criterion.polarity is Polarity.AVOID
    which = "with less of this" if avoided else "that meets this better"
    if evidence.clear == 1:
        taken = "took" if evidence.with_it else "did not take"
        sentences.append(
            f"The one time that two answers differed clearly in this, you {taken} the one {which}."
        )
    elif evidence.clear:
        sentences.append(f"You chose the answer {which} {evidence.with_it} of {evidence.clear} times.")
    return " ".join(sentences) or "Nothing speaks of this directly; it follows from the rest."


def learnt_from_sentence(n_choices: int, n_replies: int = 0) -> str:
    """Return what a checklist rests on: “Learnt from 12 choices and 3 answers.”"""
    counts = [quantity(n, word) for n, word in ((n_choices, "choice"), (n_replies, "answer")) if n]
    return f"Learnt from {' and '.join(counts)}."


def named_sentence(labels: Sequence[str]) -> str:
    """Return what a person said they went by: “You went by: Short answers, Warm.”"""
    return f"You went by: {', '.join(labels)}." if labels else "You went by none of those."


def list_heading(categories: Sequence[str]) -> str:
    """Return what a list is for: “For Gaming and Puzzles & Logic”, “Everywhere else”."""
    return f"For {listed(categories, 'and')}" if categories else "Everywhere else"


def several_lists_sentence(checklists: Sequence[CategoryChecklist]) -> str:
    """Return what several lists mean for the ranking, in one sentence or two."""
    own = listed([name for each in checklists for name in each.categories], "and")
    return (
        f"On {own} you chose by something else than elsewhere, so there is a list for that. Each question is "
        "judged by its topic’s list alone."
    )


def progress_sentence(n_choices: int) -> str:
    """Return how far a person is: “3 of about 12”."""
    if n_choices < ENOUGH:
        return f"{n_choices} of about {ENOUGH}"
    return f"{n_choices} choices: enough for a first ranking. More make it surer."


def agreement_sentence(agreement: float) -> str:
    """Return how sure the ranking is by now."""
    return (
        f"So far your ranking puts about {100 * agreement:.0f} % of all pairs of LLMs in the right "
        "order; guessing puts 50 %."
    )


def interview_over_sentence(n_replies: int) -> str:
    """Return why no further question is asked."""
    if n_replies >= MAX_QUESTIONS:
        return f"All {MAX_QUESTIONS} questions are answered."
    return SETTLED_SENTENCE


def summary_sentence(learnt: HistoryChecklist) -> str:
    """Return the general preference: “Your choices speak for … and against ….”"""
    named = learnt.lines[:_MAX_NAMED]
    wanted, avoided = (
        [f"“{line.criterion.text}”" for line in named if line.criterion.polarity is polarity]
        for polarity in (Polarity.WANT, Polarity.AVOID)
    )
    parts = [f"{how} {_joined(texts)}" for how, texts in (("for", wanted), ("against", avoided)) if texts]
    if not parts:
        return "Your choices speak for no criterion of the library."
    hedge = "speak" if learnt.predicted.significant else "speak, if for anything,"
    return f"Your choices {hedge} {' and '.join(parts)}."


def prediction_sentence(learnt: HistoryChecklist) -> str:
    """Return how far the checklist can be trusted: choices predicted by one learnt from the others."""
    predicted = learnt.predicted
    if not predicted.decided:
        return "No choice in it prefers one answer, so nothing can be told yet."
    counts = f"{_half_count(predicted.correct)} of {predicted.decided:,}"
    if predicted.significant:
        share = 100 * predicted.correct / predicted.decided
        return (
            f"For {counts} choices a checklist learnt from the others says what you took ({share:.0f} %; "
            "guessing would for half)."
        )
    choices = "This choice does" if learnt.n_choices == 1 else f"These {learnt.n_choices:,} choices do"
    return (
        f"{choices} not tell yet: a checklist learnt from the others says what you took for {counts}, and "
        "guessing may do as well. Take the lines below as a guess, or bring more choices."
    )


def reading_sentence(history: ChoiceHistory) -> str:
    """Return what of a file was read: “Read as a table of choices: 40 choices, 2 of them ties.”"""
    ties = sum(not choice.outcome.decided for choice in history.choices)
    with_ties = f", {ties:,} of them ties" if ties else ""
    sentences = [f"Read as {history.form}: {quantity(len(history.choices), 'choice')}{with_ties}."]
    if longer := history.n_multi_turn:
        stand = "stands" if longer == 1 else "stand"
        sentences.append(
            f"{longer:,} {stand} in longer conversations, of which only the query and its answers count."
        )
    if history.left_out:
        reasons = "; ".join(f"{count:,} ({reason})" for reason, count in history.left_out)
        sentences.append(f"Left out: {reasons}.")
    return " ".join(sentences)


def taste_result_sentence(test: TasteTest, title: str) -> str:
    """Return how a blind test came out: “You chose X 5 of 6 times; the ranking expected 4.6.”"""
    n, alike = len(test.tastes), test.n_alike
    chosen = test.won - alike / 2
    times = "time" if n == 1 else "times"
    if not alike:
        return f"You chose {title} {chosen:.0f} of {n} {times}; the ranking expected {test.expected:.1f}."
    return (
        f"You chose {title} {chosen:.0f} of {n} {times} and saw no difference {_times(alike)}. Counting a "
        f"half for that it is {_half_count(test.won)}; the ranking expected {test.expected:.1f}."
    )


def taste_verdict_sentence(test: TasteTest) -> str:
    """Return what follows from a blind test, which is not much."""
    if test.surprise < 0:
        return "That is fewer times than chance explains: this ranking does not go by your taste yet."
    if test.surprise > 0:
        return (
            "That is more often than chance explains: your taste is clearer than the ranking takes it to be."
        )
    return f"The difference is no larger than chance would make it in {quantity(len(test.tastes), 'pair')}."


def fewer_pairs_sentence(test: TasteTest) -> str:
    """Return that there are fewer pairs than a test should have; empty where there are enough."""
    n = len(test.pairs)
    if n >= N_PAIRS:
        return ""
    found = "is only 1 pair" if n == 1 else f"are only {n} pairs"
    return f"There {found} of answers here to choose from instead of {N_PAIRS}, so the test says less."


def taste_sentence(blind: BlindPair, taste: Taste, llm: str, rival: str) -> str:
    """Return what was chosen and expected of a pair: “You took X; the ranking expected Y (82 %).”"""
    taken = llm if (taste is Taste.FIRST) == blind.tested_first else rival
    said = "You saw no difference" if taste is Taste.ALIKE else f"You took {taken}"
    likelier, prob = (llm, blind.expected) if blind.expected >= 1 / 2 else (rival, 1 - blind.expected)
    if round(100 * prob) <= 50:  # noqa: PLR2004
        return f"{said}; the ranking expected neither."
    return f"{said}; the ranking expected {likelier} ({100 * prob:.0f} %)."


def votes_agreement_sentence(n_agreeing: float, n_votes: int) -> str:
    """Return how votes went: “Your votes agree with the judge 9 of 12 times.”"""
    times = "time" if n_votes == 1 else "times"
    return f"Your votes agree with the judge {_half_count(n_agreeing)} of {n_votes} {times}."


def votes_wanted_sentence(n_votes: int) -> str:
    """Return that there are too few votes to correct a ranking by."""
    so_far = {0: "None", 1: "One"}.get(n_votes, f"{n_votes}")
    return (
        f"Some pairs are drawn at random: choices between those are votes on the judge. {so_far} so far. "
        f"From {FEWEST_CHECKS} on your ranking is corrected by them, after a dozen choices or so."
    )


def corrected_ranking_sentences(ranking: CorrectedRanking) -> tuple[str, ...]:
    """Return what votes do to a ranking, and how little that may be."""
    corrected = ranking.corrected
    trusted = f"{100 * corrected.trust:.0f} %"
    counts = f"By that the judge's word counts {trusted}: scores are drawn towards 50 % by the rest."
    if not ranking.moved:
        places = "No LLM changes its place: what the votes say beyond that is no more than chance."
    elif corrected.apart:
        places = "Some LLMs change places."
    else:
        places = "LLMs that change places do so by a hair."
    if corrected.apart:
        return counts, places
    n = ranking.n_votes
    return counts, places, f"{quantity(n, 'vote')} cannot tell any two LLMs apart: look at the likely ranges."


def corrected_taste_sentence(found: CorrectedTaste, title: str) -> str:
    """Return how often an LLM's answers are preferred, by the judge and corrected by votes."""
    corrected = found.corrected
    estimate = min(max(corrected.estimate, corrected.low), corrected.high)
    low, high = (f"{100 * end:.0f}" for end in (corrected.low, corrected.high))
    return (
        f"Over all questions that could have been drawn, the judge expects {title} to be preferred to its "
        f"rivals {100 * found.judged:.0f} % of the time; corrected by your votes it is "
        f"{100 * estimate:.0f} % (likely {low} to {high} %)."
    )


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _half_count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _quoted(texts: Sequence[str]) -> str:
    return " and ".join(f"“{text}”" for text in texts)


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
