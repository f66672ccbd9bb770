"""What is written about a ranking, in words for people without statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.special import expit

from crm.criteria import Criterion
from crm.protocol import CriterionWarning, ReadAs, Reliability
from leaderboard.amounts import MeanAmount
from leaderboard.statistics.bootstrap import UNRANKED
from leaderboard.statistics.correlation import Correlations
from leaderboard.statistics.ranking import Ranking
from leaderboard.statistics.style_control import TERMS, Control
from leaderboard.statistics.win_rate import NARROWEST
from leaderboard.view import Against, TopicWeight, View
from parsing.messages import quantity

# With four LLMs even identical rankings come about by chance one time in twelve (Kendall's exact test, both
# directions), so fewer than five cannot show anything at the usual 5 %.
MIN_LLMS = 5
SIGNIFICANCE = 0.05

# Below so many queries the 95 % interval of a win rate near one half is wider than ± 20 points.
MIN_QUERIES = 25

# Kendall's τ: nine of ten pairs in the same (or, negative, the opposite) order; three of four; three of five.
CLOSE = 0.8
LARGELY = 0.5
WEAK = 0.2

# NDCG with a dozen LLMs: the average ranking's best two in place and the rest reversed give 0.95, the best
# two swapped 0.88, the best one moved to sixth place 0.73 and to the last 0.68.
TOP_KEPT = 0.9
TOP_CHANGED = 0.75

# Coefficients are compared after rounding, so that a τ of four fifths is four fifths however it was summed.
_DECIMALS = 9


def interpret(correlations: Correlations, *, queries: int | None = None) -> str:
    """Say in one sentence how "your ranking" relates to the average ranking, that without criteria.

    Args:
        correlations: of the person's ranking (predicted) with the default ranking (reference).
        queries: how many queries the person's ranking rests on, for a caution where they are few.
    """
    if correlations.n == 1:
        return "Only one LLM is ranked, so there is nothing to compare with the average ranking."
    if correlations.n < MIN_LLMS:
        what = "is the same as" if round(correlations.tau, _DECIMALS) == 1 else "differs from"
        few = f"with only {correlations.n} LLMs that could well be chance"
        return f"Your ranking {what} the average ranking, but {few}."
    relation = _relation(correlations)
    if queries is not None and queries < MIN_QUERIES:
        questions = "question" if queries == 1 else "questions"
        return f"Judging by only {queries} {questions}, your ranking {relation}."
    return f"Your ranking {relation}."


def _relation(correlations: Correlations) -> str:
    """Say what "your ranking" does; the first of these descriptions that holds."""
    tau = round(correlations.tau, _DECIMALS)
    chance = correlations.p_value >= SIGNIFICANCE
    if tau >= LARGELY and correlations.ndcg < TOP_CHANGED and not chance:
        return "puts other LLMs first but largely follows the average ranking after that"
    if abs(tau) >= CLOSE:
        return _near_extreme(tau)
    if correlations.ndcg >= TOP_KEPT:
        return "keeps the average ranking's favourites near the top but reorders the rest"
    if chance:
        return (
            "shows no clear relation to the average ranking: "
            f"with {correlations.n} LLMs, any likeness could be chance"
        )
    return _in_between(tau)


def _near_extreme(tau: float) -> str:
    if tau == 1:
        return "is the same as the average ranking"
    if tau == -1:
        return "is the exact reverse of the average ranking"
    return (
        "hardly differs from the average ranking"
        if tau > 0
        else "is nearly the reverse of the average ranking"
    )


def _in_between(tau: float) -> str:
    if tau >= LARGELY:
        return "largely agrees with the average ranking, with some LLMs changing places"
    if tau >= WEAK:
        return "partly agrees with the average ranking"
    if tau > -WEAK:
        return "has little to do with the average ranking"
    return "leans the opposite way to the average ranking"


CONTROL_NAMES: Mapping[Control, str] = {
    Control.NONE: "Nothing",
    Control.LENGTH: "Length",
    Control.STYLE: "Length, lists, headings and bold",
}

# Win rates that move by less than this many points on average have not been moved, as far as anyone cares.
_NEGLIGIBLE = 0.5

# A preference between 48 and 52 % is called none.
_NO_PREFERENCE = 0.02


def control_in_brief(control: Control) -> str:
    """Return a line for a table's head; empty without a control."""
    return "" if control is Control.NONE else f"Adjusted for {CONTROL_NAMES[control].lower()}"


def control_effect_sentences(ranking: Ranking, control: Control, titles: Mapping[str, str]) -> str:
    """Say what was removed and how much it mattered; empty if nothing was or nobody is ranked."""
    removed = ranking.removed
    ranked = ranking.rank != UNRANKED
    if removed is None or not ranked.any():
        return ""
    moves = np.where(ranked, 100 * (ranking.win_rate - removed.plain_win_rate), 0.0)
    mean = float(np.abs(moves).sum() / ranked.sum())
    most = int(np.argmax(np.abs(moves)))
    n_moved = int(np.sum(ranking.rank != removed.plain_rank))
    places = f"{n_moved or 'none'} of {ranked.sum()} LLMs {'changes' if n_moved <= 1 else 'change'} rank"
    effect = (
        f"Win rates hardly move, by {mean:.1f} points on average, and {places}."
        if mean < _NEGLIGIBLE
        else f"Win rates move by {mean:.1f} points on average, most for {titles[ranking.llms[most]]} "
        f"({_signed(moves[most])}), and {places}."
    )
    n_queries = int(ranking.n_queries.max())
    caution = (
        f" With only {quantity(n_queries, 'query')} this is a rough guess." if n_queries < MIN_QUERIES else ""
    )
    return f"Adjusted for {CONTROL_NAMES[control].lower()}. {effect}{caution}"


def control_preference_sentence(ranking: Ranking, control: Control) -> str:
    """Say which of two responses that differ in one term is preferred, and how often; else empty."""
    if ranking.removed is None:
        return ""
    preferred, indifferent = [], []
    for term, effect in zip(TERMS[control], ranking.removed.effects.tolist(), strict=True):
        share = float(expit(abs(effect) * term.example))
        if share - 0.5 < _NO_PREFERENCE:
            indifferent.append(term.name)
        else:
            preferred.append(f"{term.more if effect > 0 else term.less} ({100 * share:.0f} % of the time)")
    if not preferred:
        return f"Of two otherwise equal responses, {listed(indifferent)} hardly matters to the judge."
    unmoved = f"; {listed(indifferent, 'or')} hardly matters" if indifferent else ""
    return f"Of two otherwise equal responses, the judge prefers {listed(preferred)}{unmoved}."


def _signed(points: float) -> str:
    """Return ``+3.2`` or ``−3.2``."""
    return f"{points:+.1f}".replace("-", "−")


_NAMED_WEIGHTS = 4


def weights_in_brief(view: View, n_queries: int, n_effective: float) -> str:
    """Return a line for a table's head; empty where all queries count alike."""
    what = _weighted_by(view)
    return f"Weighted by {what}: {_effectively(n_queries, n_effective)}" if what else ""


def weights_sentences(view: View, n_queries: int, n_effective: float, distant: Sequence[str]) -> str:
    """Say what counts more than other things, and what that costs; empty where all queries count alike.

    Args:
        n_effective: What they are worth, ``leaderboard.statistics.win_rate.effective_number``.
    """
    sentences = []
    if view.topic_weights:
        sentences.append(f"Topics are weighted: {_some_weights(view.topic_weights)}.")
    if view.interests:
        uses = listed([f"“{interest}”" for interest in view.interests])
        sentences.append(f"Questions count by how close they are to {uses}.")
    if not sentences:
        return ""
    sentences.append(f"With these weights {_effectively(n_queries, n_effective)}.")
    if distant:
        unmet = listed([f"“{interest}”" for interest in distant], "or")
        sentences.append(f"No question here fits {unmet}: do not rely on that part.")
    return " ".join(sentences)


def too_narrow(view: View, n_queries: int, n_effective: float) -> str:
    """Say that the selection is too narrow to rank, and what to do; empty where it is not."""
    if n_effective >= NARROWEST:
        return ""
    if _weighted_by(view):
        worth = f"with these weights only {n_effective:.1f} of its {n_queries} questions effectively count"
        advice = "Choose more topics, or even the weights out"
    else:
        worth = f"it has {quantity(n_queries, 'question')}"
        advice = "Choose more topics"
    return (
        f"This selection is too narrow to rank: {worth}. With fewer than {NARROWEST:.0f}, even winning 80 % "
        f"of them can be chance. {advice}."
    )


def _effectively(n_queries: int, n_effective: float) -> str:
    """Return ``174 of 805 questions effectively count``."""
    return f"{n_effective:.0f} of {n_queries} questions effectively count"


def _weighted_by(view: View) -> str:
    return " and ".join(
        name for name, given in (("topic", view.topic_weights), ("interest", view.interests)) if given
    )


def _some_weights(weights: Sequence[TopicWeight]) -> str:
    """Return ``Arts & Culture × 2, Puzzles & Logic × 0 and 3 others``."""
    named = [f"{item.name} × {item.number}" for item in weights[:_NAMED_WEIGHTS]]
    more = len(weights) - len(named)
    return listed([*named, f"{more} more"] if more else named)


_JUDGED = {
    ReadAs.COUNTED: "Counted in every answer",
    ReadAs.STYLE: "Judged as a style that this judge knows",
    ReadAs.WORDING: "Judged by its wording alone",
}
_PROBABLY = "Probably about {}. Judged by that and by its wording"


def reading_sentence(found: Reliability) -> str:
    """Say how a criterion is read, how it is judged, and how often that is right where it can be foretold.

    “Read as fewer emojis. Counted in every answer; a reader would agree 76 times in 100.”
    """
    judged = _JUDGED[found.read_as]
    if found.reading and found.read_as is ReadAs.WORDING:
        judged = _PROBABLY.format(found.reading)
    elif found.reading:
        judged = f"Read as {found.reading}. {judged}"
    measured = not np.isnan(found.right)
    agreed = f"; a reader would agree {100 * found.right:.0f} times in 100" if measured else ""
    return f"{judged}{agreed}."


def amounts_in_words(amounts: Iterable[MeanAmount], llm: str) -> str:
    """Return how much an LLM's answers have of what is counted; empty where nothing is.

    “On average 1.7 emojis an answer (baseline 0.1), 7.9 sentences an answer (baseline 12.0)”
    """
    found = [
        f"{amount.written(amount.by_llm[llm])} {amount.unit}"
        + ("" if np.isnan(amount.baseline) else f" (baseline {amount.written(amount.baseline)})")
        + kept_in_words(amount, llm)
        for amount in amounts
    ]
    return f"On average {', '.join(found)}" if found else ""


def kept_in_words(amount: MeanAmount, llm: str) -> str:
    """Return how often an LLM keeps to the amount that is wished; empty where none is, or it is unknown."""
    share = amount.kept.get(llm, np.nan)
    return "" if np.isnan(share) else f", with {amount.limit} in {percent(share)} of its answers"


def percent(share: float) -> str:
    """Return a share as it is read: “none” and “all” only where that is so, “under 1 %”, “37 %”."""
    if np.isclose(share, (0.0, 1.0)).any():
        return "all" if share >= 1 / 2 else "none"
    whole = round(100 * share)
    return f"{min(whole, 99)} %" if whole else "under 1 %"


def warning_sentence(warning: CriterionWarning) -> str:
    """Return the warning with the criterion it is about: “Do not rely on “in Finnish” in this ranking. …”."""
    if warning.criterion is None:
        return warning.reason
    return f"Do not rely on “{warning.criterion}” in this ranking. {warning.reason}"


def left_out_sentence(warning: CriterionWarning) -> str:
    """Return that the warning's criterion is left out, and why."""
    return f"“{warning.criterion}” is left out of this ranking. {warning.reason}"


def part_not_judged_sentence(warning: CriterionWarning) -> str:
    """Return that one of the wishes that a criterion lists is not judged, and why."""
    return f"“{warning.criterion}” in it is not judged. {warning.reason}"


def left_out_in_brief(left_out: Iterable[CriterionWarning]) -> str:
    """Return all criteria that are left out in one line for a table's head; empty if none is."""
    about = [f"“{item.criterion}”" for item in left_out]
    return f"Left out, as the judge cannot judge it: {'; '.join(about)}" if about else ""


def nothing_left_sentence(left_out: Sequence[CriterionWarning]) -> str:
    """Say that the ranking is the default one, as every criterion is left out; empty if none is."""
    if not left_out:
        return ""
    whole = "Your criterion is" if len(left_out) == 1 else "All your criteria are"
    return f"{whole} left out, so this is the ranking without criteria: what people prefer on average."


def warnings_in_brief(warnings: Iterable[CriterionWarning]) -> str:
    """Return all warnings in one line for a table's head; of a whole list's warning the reason."""
    about = [item.reason if item.criterion is None else f"“{item.criterion}”" for item in warnings]
    return f"Doubtful: {'; '.join(about)}" if about else ""


NO_MUSTS = (
    "Essential criteria cannot be a must here: this judge reads texts, so asking it for each takes too long."
)


def musts_in_brief(musts: Sequence[Criterion], n_missing: int, n_llms: int) -> str:
    """Return a line for a table's head on criteria that are a must; empty without any."""
    missing = f"{n_missing or 'none'} of {n_llms} LLMs {'misses' if n_missing <= 1 else 'miss'} one"
    return f"Essential criteria are a must: {missing}" if musts else ""


def missed_in_words(missed: Iterable[Criterion]) -> str:
    """Return ``misses “Warm”; “Short”``; empty where nothing is missed."""
    about = [f"“{criterion}”" for criterion in missed]
    return f"misses {'; '.join(about)}" if about else ""


UNDER_FLOOR = "Below the floor: they suit you, but most people prefer others"
"""Above the LLMs that the floor leaves out of a ranking."""


def floor_in_words(floor: float) -> str:
    """Return who is above a floor: ``the better half``, ``the best 70 %``."""
    return "the better half" if floor == 1 / 2 else f"the best {100 * (1 - floor):.3g} %"


def floor_in_brief(floor: float, n_under: int) -> str:
    """Return a line for a table's head on a floor with ``n_under`` LLMs below it."""
    under = f"{n_under or 'none'} {'is' if n_under == 1 else 'are'} below the floor"
    return f"Only {floor_in_words(floor)} of the ranking without criteria: {under}"


def listed_in_brief(n_listed: int, n_llms: int, n_unknown: int) -> str:
    """Return a line on a ranking some rows of which are hidden."""
    why = f", {n_unknown} of them as what is asked for is not known of them" if n_unknown else ""
    shown = f"{n_listed or 'None'} of {n_llms} LLMs {'is' if n_listed <= 1 else 'are'} listed"
    return f"{shown}, {n_llms - n_listed} hidden{why}"


AGAINST_IN_WORDS: Mapping[Against, str] = {
    Against.ALL: "against every other",
    Against.BASELINE: "against the baseline",
}
"""What LLMs are ranked against, after “ranked”."""

EACH_OTHER = "each other"

SCORES: Mapping[Against, str] = {
    Against.ALL: "Score: percentage of the other LLMs’ answers that the LLM’s answers to the same questions "
    "would beat if all had answered everything (Bradley-Terry). Likely range: its 95 % interval.",
    Against.BASELINE: "Score: percentage of questions on which the LLM beats the baseline. Likely range: "
    "its 95 % interval.",
}
"""What the score is, by what LLMs are ranked against."""


def wins_in_words(against: Against, opponent: str) -> str:
    """Return what a score is a share of, for the head of a chart: ``Wins against GPT-4 Turbo``."""
    return f"Wins against {'the others' if against is Against.ALL else opponent}"


NOBODY_COMPLETE = "No two LLMs answered something of all you chose: each is ranked by the part it answered"
"""Where a choice is so wide that nobody would be left."""

NOT_COMPARED = "Not compared"
"""Above the LLMs that cannot be ranked against the others."""


def preferred_on_average(n_by_votes: int, n_llms: int) -> str:
    """Return what the default ranking is, of whose LLMs so many stand as people's votes say."""
    if not n_by_votes:
        return "This is the judge’s guess at what people prefer on average."
    others = "the others as their answers and what is known of them foretell"
    rest = "" if n_by_votes >= n_llms else f" ({n_by_votes} of {n_llms}; {others})"
    return (
        f"This is what people prefer on average: LLMs stand as they are rated on LMArena{rest}, "
        "and the judge says on which topics they are stronger."
    )


_TOPICS_NAMED = 3


def not_compared_in_words(lacking: Sequence[str]) -> str:
    """Return why an LLM is not compared: it lacks these chosen topics, or shares no query with the others."""
    if lacking:
        named = [f"“{topic}”" for topic in lacking]
        more = len(named) - _TOPICS_NAMED
        return (
            f"answered nothing on {listed(named if more < 1 else [*named[:_TOPICS_NAMED], f'{more} more'])}"
        )
    return "answered no question that a ranked LLM answered"


def too_few_in_words(n_answered: int, n_queries: int, least: float) -> str:
    """Return that an LLM answered too little to be ranked, and how much is enough.

    “answered only 20 of the 312 queries (6 %); ranked are LLMs from 50 % on”
    """
    if not n_answered:
        return f"answered none of the {n_queries:,} queries"
    share = f"{100 * n_answered / n_queries:.0f} %"
    enough = f"ranked are LLMs from {100 * least:.0f} % on"
    return f"answered only {n_answered:,} of the {n_queries:,} queries ({share}); {enough}"


def not_ready_in_words(command: str) -> str:
    """Return that an LLM's responses are still to be embedded, and what does it."""
    return f"is not ready yet: “{command}” computes its representations"


def not_compared_in_brief(n_llms: int) -> str:
    """Return a line for a table's head on LLMs that cannot be compared; empty without any."""
    return f"{n_llms} {'LLM is' if n_llms == 1 else 'LLMs are'} not compared" if n_llms else ""


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
