"""A view: everything a person chose, as one value that a link can carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from leaderboard.control import Control
from leaderboard.interests import read_interests
from leaderboard.topic_weight import TopicWeight, read_topic_weights

DEFAULT_BENCHMARK = "alpaca-eval"
DEFAULT_CRM = "embedded"

_FLAGS: Mapping[str, tuple[str, Weight | Polarity]] = {
    "avoid": ("polarity", Polarity.AVOID),
    "important": ("weight", Weight.IMPORTANT),
    "optional": ("weight", Weight.OPTIONAL),
}


@dataclass(frozen=True)
class View:
    """What is ranked, on which queries, for whom and by which judge.

    Attributes:
        benchmark: Slug.
        topics: Names of categories or topics; none means all queries.
        criteria: The person's criteria; none means the default ranking ∅.
        crm: Name of the judge.
        soft: Mean probabilities instead of shares of wins.
        control: What is removed from the win rates.
        topic_weights: How much the queries of some categories or topics count; each name once.
        interests: What the person uses LLMs for, as ``read_interests`` cleans it: queries count by closeness.
    """

    benchmark: str = DEFAULT_BENCHMARK
    topics: tuple[str, ...] = ()
    criteria: CriteriaSet = field(default_factory=CriteriaSet)
    crm: str = DEFAULT_CRM
    soft: bool = False
    control: Control = Control.NONE
    topic_weights: tuple[TopicWeight, ...] = ()
    interests: tuple[str, ...] = ()

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
        return parameters

    def to_link(self, base: str = "", **extra: str) -> str:
        """The link that reproduces the view, with what else the page at ``base`` reads."""
        return f"{base}?{urlencode([*self.to_query(), *extra.items()])}"

    @classmethod
    def from_query(cls, parameters: Mapping[str, Sequence[str]]) -> View:
        """Read a link's parameters; what is absent takes its default.

        Raises:
            CriterionError: A criterion that no judge can take.
            UnknownControlError: A control that does not exist.
            TopicWeightError: A weight that is none.
            InterestError: Interests that are too long or too many.
        """
        return cls(
            benchmark=_last(parameters, "benchmark", DEFAULT_BENCHMARK),
            topics=tuple(dict.fromkeys(parameters.get("topic", ()))),
            criteria=CriteriaSet(tuple(map(_read, _not_blank(parameters.get("criterion", ()))))),
            crm=_last(parameters, "crm", DEFAULT_CRM),
            soft=_last(parameters, "soft", "") == "1",
            control=Control.named(_last(parameters, "control", Control.NONE)),
            topic_weights=read_topic_weights(parameters.get("topic-weight", ())),
            interests=read_interests(parameters.get("interest", ())),
        )


def _last(parameters: Mapping[str, Sequence[str]], name: str, default: str) -> str:
    values = parameters.get(name)
    return values[-1] if values else default


def _not_blank(texts: Iterable[str]) -> Iterable[str]:
    return (text for text in texts if text.strip())


def _written(criterion: Criterion) -> str:
    """``avoid|optional|long-winded items``; a wanted essential criterion is its bare text."""
    flags = [flag for flag, (attribute, value) in _FLAGS.items() if getattr(criterion, attribute) == value]
    # A text that could itself be taken for flags is set off by an empty one.
    guard = [""] if "|" in criterion.text else []
    return "|".join([*flags, *guard, criterion.text])


def _read(text: str) -> Criterion:
    chosen: dict[str, Weight | Polarity] = {}
    rest = text
    while "|" in rest:
        flag, remainder = rest.split("|", 1)
        if flag == "":
            rest = remainder
            break
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
    )
