"""A ranking as an answer: which LLM suits the person, why, and whether to believe it, in a few sentences.

An answer is made from what is known of a ranking and names only LLMs that are listed. It claims no more than
the numbers bear: LLMs that cannot be told apart are said to be tied, and where the judge is not reliable for
the criteria, or has not finished, the first words say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from crm import registry
from crm.criteria import Criterion
from crm.embedded.beside_limits import limits_and_rest
from leaderboard.amounts import MeanAmount
from leaderboard.coach import alike_sentences
from leaderboard.listed import Listed
from leaderboard.llm_facts.choosing import Choice
from leaderboard.reading import Badge, CriterionReading, reading_of
from leaderboard.request import check_criteria
from leaderboard.result import Leaderboard
from leaderboard.robustness import WithoutOne
from leaderboard.sentences import (
    MIN_QUERIES,
    NOBODY_COMPLETE,
    floor_in_words,
    kept_in_words,
    left_out_in_brief,
    listed,
    missed_in_words,
    percent,
    preferred_on_average,
    warning_sentence,
)
from leaderboard.view import Against
from parsing.messages import quantity

_NAMED = 3
"""So many LLMs are named beside the first; more are counted."""
_MOST_ALONE = 5
"""So many criteria are looked at one by one, the weightiest; each costs a score matrix."""
_RELIABLE = (Badge.COUNTED, Badge.STYLE)
_USUAL = 0.1
"""Of the way from the typical amount to the best one: so near the typical, an amount has decided nothing."""
_HARDLY_ANY = 0.05
"""Less than one in twenty answers has it: two such amounts are alike."""
_WIDE = 0.1
"""LLMs whose win rates are further apart are not called tied, even where nothing proves who is better."""
_USUALLY = 0.5
"""From this share of its answers on, an LLM usually keeps to an amount."""
_MUST = " With “Essential criteria are a must” whoever mostly does comes first."
_TURNS_NAMED = 2
_LEFT_OUT = {True: "criterion", False: "topic"}
_NTH = {1: "st", 2: "nd", 3: "rd"}
_TEENS = range(11, 14)
_FIELD = 3
"""With so many LLMs there is one in the middle."""


@dataclass(frozen=True)
class ReadCriterion:
    """A criterion and how the judge reads it; None where the judge does not say."""

    criterion: Criterion
    reading: CriterionReading | None


@dataclass(frozen=True)
class Evidence:
    """What an answer rests on besides the leaderboard.

    Attributes:
        choice: The listed LLMs that can come first, what they cost, and who cannot be told apart from the
            first; None while that is unknown.
        readings: The criteria of the view, those that are left out among them.
        won: Share of comparisons that each LLM wins under single criteria alone, by its name.
        without_one: The top of the listed LLMs without each criterion and each category in turn.
    """

    choice: Choice | None = None
    readings: tuple[ReadCriterion, ...] = ()
    won: Mapping[Criterion, Mapping[str, float]] = field(default_factory=dict)
    without_one: tuple[WithoutOne, ...] = ()

    @property
    def like_first(self) -> tuple[str, ...]:
        """The LLMs that cannot be told apart from the first, itself included; none while that is unknown."""
        return tuple(offer.llm for offer in self.choice.offers if offer.like_first) if self.choice else ()


def read_criteria(leaderboard: Leaderboard) -> tuple[ReadCriterion, ...]:
    """Return how the view's judge reads each of its criteria; raises as ``registry.get_crm``."""
    crm = registry.get_crm(leaderboard.view.crm)
    checked = check_criteria(crm, leaderboard.view)
    return tuple(ReadCriterion(item, reading_of(crm, checked, item)) for item in leaderboard.view.criteria)


def looked_at_alone(leaderboard: Leaderboard, readings: Sequence[ReadCriterion]) -> list[Criterion]:
    """Return the criteria of which the answer says who wins under them alone, for ``won_alone``.

    These are the weightiest that no amounts stand for; none where there is only one, as its ranking says it.
    """
    counted = {item.criterion for item in readings if item.reading and item.reading.badge is Badge.COUNTED}
    if len(leaderboard.criteria) == 1:
        return []
    asked = [item for item in leaderboard.criteria if not leaderboard.amounts or item not in counted]
    return sorted(asked, key=lambda criterion: -criterion.weight.value_in_sum)[:_MOST_ALONE]


@dataclass(frozen=True)
class Answer:
    """What a person is told first; every part is empty where there is nothing to say.

    Attributes:
        lead: Before the title: “Best for you”, “Perhaps best for you”, “By default”; empty without a first.
        title: Who it is, or how many cannot be told apart.
        tail: Who is tied with it, or who is first by a hair.
        llm: The first LLM's name in the benchmark; None where nobody is first.
        decided: Whether the title is that LLM, as few others are as good.
        sure: Whether nobody is tied with it, and nothing speaks against relying on it.
        against: What speaks against relying on it, one sentence each.
        limits: What else one should know, one sentence each.
        why: What decided.
        reliability: How each criterion is judged.
        turns: What would change who comes first.
        cheapest: The cheapest that cannot be told apart from the first.
        by_default: Where the first stands without the criteria.
        wishes: The criteria that the ranking is made by.
    """

    lead: str
    title: str
    tail: str = ""
    llm: str | None = None
    decided: bool = False
    sure: bool = False
    against: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    why: str = ""
    reliability: tuple[ReadCriterion, ...] = ()
    turns: str = ""
    cheapest: str = ""
    by_default: str = ""
    wishes: str = ""

    @property
    def headline(self) -> str:
        """The answer in one sentence: “Best for you: X, practically tied with Y and Z.”"""
        return _sentence(f"{f'{self.lead}: ' if self.lead else ''}{self.title}{self.tail}")

    @property
    def in_brief(self) -> tuple[str, ...]:
        """The answer in one or two lines: who, then why and what speaks against it, but for its limits."""
        about = " ".join(filter(None, (self.why, self.by_default, *self.against)))
        return (self.headline, about) if about else (self.headline,)

    def to_text(self, source: str, link: str) -> str:
        """Return the answer as a few lines to be sent to somebody, who is told what was asked for.

        Args:
            source: What it rests on, in words.
            link: Where the view can be seen.
        """
        asked = f"What I like in an answer: {self.wishes}." if self.wishes else ""
        limits = " ".join(self.limits)
        return "\n".join(filter(None, (asked, *self.in_brief, limits, _sentence(source), link)))


def make_answer(leaderboard: Leaderboard, shown: Listed, evidence: Evidence) -> Answer:
    """Return the answer that a ranking gives, of the LLMs that are listed.

    Args:
        leaderboard: The whole one.
        shown: What the view's filters leave of it.
    """
    return _Maker(leaderboard, shown, evidence).answer()


@dataclass(frozen=True)
class _Maker:
    """Puts an answer together."""

    leaderboard: Leaderboard
    shown: Listed
    evidence: Evidence

    def answer(self) -> Answer:
        rivals = self.rivals
        if not rivals:
            return self._nobody()
        first, ranks = rivals[0], self.leaderboard.ranking.ranks
        level = [llm for llm in rivals if ranks[llm] == ranks[first]]
        like_first = self._like_first(rivals)
        alike = [llm for llm in rivals if llm in level or llm in like_first]
        found = Answer(
            lead=self._lead(len(rivals)),
            title=self.title(first),
            tail=self._ties(level, alike, len(rivals)),
            llm=first,
            decided=True,
            sure=len(alike) == 1 < len(rivals) and not self._against(),
            against=self._against(),
            limits=self._limits(first),
            reliability=self.evidence.readings,
            wishes="; ".join(map(str, self.leaderboard.criteria)),
        )
        if len(alike) > _NAMED + 1:
            found = self._too_close(found, level, alike, len(rivals))
        if len(level) > _NAMED + 1:
            return replace(found, llm=None)
        return replace(
            found,
            why=_sentence(self._why(rivals)),
            turns=self._turns(first),
            cheapest=self._cheapest(),
            by_default=self._by_default(first),
        )

    @property
    def partial(self) -> bool:
        """Whether more is still to be judged."""
        return self.leaderboard.n_judged < self.leaderboard.n_queries

    @property
    def rivals(self) -> list[str]:
        """The LLMs that are ranked and listed, best first."""
        names = set(self.shown.leaderboard.ranking.llms)
        return [llm for llm in self.leaderboard.ranking.ranks if llm in names]

    def title(self, llm: str) -> str:
        return self.leaderboard.titles[llm]

    def titles(self, llms: Sequence[str]) -> str:
        """Return the names the LLMs are shown by, the first few if they are many."""
        if len(llms) <= _NAMED:
            return listed([self.title(llm) for llm in llms])
        named = [self.title(llm) for llm in llms[: _NAMED - 1]]
        return f"{', '.join(named)} and {len(llms) - len(named)} others"

    def _nobody(self) -> Answer:
        """Return that there is no first, and why."""
        left = self.shown.leaderboard
        if not left.llms and self.shown.hidden:
            title = "No LLM passes your filters"
        elif left.ranking.under_floor and not left.ranking.ranks:
            title = "Your filters leave only LLMs below the floor: most people prefer others"
        else:
            title = "No LLM could be ranked here"
        return Answer("", title, against=self._against())

    def _lead(self, n: int) -> str:
        opening = "So far best" if self.partial else "Perhaps best" if self._against() else "Best"
        whom = "for you" if self.leaderboard.criteria else "by default"
        return f"{opening} {whom}{f' of the {n} listed' if self.shown.hidden and n > 1 else ''}"

    def _ties(self, level: Sequence[str], alike: Sequence[str], n: int) -> str:
        """Return who else it may be, after the first one's name."""
        if n == 1:
            return f", the only one {'listed' if self.shown.hidden else 'ranked'}"
        others = [llm for llm in alike if llm not in level]
        tied = "practically tied with" if self._is_close([*level, *others]) else "though not surely ahead of"
        tied = "closely followed by" if self.partial else tied
        ties = [f"level with {self.titles(level[1:])}"] if level[1:] else []
        ties += [f"{tied} {self.titles(others)}"] if others else []
        return f", {' and '.join(ties)}" if ties else ""

    def _is_close(self, llms: Sequence[str]) -> bool:
        """Return whether LLMs win about as often, so that “tied” is the word for them."""
        won = self._won(llms).values()
        return max(won) - min(won) <= _WIDE

    def _won(self, llms: Sequence[str]) -> dict[str, float]:
        """Return the share of comparisons that each of some LLMs wins."""
        ranking = self.leaderboard.ranking
        return {llm: float(ranking.win_rate[ranking.llms.index(llm)]) for llm in llms}

    def _too_close(self, found: Answer, level: Sequence[str], alike: Sequence[str], n: int) -> Answer:
        """Return the answer that so many LLMs may be as good as the first one, which is named last."""
        n_alike = len(alike)
        whom = "For you" if self.leaderboard.criteria else "By default"
        everyone = f"{n} LLMs{' listed' if self.shown.hidden else ''}"
        how_many = f"All {everyone}" if n_alike == n else f"{n_alike} of the {everyone}"
        if len(level) > _NAMED + 1:
            title = f"{len(level)} LLMs share the first place"
        elif self.partial:
            title = f"{how_many} could still come first"
        elif not self._is_close(alike):
            title = f"{how_many} could be the best"
        else:
            title = f"{how_many} are practically tied{'' if n_alike == n else ' at the top'}"
        tail = f"; first by a hair: {found.title}" if len(level) == 1 else ""
        lead = f"So far {whom.lower()}" if self.partial else whom
        return replace(found, lead=lead, title=title, tail=tail, decided=False)

    def _like_first(self, rivals: Sequence[str]) -> set[str]:
        """Return who cannot be told apart from the first; while a judge works, who may still be first."""
        choice = self.evidence.choice
        if choice is not None and choice.offers[0].llm == rivals[0]:
            return {offer.llm for offer in choice.offers if offer.like_first}
        if not self.partial:
            return set()
        ranking = self.leaderboard.ranking
        best = int(ranking.rank[ranking.llms.index(rivals[0])])
        return {llm for llm in rivals if ranking.rank_low[ranking.llms.index(llm)] <= best}

    def _against(self) -> tuple[str, ...]:
        """Return what speaks against relying on the answer, one sentence each."""
        board = self.leaderboard
        found = [board.narrow, board.nothing_left, self._unreliable()]
        found += [warning.reason for warning in board.warnings if warning.criterion is None]
        found += map(warning_sentence, board.absent)
        if self.partial:
            found.append(f"Only {board.n_judged} of {board.n_queries} questions are judged so far.")
        elif board.n_judged < MIN_QUERIES and not board.narrow:
            found.append(f"This rests on only {quantity(board.n_judged, 'question')}.")
        if board.distant:
            found.append(f"No question here fits {listed([f'“{each}”' for each in board.distant], 'or')}.")
        return tuple(filter(None, found))

    def _unreliable(self) -> str:
        """Return that the judge is not reliable for any of the criteria; empty if it is for one."""
        ranked = set(self.leaderboard.criteria)
        used = [
            item.reading and item.reading.badge for item in self.evidence.readings if item.criterion in ranked
        ]
        if not used or any(badge in _RELIABLE for badge in used):
            return ""
        what = "criterion" if len(used) == 1 else "criteria"
        if all(badge is None for badge in used):
            judge = self.leaderboard.view.crm
            return f"How often the judge “{judge}” is right about your {what} has not been measured."
        if all(badge is Badge.WORDING for badge in used):
            return f"The judge goes by the wording of your {what} alone, which it often gets wrong."
        return f"The judge is not reliable for your {what}."

    def _limits(self, first: str) -> tuple[str, ...]:
        """Return what else a person should know who relies on the answer, one sentence each."""
        board, found = self.leaderboard, []
        ranks = board.ranking.ranks
        if not board.view.criteria:
            found.append(preferred_on_average(board.n_by_votes, len(board.ranking.llms)))
            found.append("Say what you like to get an answer of your own.")
        if better := sum(rank < ranks[first] for rank in ranks.values()):
            hidden = f"{quantity(better, 'LLM')} that {'ranks' if better == 1 else 'rank'} higher"
            found.append(f"Your filters hide {hidden}.")
        found += filter(None, (self._seldom_kept(amount, first) for amount in board.amounts))
        found += alike_sentences(board.amounts, self.evidence.won, board.llms)
        if missed := missed_in_words(board.misses.get(first, ())):
            found.append(f"None of them meets everything essential: {self.title(first)} {missed}.")
        n = len(board.ranking.llms)
        if len(board.too_few) > (enough := n - len(board.not_compared)):
            found.append(f"Only {enough} of {n} LLMs answered enough of all you chose to be compared.")
        if board.nobody_complete:
            found.append(f"{NOBODY_COMPLETE}.")
        if board.floor_waits:
            found.append("LLMs that few people prefer are still to be set apart.")
        if left_out := left_out_in_brief(board.left_out if board.criteria else ()):
            found.append(f"{left_out}.")
        return tuple(found)

    def _seldom_kept(self, amount: MeanAmount, first: str) -> str:
        """Return that no LLM usually keeps to an amount that is wished, or that the first does not; empty
        where it does.

        LLMs that have answered other questions may keep to it more often, and yet be further from it there
        than the first is.
        """
        shares = {llm: amount.kept.get(llm, np.nan) for llm in self.rivals}
        known = {llm: share for llm, share in shares.items() if not np.isnan(share)}
        if not known:
            return ""
        best = max(known, key=known.__getitem__)
        if known[best] >= _USUALLY:
            if known.get(first, 1.0) >= _USUALLY or len(self.leaderboard.criteria) > 1:
                return ""
            [criterion] = self.leaderboard.criteria
            nearer = ", and is nearer to it than others on the questions it was asked"
            return (
                f"{self.title(first)} keeps to {amount.limit} in {percent(known[first])} of its answers "
                f"only{nearer if limits_and_rest(criterion.text) is None else ''}; "
                f"{self.title(best)} does so most often, in {percent(known[best])} of its answers."
                f"{'' if self.leaderboard.view.must_have else _MUST}"
            )
        if known[best] == 0:
            return f"No LLM here gave a single answer with {amount.limit}."
        how_often = percent(known[best])
        return (
            f"No LLM here usually keeps to {amount.limit}: {self.title(best)} does so most often, "
            f"in {how_often} of its answers."
        )

    def _why(self, rivals: Sequence[str]) -> str:
        """Return what decided, then which amounts speak against the first, after all."""
        first = rivals[0]
        parts: list[str] = []
        against: list[str] = []
        for amount in self.leaderboard.amounts:
            if len(self.leaderboard.criteria) > 1 and _is_usual(amount, first, rivals):
                continue
            said = _amount_in_words(amount, first, rivals, self._of_whom(len(rivals)))
            said += kept_in_words(amount, first)
            (against if _speaks_against(amount, first, rivals) else parts).append(said)
        if self.evidence.won and len(self.leaderboard.criteria) > 1:
            parts.append(self._alone(self.evidence.won, rivals))
        why = "; ".join(filter(None, parts)) or self._all_together(rivals)
        return f"{why}; this despite {listed(against)}" if against else why

    def _of_whom(self, n: int) -> str:
        """Return who an LLM is compared with, after “the fewest”."""
        if self.shown.hidden:
            return f"of the {n} listed"
        floor = self.leaderboard.view.floor
        if floor and self.leaderboard.ranking.under_floor:
            return f"in {floor_in_words(floor)}"
        return f"of all {n}"

    def _all_together(self, rivals: Sequence[str]) -> str:
        """Return the share of comparisons that the first wins, which is its score."""
        won = self._won(rivals)
        return f"It {self._wins(won[rivals[0]])}{_typical(won)}"

    def _alone(self, won: Mapping[Criterion, Mapping[str, float]], rivals: Sequence[str]) -> str:
        """Return under which criterion the first stands out from the field, and under which from the next."""
        first = rivals[0]
        known = {
            criterion: {llm: shares[llm] for llm in rivals if not np.isnan(shares.get(llm, np.nan))}
            for criterion, shares in won.items()
        }
        known = {criterion: shares for criterion, shares in known.items() if first in shares}
        if not known:
            return ""

        def lead(criterion: Criterion) -> float:
            shares = known[criterion]
            return criterion.weight.value_in_sum * (shares[first] - median(shares.values()))

        strongest = max(known, key=lead)
        if lead(strongest) <= 0 and len(known) > 1:
            return "it stands out by none of your criteria alone, but does well by all of them together"
        found = f"judged by “{strongest}” alone, it {self._wins(known[strongest][first])}"
        return f"{found}{_typical(known[strongest])}{self._ahead_of_next(rivals, known, strongest)}"

    def _ahead_of_next(
        self, rivals: Sequence[str], known: Mapping[Criterion, Mapping[str, float]], said: Criterion
    ) -> str:
        """Return under which criterion the first is furthest ahead of the next; empty if under none."""
        if len(rivals) == 1:
            return ""
        first, other = rivals[:2]
        gaps = {
            criterion: criterion.weight.value_in_sum * (shares[first] - shares[other])
            for criterion, shares in known.items()
            if other in shares
        }
        furthest = max(gaps, key=gaps.__getitem__, default=said)
        if gaps.get(furthest, 0.0) <= 0:
            return ""
        own, others = (f"{100 * known[furthest][llm]:.0f} %" for llm in (first, other))
        if furthest == said:
            return f" and the next, {self.title(other)}, has {others}"
        return f"; it is ahead of the next, {self.title(other)}, by “{furthest}” ({own} to {others})"

    def _wins(self, share: float) -> str:
        board = self.leaderboard
        percentage = f"{100 * share:.0f} %"
        if board.against is Against.ALL:
            return f"wins {percentage} of comparisons with the others"
        return f"wins {percentage} of comparisons with {board.opponent}"

    def _turns(self, first: str) -> str:
        """Return what would change who comes first, of what was left out in turn."""
        criteria = len(self.leaderboard.criteria)
        tried = [
            item
            for item in self.evidence.without_one
            if item.after and item.before[:1] == (first,) and not (item.is_criterion and criteria == 1)
        ]
        if not tried:
            return ""
        kinds = {item.is_criterion for item in tried}
        what = " or ".join(name for is_criterion, name in _LEFT_OUT.items() if is_criterion in kinds)
        turning: dict[str, list[str]] = {}
        for item in tried:
            if item.after[0] != first:
                name = f"“{item.left_out}”" if item.is_criterion else f"questions on {item.left_out}"
                turning.setdefault(item.after[0], []).append(name)
        if not turning:
            return f"{self.title(first)} stays first whichever {what} is left out."
        parts = [
            f"without {_some(names)}, {self.title(llm)} would come first"
            for llm, names in list(turning.items())[:_TURNS_NAMED]
        ]
        return _sentence("; ".join(parts))

    def _cheapest(self) -> str:
        """Return the sentence on the cheapest LLM that cannot be told apart from the first."""
        choice = self.evidence.choice
        if choice is None or not choice.sentence or sum(offer.like_first for offer in choice.offers) == 1:
            return ""
        among = "Among the LLMs listed: " if self.shown.hidden else ""
        return f"{among}{choice.sentence} Prices as of {choice.prices_date}."

    def _by_default(self, first: str) -> str:
        """Return where the first stands without criteria, and what becomes of the first there."""
        board = self.leaderboard
        if not board.criteria or board.default is None or first not in board.default.ranks:
            return ""
        before = board.default.ranks
        if before[first] == 1:
            return f"{self.title(first)} is first by default as well."
        favourite = next(iter(before))
        place = f"{self.title(first)} is {_nth(before[first])} of {len(before)} by default"
        if favourite not in self.rivals:
            return f"{place}."
        here = _nth(board.ranking.ranks[favourite])
        return f"{place}; the first there, {self.title(favourite)}, is {here} for you."


def _amount_in_words(amount: MeanAmount, llm: str, rivals: Sequence[str], of_whom: str) -> str:
    """Return “42 words an answer, the fewest of all 47, where 180 is typical”; empty where it is unknown."""
    known = [name for name in rivals if not np.isnan(amount.by_llm[name])]
    if llm not in known:
        return ""
    written = {name: amount.written(amount.by_llm[name]) for name in known}
    values = {name: float(text) for name, text in written.items()}
    others = [value for name, value in values.items() if name != llm]
    own, thing = values[llm], amount.unit.removesuffix(" an answer")
    each = thing != amount.unit
    text = f"{written[llm]} {amount.unit}"
    is_rare = _is_rare(amount, own)
    if is_rare:
        text = f"{'no' if amount.by_llm[llm] == 0 else 'hardly any'} {thing}"
    if not others or len(set(values.values())) == 1:
        return text
    least, most = ("the fewest", "the most") if each else ("the lowest", "the highest")
    place = ""
    if own < min(others) and own > 0:
        place = f", {least} {of_whom}"
    elif own > max(others):
        place = f", {most} {of_whom}"
    typical = amount.written(median(amount.by_llm[name] for name in known))
    if typical == written[llm] or (is_rare and _is_rare(amount, float(typical))):
        return f"{text}, as is typical"
    return f"{text}{place}, where {typical} is typical"


def _is_rare(amount: MeanAmount, value: float) -> bool:
    """Return whether answers with so much of a thing on average hardly ever have it."""
    return amount.unit.endswith(" an answer") and value < _HARDLY_ANY


def _is_usual(amount: MeanAmount, llm: str, rivals: Sequence[str]) -> bool:
    """Return whether an amount is no further from the typical one than a tenth of the way to the best one."""
    known = [value for name in rivals if not np.isnan(value := amount.by_llm[name])]
    if not amount.wished or np.isnan(amount.by_llm[llm]):
        return False
    typical = median(known)
    best = max(known) if amount.wished > 0 else min(known)
    return abs(amount.by_llm[llm] - typical) < _USUAL * abs(best - typical)


def _speaks_against(amount: MeanAmount, llm: str, rivals: Sequence[str]) -> bool:
    """Return whether an LLM's amount is on the wrong side of the typical one, as both are written."""
    own = amount.by_llm[llm]
    if not amount.wished or np.isnan(own):
        return False
    typical = median(value for name in rivals if not np.isnan(value := amount.by_llm[name]))
    if _is_rare(amount, max(own, typical)):
        return False
    return amount.wished * (float(amount.written(own)) - float(amount.written(typical))) < 0


def _typical(shares: Mapping[str, float]) -> str:
    """Return the share of the LLM in the middle of a field; empty where there is no field."""
    return f", where {100 * median(shares.values()):.0f} % is typical" if len(shares) >= _FIELD else ""


def _some(names: Sequence[str]) -> str:
    """Return ``a, b or 3 others``."""
    if len(names) <= _NAMED:
        return listed(names, "or")
    return f"{', '.join(names[: _NAMED - 1])} or one of {len(names) - _NAMED + 1} others"


def _nth(place: int) -> str:
    """Return ``1st``, ``2nd``, ``11th``."""
    return f"{place}{'th' if place % 100 in _TEENS else _NTH.get(place % 10, 'th')}"


def _sentence(text: str) -> str:
    """Return a text as a sentence, with a capital and a full stop; the empty one stays empty."""
    if not text:
        return ""
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"
