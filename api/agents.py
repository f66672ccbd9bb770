"""Rankings as tools of an agent, which can ask which LLM suits its user (Model Context Protocol).

The server speaks over standard input and output, so that it serves the agent that started it and nobody else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Annotated, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from api import agent_replies, replies
from api.agent_replies import Compared, ComparedLLM, ListedTopics, OnTopic, RankedInBrief, Why
from api.asked import Name, Number, Text, benchmark_or_first
from api.limits import MAX_CRITERIA, MAX_NAMES
from api.replies import CriterionForCategories
from crm.criteria import CriteriaSet
from crm.errors import CRMError
from db import DatabaseError
from leaderboard.citation import version
from leaderboard.errors import LeaderboardError
from leaderboard.llm_facts.listing import Listing
from leaderboard.ranked import Ranked, rank_view
from leaderboard.robustness import significance_among
from leaderboard.service import Service
from leaderboard.view import View

_INSTRUCTIONS = (
    "Ranks LLMs for one person. Put what your user likes in an answer into short criteria, one wish each, in "
    "their own words, and pass on what stands under “answer”, which claims no more than the numbers bear. "
    "Names of topics are those of list_topics."
)
_MOST_ROWS = 200
_FEWEST_COMPARED = 2
_TOPICS_NAMED = 5

Criteria = Annotated[
    list[Text | CriterionForCategories],
    Field(max_length=MAX_CRITERIA, description="What the person likes in an answer, one wish each."),
]
Avoided = Annotated[
    list[Text], Field(max_length=MAX_CRITERIA, description="What an answer should avoid, one thing each.")
]
TopicNames = Annotated[
    list[Name], Field(max_length=MAX_NAMES, description="Topics or categories that count; none means all.")
]
Everyone = Annotated[
    bool,
    Field(description="Rank LLMs, too, that most people like less than most others; else they stand apart."),
]
Slug = Annotated[Name | None, Field(description="The benchmark’s slug; by default the first one.")]
LLMName = Annotated[Name, Field(description="An LLM, by its name or the name it is shown by.")]


P = ParamSpec("P")
R = TypeVar("R")


def mcp_server(service: Callable[[], Service]) -> MCPServer:
    """Return the server with its tools.

    Args:
        service: Returns what rankings are made by; asked at the first call of a tool.
    """
    server: MCPServer = MCPServer(
        "usl-leaderboard",
        title="User-centric Subjective Leaderboard",
        instructions=_INSTRUCTIONS,
        version=version(),
        log_level="WARNING",
    )

    @server.tool()
    @_in_a_sentence
    def rank_llms(
        *,
        criteria: Criteria = [],  # noqa: B006  # a schema is made of it
        avoid: Avoided = [],  # noqa: B006
        topics: TopicNames = [],  # noqa: B006
        benchmark: Slug = None,
        everyone: Everyone = False,
        open_weights: Annotated[bool, Field(description="Only LLMs with open weights.")] = False,
        max_price: Annotated[
            Number | None, Field(description="Only LLMs of at most so many dollars for a million tokens.")
        ] = None,
        released_since: Annotated[Name, Field(description="Only LLMs of this date or later: 2025-06.")] = "",
        search: Annotated[Text, Field(description="Only LLMs with these words in their name.")] = "",
        n: Annotated[int, Field(ge=1, le=_MOST_ROWS, description="So many LLMs at most.")] = 10,
    ) -> RankedInBrief:
        """Rank LLMs by what one person likes in an answer; without criteria, by what most people like."""
        listing = Listing(
            search=search, open_weights=open_weights, max_price=max_price, released_since=released_since
        )
        ranked = _ranked(
            service(),
            _view(
                service(),
                benchmark=benchmark,
                criteria=criteria,
                avoid=avoid,
                topics=topics,
                everyone=everyone,
                listing=listing,
            ),
        )
        whole = replies.ranking(ranked)
        assert whole.answer is not None
        return RankedInBrief(
            answer=whole.answer,
            notes=whole.notes,
            about=whole.about,
            n_llms=len(whole.ranking),
            ranking=[agent_replies.in_brief(row, ranked) for row in whole.ranking[:n]],
        )

    @server.tool()
    @_in_a_sentence
    def compare_llms(
        *,
        llms: Annotated[list[Name], Field(min_length=_FEWEST_COMPARED, max_length=10)],
        criteria: Criteria = [],  # noqa: B006
        avoid: Avoided = [],  # noqa: B006
        topics: TopicNames = [],  # noqa: B006
        benchmark: Slug = None,
        everyone: Everyone = False,
    ) -> Compared:
        """Compare a few LLMs for one person: scores, grades by criterion, and who can be told apart."""
        view = _view(
            service(), benchmark=benchmark, criteria=criteria, avoid=avoid, topics=topics, everyone=everyone
        )
        ranked = _ranked(service(), view)
        named = {_named(ranked, llm) for llm in llms}
        graded = agent_replies.grades(service(), view)
        rows = [row for row in replies.ranked_llms(ranked) if row.llm in named]
        found = significance_among(service(), view, named)
        return Compared(
            llms=[ComparedLLM(**row.model_dump(), grades=graded.get(row.llm, {})) for row in rows],
            differences=agent_replies.differences(found),
            notes=list(ranked.notes),
        )

    @server.tool()
    @_in_a_sentence
    def why(
        *,
        llm: LLMName,
        criteria: Criteria = [],  # noqa: B006
        avoid: Avoided = [],  # noqa: B006
        topics: TopicNames = [],  # noqa: B006
        benchmark: Slug = None,
        everyone: Everyone = False,
    ) -> Why:
        """Explain an LLM's place: grades, its best and worst topics, and the verdicts that are clearest."""
        view = _view(
            service(), benchmark=benchmark, criteria=criteria, avoid=avoid, topics=topics, everyone=everyone
        )
        ranked = _ranked(service(), view)
        name = _named(ranked, llm)
        scores = [score for score in service().topic_scores(view, name) if score.n_queries]
        verdicts = service().query_scores(view, name)
        [row] = [row for row in replies.ranked_llms(ranked) if row.llm == name]
        return Why(
            llm=row,
            n_llms=len(ranked.leaderboard.llms),
            grades=agent_replies.grades(service(), view).get(name, {}),
            criteria=agent_replies.readings(ranked.evidence.readings),
            best_topics=[OnTopic.model_validate(score) for score in scores[:_TOPICS_NAMED]],
            worst_topics=[OnTopic.model_validate(score) for score in scores[::-1][:_TOPICS_NAMED]],
            clearest_win=agent_replies.verdict(service(), view, name, verdicts[0].query)
            if verdicts
            else None,
            clearest_loss=agent_replies.verdict(service(), view, name, verdicts[-1].query)
            if verdicts
            else None,
            notes=list(ranked.notes),
        )

    @server.tool()
    @_in_a_sentence
    def list_topics(benchmark: Slug = None) -> ListedTopics:
        """List the benchmarks, and the categories and topics of one of them, by the names that tools take."""
        found = replies.topics(service(), benchmark_or_first(benchmark, service()))
        return ListedTopics(
            benchmarks=replies.benchmarks(service()).benchmarks,
            benchmark=found.benchmark,
            categories=found.categories,
        )

    return server


def _in_a_sentence(tool: Callable[P, R]) -> Callable[P, R]:
    """Let a tool tell the agent in one sentence what to change."""

    @functools.wraps(tool)
    def told(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return tool(*arguments, **options)
        except (LeaderboardError, CRMError, DatabaseError) as error:
            raise ToolError(str(error)) from error

    return told


def _view(
    service: Service,
    *,
    benchmark: str | None,
    criteria: Sequence[str | CriterionForCategories],
    avoid: Sequence[str],
    topics: Sequence[str],
    everyone: bool,
    listing: Listing | None = None,
) -> View:
    """Return the view; criteria are read as the command line reads them, and come with the page's floor."""
    wanted = [one if isinstance(one, str) else one.model_dump(mode="json", by_alias=True) for one in criteria]
    asked = CriteriaSet((*CriteriaSet.from_json(wanted), *CriteriaSet.of(avoided=avoid)))
    slug = benchmark_or_first(benchmark, service)
    return View(
        slug,
        tuple(dict.fromkeys(topics)),
        asked,
        floor=service.first_floor(slug) if asked and not everyone else None,
        listing=listing or Listing(),
    )


def _ranked(service: Service, view: View) -> Ranked:
    """Return the ranking of a view, when its judge has finished."""
    service.judge(view, compare=view.floor is not None)
    return rank_view(service, view)


def _named(ranked: Ranked, text: str) -> str:
    """Return the name of the LLM that is meant; a LeaderboardError where none of a ranking is."""
    titles = ranked.leaderboard.titles
    ranked_names = [llm for llm in ranked.leaderboard.llms if llm in titles]
    by_name = {word.casefold(): llm for llm in ranked_names for word in (titles[llm], llm)}
    if found := by_name.get(text.strip().casefold()):
        return found
    near = get_close_matches(text.strip().casefold(), list(by_name), n=3, cutoff=0.5)
    meant = " or ".join(dict.fromkeys(repr(by_name[word]) for word in near))
    hint = f"did you mean {meant}?" if meant else f"the first are {', '.join(ranked_names[:3])}."
    raise LeaderboardError(f"No LLM {text!r} is ranked here: {hint}")
