"""A view: everything that a person chose, as one value that a link can carry."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from urllib.parse import unquote, urlencode

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight, normalise
from leaderboard.errors import LeaderboardError
from leaderboard.llm_facts.listing import Listing
from leaderboard.statistics.style_control import Control

BENCHMARK_VARIABLE = "USL_BENCHMARK"
"""Environment variable that names the benchmark to begin with."""
DEFAULT_BENCHMARK = os.environ.get(BENCHMARK_VARIABLE, "").strip() or "modern"
DEFAULT_CRM = "embedded"
FIRST_FLOOR = 0.5
"""What the first criteria of a person come with; a link names it, and one without has none."""


class Against(StrEnum):
    """What LLMs are compared with."""

    BASELINE = "baseline"
    ALL = "all"
    """Every LLM with every other, on the queries that both answered."""

    @classmethod
    def named(cls, text: str) -> Against:
        """Return what a link names; a LeaderboardError where there is none."""
        try:
            return cls(text)
        except ValueError:
            raise LeaderboardError(
                f"LLMs cannot be ranked against {text!r}: choose {' or '.join(cls)}."
            ) from None


_FLAGS: Mapping[str, tuple[str, Weight | Polarity]] = {
    "avoid": ("polarity", Polarity.AVOID),
    "important": ("weight", Weight.IMPORTANT),
    "optional": ("weight", Weight.OPTIONAL),
}
_FOR = "for="
"""Before the name of a category in whose list a criterion stands."""


@dataclass(frozen=True)
class View:
    """What is ranked, on which queries, for whom and by which judge.

    Attributes:
        topics: Names of categories or topics; none means all queries.
        criteria: The person's criteria; none means the default ranking ∅.
        soft: Mean probabilities instead of shares of wins.
        topic_weights: How much the queries of some categories or topics count; each name once.
        interests: What the person uses LLMs for, as ``read_interests`` cleans it: queries count by closeness.
        keep_unjudged: Rank by criteria, too, that the judge says it cannot judge; else they are left out.
        floor: The share of LLMs, by the default ranking, that is shown apart from the ranking, at least 0 and
            less than 1; without criteria, and with None, every LLM is ranked.
        must_have: LLMs that miss an Essential criterion come after those that do not.
        listing: Which LLMs are shown, in which order, and at what cost; nothing else depends on it.
        against: What LLMs are compared with; None for what the benchmark is made for.
        keep_partial: Rank LLMs, too, that answered few queries or lack a topic; else they are listed apart.
        default_crm: Who judges the ranking without criteria, also where it is only compared with; None for
            the judge that ``crms.toml`` wants, and ``crm`` where it wants none.

    Raises:
        LeaderboardError: The floor is out of range.
    """

    benchmark: str = DEFAULT_BENCHMARK
    topics: tuple[str, ...] = ()
    criteria: CriteriaSet = field(default_factory=CriteriaSet)
    crm: str = DEFAULT_CRM
    soft: bool = False
    control: Control = Control.NONE
    topic_weights: tuple[TopicWeight, ...] = ()
    interests: tuple[str, ...] = ()
    keep_unjudged: bool = False
    floor: float | None = None
    must_have: bool = False
    listing: Listing = field(default_factory=Listing)
    against: Against | None = None
    keep_partial: bool = False
    default_crm: str | None = None

    def __post_init__(self) -> None:
        if self.floor is not None and not 0 <= self.floor < 1:
            raise LeaderboardError(
                f"The floor must be a number from 0 to less than 1, as in 0.5, not {self.floor:g}."
            )

    @property
    def crowd(self) -> View:
        """The view without criteria, and without what only counts where there are some."""
        return replace(self, criteria=CriteriaSet(), keep_unjudged=False, floor=None, must_have=False)

    @property
    def whole(self) -> View:
        """The view with all LLMs listed by rank: what the numbers depend on."""
        return replace(self, listing=Listing())

    def to_query(self) -> list[tuple[str, str]]:
        """Parameters of the link, defaults left out; ``from_query`` reads them back."""
        parameters = [("benchmark", self.benchmark)]
        parameters += [("topic", topic) for topic in self.topics]
        parameters += [("criterion", _written(criterion)) for criterion in self.criteria]
        if self.crm != DEFAULT_CRM:
            parameters.append(("crm", self.crm))
        if self.soft:
            parameters.append(("soft", "1"))
        if self.control is not Control.NONE:
            parameters.append(("control", self.control.value))
        parameters += [("topic-weight", str(weight)) for weight in self.topic_weights]
        parameters += [("interest", interest) for interest in self.interests]
        if self.keep_unjudged:
            parameters.append(("keep-unjudged", "1"))
        if self.floor is not None:
            parameters.append(("floor", repr(self.floor)))
        if self.must_have:
            parameters.append(("must-have", "1"))
        if self.against is not None:
            parameters.append(("against", self.against.value))
        if self.keep_partial:
            parameters.append(("keep-partial", "1"))
        if self.default_crm is not None:
            parameters.append(("default-crm", self.default_crm))
        return [*parameters, *self.listing.to_query()]

    def to_link(self, base: str = "", **extra: str) -> str:
        """Return the link that reproduces the view, with what else the page at ``base`` reads."""
        return f"{base}?{urlencode([*self.to_query(), *extra.items()])}"

    @classmethod
    def from_query(cls, parameters: Mapping[str, Sequence[str]]) -> View:
        """Read a link's parameters; what is absent takes its default.

        Raises:
            CriterionError: A criterion that no judge can take.
            LeaderboardError: A control or an opponent that does not exist; a weight or a floor that is none;
                interests that are too long or too many; as ``Listing.from_query``.
        """
        criteria = (_read(text) for text in parameters.get("criterion", ()) if text.strip())
        return cls(
            benchmark=_last(parameters, "benchmark", DEFAULT_BENCHMARK),
            topics=tuple(dict.fromkeys(parameters.get("topic", ()))),
            criteria=CriteriaSet(tuple(criteria)),
            crm=_last(parameters, "crm", DEFAULT_CRM),
            soft=_last(parameters, "soft", "") == "1",
            control=Control.named(_last(parameters, "control", Control.NONE)),
            topic_weights=read_topic_weights(parameters.get("topic-weight", ())),
            interests=read_interests(parameters.get("interest", ())),
            keep_unjudged=_last(parameters, "keep-unjudged", "") == "1",
            floor=_floor(_last(parameters, "floor", "")),
            must_have=_last(parameters, "must-have", "") == "1",
            listing=Listing.from_query(parameters),
            against=Against.named(text) if (text := _last(parameters, "against", "")) else None,
            keep_partial=_last(parameters, "keep-partial", "") == "1",
            default_crm=_last(parameters, "default-crm", "") or None,
        )


def _last(parameters: Mapping[str, Sequence[str]], name: str, default: str) -> str:
    values = parameters.get(name)
    return values[-1] if values else default


def _floor(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise LeaderboardError(f"The floor {text!r} is no number: write one such as 0.5.") from None


def _written(criterion: Criterion) -> str:
    """``for=Gaming|avoid|optional|long-winded items``; a wanted essential criterion is its bare text."""
    names = [f"{_FOR}{name.replace('%', '%25').replace('|', '%7C')}" for name in criterion.only_for]
    flags = [flag for flag, (attribute, value) in _FLAGS.items() if getattr(criterion, attribute) == value]
    # A text that could itself be taken for flags is set off by an empty one.
    guard = [""] if "|" in criterion.text else []
    return "|".join([*names, *flags, *guard, criterion.text])


def without_names(text: str) -> str:
    """Return a criterion as a link has it without what it is for."""
    while text.startswith(_FOR) and "|" in text:
        text = text.split("|", 1)[1]
    return text


def _read(text: str) -> Criterion:
    chosen: dict[str, Weight | Polarity] = {}
    names = list[str]()
    rest = text
    while "|" in rest:
        flag, remainder = rest.split("|", 1)
        if flag == "":
            rest = remainder
            break
        if flag.startswith(_FOR):
            names.append(unquote(flag.removeprefix(_FOR)))
            rest = remainder
            continue
        if flag not in _FLAGS:
            break
        attribute, value = _FLAGS[flag]
        chosen[attribute] = value
        rest = remainder
    weight, polarity = chosen.get("weight"), chosen.get("polarity")
    return Criterion(
        rest,
        weight if isinstance(weight, Weight) else Weight.ESSENTIAL,
        polarity if isinstance(polarity, Polarity) else Polarity.WANT,
        tuple(names),
    )


def read_for(texts: Iterable[str], polarity: Polarity = Polarity.WANT) -> tuple[Criterion, ...]:
    """Read criteria for categories, each written as ``NAME=TEXT``; a LeaderboardError if one is not."""
    found = []
    for text in texts:
        name, equals, wish = text.partition("=")
        if not (equals and name.strip() and wish.strip()):
            raise LeaderboardError(
                f"The criterion {text!r} names no category: write NAME=TEXT, as in “Gaming=short answers”."
            )
        parsed = Criterion.parse(wish)
        avoided = polarity is Polarity.AVOID or parsed.polarity is Polarity.AVOID
        found.append(
            replace(parsed, polarity=Polarity.AVOID if avoided else Polarity.WANT, only_for=(name.strip(),))
        )
    return tuple(found)


HEAVIEST = 100.0
"""Of a topic; beyond it the other topics count for nothing anyway."""


@dataclass(frozen=True, slots=True)
class TopicWeight:
    """How much every query of a category or topic counts, where the others count 1.

    Attributes:
        weight: From 0, which leaves its queries out, to ``HEAVIEST``.

    Raises:
        LeaderboardError: The weight is out of range.
    """

    name: str
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= HEAVIEST:
            raise LeaderboardError(
                f"The weight of {self.name!r} must be a number from 0 to {HEAVIEST:g}, not {self.weight:g}."
            )

    def __str__(self) -> str:
        """``Arts & Culture=2``, which ``parse`` reads."""
        return f"{self.name}={self.number}"

    @property
    def number(self) -> str:
        """The weight without loss, ``2`` rather than ``2.0``."""
        return str(int(self.weight)) if float(self.weight).is_integer() else repr(float(self.weight))

    @classmethod
    def parse(cls, text: str) -> TopicWeight:
        """Read ``NAME=WEIGHT``; a LeaderboardError if it is not written so, or the weight is out of range."""
        name, _, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not name.strip() or math.isnan(weight):
            raise LeaderboardError(
                f"The topic weight {text!r} cannot be read: write NAME=NUMBER, as in “Arts & Culture=2”."
            )
        return cls(name, weight)


def read_topic_weights(texts: Iterable[str]) -> tuple[TopicWeight, ...]:
    """Weights written as ``NAME=WEIGHT``, of a name the last; a LeaderboardError if one cannot be read."""
    return tuple({item.name: item for item in map(TopicWeight.parse, texts)}.values())


MAX_INTERESTS = 10
MAX_INTEREST = 300
"""Characters, as of a criterion."""


def read_interests(texts: Iterable[str]) -> tuple[str, ...]:
    """Return what a person uses LLMs for, one use a line, cleaned; blank and repeated lines are dropped.

    Raises:
        LeaderboardError: A line is too long, or there are too many.
    """
    lines = (normalise(line) for text in texts for line in text.splitlines())
    interests = tuple(dict.fromkeys(filter(None, lines)))
    for interest in interests:
        if len(interest) > MAX_INTEREST:
            raise LeaderboardError(
                f"“{interest[:40]}…” has {len(interest)} characters: write one use a line, "
                f"each of at most {MAX_INTEREST}."
            )
    if len(interests) > MAX_INTERESTS:
        raise LeaderboardError(
            f"There are {len(interests)} uses: keep the {MAX_INTERESTS} that matter most to you."
        )
    return interests
