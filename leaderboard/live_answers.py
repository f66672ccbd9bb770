"""Answers to a question of the person's own, by LLMs of the ranking that are asked while they wait.

Nothing is ever sent unless whoever runs the app allows so many questions a visit and describes the LLMs, by
the names that they have in the benchmark, in ``llms.toml``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import ceil

from crm import registry
from crm.criteria import CriteriaSet
from crm.embedded.counts import Countable
from crm.embedded.evidence import counted_in
from crm.errors import ConfigError, CRMError
from crm.llm.chat_model import ReplyStatus
from crm.llm.endpoint import InteractiveLLM
from crm.llm.settings import ConfiguredLLM, EndpointLLMSettings, llms_file, read_llms
from crm.protocol import NamesUnits, Pair, Question
from leaderboard.errors import LeaderboardError
from leaderboard.limits import ask_llm_once_more
from leaderboard.llm_facts.configured import has_price, with_prices
from leaderboard.llm_facts.files import known_catalogue
from leaderboard.query_checklists.asked import QuestionChecklists
from leaderboard.query_checklists.checklist import QueryChecklist
from leaderboard.result import Leaderboard
from leaderboard.three_answers import (
    MOST_AMOUNTS,
    AmountInAnswer,
    Role,
    ShownAnswer,
    ShownQuestion,
    ThreeLLMs,
)

VARIABLE = "USL_LIVE_QUESTIONS"
"""Environment variable with the number of questions that a person may ask in one visit."""
MOST_CHARACTERS = 4000
"""Of a question."""
MOST_TOKENS = 1024
"""That an answer may have, whatever the table allows: a person waits for it, and pays for it."""
_PATIENCE = 60.0
_CHARACTERS_A_TOKEN = 4
_TWO = 2


def questions_allowed() -> int:
    """Return how many questions a person may ask in one visit; 0 where nobody is to be asked.

    Raises:
        ConfigError: The variable is no whole number.
    """
    given = os.environ.get(VARIABLE, "").strip() or "0"
    if not given.isdecimal() or len(given) > len("1000"):
        raise ConfigError(
            f"{VARIABLE} must be a whole number, of questions that a person may ask in a visit."
        )
    return int(given)


@dataclass(frozen=True)
class Panel:
    """The LLMs that answer, at most three, each with why it does.

    Attributes:
        roles: By name, in the order in which they are shown: the person's best, another, a contrast.
        three: The same for the page's words.
        settings: Their tables, by name.
    """

    roles: Mapping[str, Role]
    three: ThreeLLMs
    settings: Mapping[str, ConfiguredLLM]

    def cost(self, question: str) -> float | None:
        """Return the money that the answers to a question cost at most; None where a price is not known."""
        tokens = ceil(len(question) / _CHARACTERS_A_TOKEN)
        found = 0.0
        for llm in self.settings.values():
            if not has_price(llm):
                return None
            found += llm.settings.cost(tokens, llm.settings.max_tokens or MOST_TOKENS)
        return found


def panel_of(leaderboard: Leaderboard, listed: Sequence[str]) -> Panel:
    """Return who of the listed LLMs answers: the best that can be asked, the default's, and the worst.

    Raises:
        ConfigError: ``llms.toml`` is missing or wrong.
        LeaderboardError: Fewer than two of the ranked LLMs can be asked.
    """
    known = {
        llm.name: _hurried(llm)
        for llm in with_prices(read_llms(llms_file()), known_catalogue())
        if isinstance(llm.settings, EndpointLLMSettings)
    }
    rivals = [llm for llm in leaderboard.ranking.ranks if llm in set(listed) & known.keys()]
    if len(rivals) < _TWO:
        raise LeaderboardError(
            "Two LLMs of this ranking must be described in llms.toml, by their names here, to be asked: "
            f"{', '.join(rivals) or 'none'} {'is' if len(rivals) == 1 else 'are'} so far."
        )
    default = leaderboard.default if leaderboard.criteria else None
    ranks = (default or leaderboard.ranking).ranks
    best = rivals[0]
    other = next(llm for llm in ranks if llm in rivals and llm != best)
    names = list(dict.fromkeys((best, other, rivals[-1])))
    roles = dict(zip(names, Role, strict=False))
    three = ThreeLLMs(best, other, default is not None, ranks[other], (), readable=True)
    return Panel(roles, three, {name: known[name] for name in names})


def _hurried(llm: ConfiguredLLM) -> ConfiguredLLM:
    settings = llm.settings
    assert isinstance(settings, EndpointLLMSettings)
    changed = {
        "timeout": min(settings.timeout, _PATIENCE),
        "retries": min(settings.retries, 1),
        "max_tokens": min(settings.max_tokens or MOST_TOKENS, MOST_TOKENS),
    }
    return replace(llm, settings=settings.model_copy(update=changed))


@dataclass(frozen=True)
class LiveAnswers:
    """What came of asking.

    Attributes:
        shown: The question with the answers that came.
        problems: Why an LLM did not answer, one sentence each, by name; or by “” why the judge said nothing,
            or judged by the criteria as they are.
        checklist: What the criteria come to for this question, where an LLM wrote that: the answers are
            compared by it.
    """

    shown: ShownQuestion
    problems: Mapping[str, str]
    checklist: QueryChecklist | None = None


def ask(
    panel: Panel, question: str, criteria: CriteriaSet, crm: str, writer: QuestionChecklists | None = None
) -> LiveAnswers:
    """Ask all LLMs of the panel at once, and have the judge compare their answers with the best LLM's.

    Args:
        writer: Writes what the criteria come to for the question while the LLMs answer; by default the
            answers are compared by the criteria as they are.

    Raises:
        LeaderboardError: The question is blank or too long, or nobody answered.
    """
    question = question.strip()
    if not question:
        raise LeaderboardError("Write a question first.")
    if len(question) > MOST_CHARACTERS:
        raise LeaderboardError(
            f"The question has {len(question):,} characters, where {MOST_CHARACTERS:,} are the most: "
            "shorten it."
        )
    for _ in panel.roles:
        ask_llm_once_more()
    with ThreadPoolExecutor(len(panel.roles) + 1) as pool:
        written = pool.submit(_checklist, writer, criteria, question)
        replies = dict(
            zip(
                panel.roles,
                pool.map(lambda name: _reply(panel.settings[name], question), panel.roles),
                strict=True,
            )
        )
    texts = {name: text for name, (text, _) in replies.items() if text is not None}
    problems = {name: problem for name, (_, problem) in replies.items() if problem}
    if not texts:
        raise LeaderboardError(f"Nobody answered. {' '.join(problems.values())}")
    checklist, problem = written.result()
    if problem:
        problems[""] = problem
    criteria = checklist.criteria if checklist else criteria
    unknown = dict.fromkeys(texts, float("nan"))
    try:
        probs = _compared(question, texts, criteria, crm) if panel.three.best in texts else unknown
    except CRMError as error:
        probs = unknown
        problems[""] = f"The judge could not compare the answers. {error}"
    counted = _counted(criteria, crm)
    answers = tuple(
        ShownAnswer(
            *(panel.roles[name], name, text),
            tuple(AmountInAnswer(each, each.count(text)) for each in counted),
            *(probs[name], ()),
        )
        for name, text in texts.items()
    )
    return LiveAnswers(ShownQuestion(question, question, answers), problems, checklist)


def _checklist(
    writer: QuestionChecklists | None, criteria: CriteriaSet, question: str
) -> tuple[QueryChecklist | None, str]:
    """Return the checklist of a question, or why there is none; nothing where none is wanted."""
    if writer is None or not criteria:
        return None, ""
    try:
        return writer.write(criteria, question), ""
    except (CRMError, LeaderboardError) as error:
        return None, f"The answers are compared by your criteria as they are. {error}"


def _reply(llm: ConfiguredLLM, question: str) -> tuple[str | None, str]:
    """Return what an LLM replies, or why it does not, in one sentence."""
    settings = llm.settings
    assert isinstance(settings, EndpointLLMSettings)
    try:
        reply = InteractiveLLM(llm.name, settings, llms_file().name).ask(question)
    except CRMError as error:
        return None, str(error)
    if not reply.text:
        refused = reply.status is ReplyStatus.REFUSED
        return None, f"{llm.name} {'refuses to answer this' if refused else 'gave an empty answer'}."
    return reply.text, ""


def _counted(criteria: CriteriaSet, crm: str) -> list[Countable]:
    judge = registry.get_crm(crm)
    units = judge.units(criteria) if isinstance(judge, NamesUnits) else ()
    return [found for unit in units[:MOST_AMOUNTS] if (found := counted_in(unit)) is not None]


def _compared(question: str, texts: Mapping[str, str], criteria: CriteriaSet, crm: str) -> dict[str, float]:
    """Return the probability that each answer is preferred: the first's to the better of the others."""
    first, *others = texts
    if not others:
        return {first: float("nan")}
    pairs = [Question(criteria, Pair(question, texts[first], texts[other])) for other in others]
    verdicts = registry.get_crm(crm).judge(pairs)
    ahead = {other: verdict.prob_a for other, verdict in zip(others, verdicts, strict=True)}
    return {first: min(ahead.values())} | {other: 1 - prob for other, prob in ahead.items()}
