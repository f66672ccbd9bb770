"""What a request asks for: the parameters of a link to the page, within bounds, and the view they make."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from api.limits import MAX_CRITERIA, MAX_CRITERION, MAX_NAME, MAX_NAMES, MAX_WITH_NAMES
from crm.criteria import CriteriaSet
from leaderboard.service import Service
from leaderboard.statistics.style_control import Control
from leaderboard.view import DEFAULT_CRM, MAX_INTERESTS, Against, View, without_names

Name = Annotated[str, Field(max_length=MAX_NAME)]
Text = Annotated[str, Field(max_length=MAX_CRITERION)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _within_limit(text: Any) -> Any:
    """Return a criterion that is short enough but for what it is for."""
    if isinstance(text, str) and len(without_names(text)) > MAX_CRITERION:
        raise PydanticCustomError(
            "string_too_long", "string should have at most {limit} characters", {"limit": MAX_CRITERION}
        )
    return text


Wish = Annotated[str, Field(max_length=MAX_WITH_NAMES), BeforeValidator(_within_limit)]


class ReplyFormat(StrEnum):
    """How a ranking is written; the columns of CSV are those of the command line."""

    JSON = "json"
    CSV = "csv"
    CSV_FULL = "csv-full"


class BenchmarkQuery(BaseModel):
    """Which benchmark is meant."""

    model_config = ConfigDict(extra="forbid")

    benchmark: Name | None = Field(None, description="Slug of the benchmark; by default the first one.")


class RankQuery(BaseModel):
    """A view as the address of the page has it: a link's parameters can be sent as they are."""

    model_config = ConfigDict(extra="forbid", alias_generator=lambda name: name.replace("_", "-"))

    benchmark: Name | None = Field(None, description="Slug of the benchmark; by default the first one.")
    criterion: list[Wish] = Field(
        [],
        max_length=MAX_CRITERIA,
        description="What you like in an answer; repeatable. As in a link, “avoid|”, “important|” or "
        "“optional|” may stand before the text, and before these “for=NAME|”: then it stands in the list of "
        "that topic or category, which takes the place of the others there.",
    )
    avoid: list[Text] = Field(
        [], max_length=MAX_CRITERIA, description="What an answer should avoid; repeatable."
    )
    topic: list[Name] = Field([], max_length=MAX_NAMES, description="A topic or category; repeatable.")
    topic_weight: list[Name] = Field(
        [],
        max_length=MAX_NAMES,
        description="NAME=NUMBER: makes a topic count more or less than 1; repeatable.",
    )
    interest: list[Text] = Field(
        [], max_length=MAX_INTERESTS, description="What you use LLMs for: queries count by closeness to it."
    )
    crm: Name = Field(DEFAULT_CRM, description="Name of the judge.")
    default_crm: Name | None = Field(None, description="Who judges the ranking without criteria.")
    soft: bool = Field(False, description="Mean probabilities instead of shares of wins.")
    control: Control = Field(
        Control.NONE, description="Remove length, or length, lists, headings and bold (style)."
    )
    against: Against | None = Field(
        None, description="The baseline, or all: every LLM against every other. Benchmarks have a default."
    )
    floor: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="Share of LLMs, by the ranking without criteria, that is listed apart: 0.5.",
    )
    must_have: bool = Field(
        False, description="LLMs that miss an Essential criterion come after those that do not."
    )
    keep_unjudged: bool = Field(
        False, description="Rank by criteria, too, that the judge says it cannot judge."
    )
    keep_partial: bool = Field(
        False, description="Rank LLMs, too, that answered few queries or lack a topic."
    )
    search: Text = Field("", description="Only LLMs with these words in their name.")
    open_weights: bool = Field(False, description="Only LLMs with open weights.")
    organisation: list[Name] = Field([], max_length=MAX_NAMES, description="Only LLMs by it; repeatable.")
    max_price: Number | None = Field(
        None, description="Only LLMs of at most so many dollars for a million tokens, half of them written."
    )
    released_since: Name = Field("", description="Only LLMs of this day, month or year, or later: 2025-06.")
    min_context: int | None = Field(None, ge=1, le=10**12, description="Only LLMs that read so many tokens.")
    messages: Number | None = Field(None, description="Messages a day: adds what a month of an LLM costs.")
    tokens_read: Number | None = Field(None, description="Of each message, 500 by default.")
    tokens_written: Number | None = Field(None, description="Of each answer, 500 by default.")
    sort: Name = Field("", description="What rows are sorted by, as in a link: “price”, “-released”.")
    format: ReplyFormat = Field(ReplyFormat.JSON, description="How the ranking is written.")

    def view(self, service: Service) -> View:
        """Return the view, read as a link is.

        Raises:
            CriterionError, LeaderboardError: As ``View.from_query``.
        """
        given = self.model_dump(mode="json", by_alias=True, exclude={"avoid", "format"})
        given["benchmark"] = benchmark_or_first(self.benchmark, service)
        view = View.from_query({name: _texts(value) for name, value in given.items()})
        avoided = CriteriaSet.of(avoided=filter(str.strip, self.avoid))
        return replace(view, criteria=CriteriaSet((*view.criteria, *avoided)))


def benchmark_or_first(slug: str | None, service: Service) -> str:
    """Return the benchmark that is named, or without a name the one that the page begins with."""
    return slug or service.first_benchmark()


def _texts(value: Any) -> list[str]:
    """Return a parameter as a link has it: once for each value, a switch only where it is on."""
    if isinstance(value, list):
        return value
    if value is None or value is False:
        return []
    return ["1"] if value is True else [str(value)]
