"""Generated people who vote, and files of their votes in the forms that are published.

Nobody of them is real, and the judge has no part in them: what they like is counted in the bundled texts by
``benchmarks._counts``. Each goes by two counts of their own and, as people also agree, by two that all like,
with logistic noise. They see two random assistants' answers to a random query of DailyBench, and call a tie
where hardly anything speaks for either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._counts import COUNTERS
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.choice_model import ChoiceOutcome

OF_ALL = ("words", "bold")
"""What everybody likes a little more of."""
OWN = (
    *("words", "sentence_length", "bullets", "numbered", "headings", "emojis", "exclamations", "questions"),
    *("asks_back", "numbers", "first_person", "second_person", "word_length", "contractions"),
)
"""What some like much more of, and others less."""
_QUERIES = 60
"""Fewest queries that are asked."""
_OWN_SHARE = 0.8
"""Of a person's taste that is their own; the rest is everybody's."""
_NOISE = 0.25
_TIE = 0.1
_DAY = 86_400
_START = 1_735_689_600
"""The first vote, in seconds: 2025-01-01."""


@dataclass(frozen=True)
class Vote:
    """What one generated person said of two answers, and when, in seconds."""

    person: str
    query: str
    llms: tuple[str, str]
    texts: tuple[str, str]
    outcome: ChoiceOutcome
    moment: int


def generated_votes(benchmark: LoadedBenchmark, people: int, votes: int, seed: int = 0) -> list[Vote]:
    """Return so many votes of each of so many people, in the order of time."""
    random = np.random.default_rng(seed)
    # Of few queries: their answers are counted in, and read by whoever foretells, once for everybody.
    asked = random.permutation(benchmark.n_queries)[: max(votes, _QUERIES)]
    counts = _standardised(benchmark, asked)
    cast = []
    for number in range(people):
        liked = _taste(counts, random)
        for place, column in enumerate(random.permutation(len(asked))[:votes].tolist()):
            query = int(asked[column])
            rows = random.choice(len(benchmark.respondents), 2, replace=False).tolist()
            texts = [benchmark.text_at(benchmark.respondents[row], query) or "" for row in rows]
            outcome = _outcome(liked[rows, column], float(liked[:, column].mean()), random)
            moment = _START + place * _DAY + number
            llms = (benchmark.respondents[rows[0]], benchmark.respondents[rows[1]])
            text = benchmark.query_texts[query] or ""
            cast.append(Vote(f"person-{number:03}", text, llms, (texts[0], texts[1]), outcome, moment))
    return sorted(cast, key=lambda vote: vote.moment)


def _standardised(benchmark: LoadedBenchmark, queries: NDArray[np.intp]) -> Mapping[str, NDArray[np.float64]]:
    """Return counts in all responses to some queries, in standard deviations ``[R, Q]``."""
    names = list(dict.fromkeys((*OF_ALL, *OWN)))
    # One text after the other: the counts of a text share its parsed structure.
    counted = [
        [COUNTERS[name](benchmark.text_at(llm, query) or "") for name in names]
        for llm in benchmark.respondents
        for query in queries.tolist()
    ]
    amount = np.array(counted).reshape(len(benchmark.respondents), len(queries), len(names))
    amount -= amount.mean(axis=(0, 1))
    amount /= np.maximum(amount.std(axis=(0, 1)), np.finfo(float).tiny)
    return {name: amount[..., place] for place, name in enumerate(names)}


def _taste(counts: Mapping[str, NDArray[np.float64]], random: np.random.Generator) -> NDArray[np.float64]:
    """Return how much one person likes each of these responses ``[R, Q]``."""
    common = sum((counts[name] for name in OF_ALL), np.zeros(1)) / len(OF_ALL)
    names = random.choice(OWN, 2, replace=False)
    own = sum((random.choice([-1, 1]) * counts[name] for name in names), np.zeros(1)) / len(names)
    return np.asarray(_OWN_SHARE * own + (1 - _OWN_SHARE) * common)


def _outcome(liked: NDArray[np.float64], usual: float, random: np.random.Generator) -> ChoiceOutcome:
    ahead = liked[0] - liked[1] + _NOISE * random.logistic()
    if abs(ahead) > _TIE:
        return ChoiceOutcome.FIRST if ahead > 0 else ChoiceOutcome.SECOND
    return ChoiceOutcome.BOTH if liked.mean() > usual else ChoiceOutcome.NEITHER


def _conversation(vote: Vote, side: int) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": vote.query},
        {"role": "assistant", "content": vote.texts[side]},
    ]


def comparia_votes(votes: Iterable[Vote]) -> str:
    """Return votes as compar:IA publishes them, in JSON Lines; it has no word for two bad answers."""
    return _lines(
        {
            "timestamp": vote.moment,
            "model_a_name": vote.llms[0],
            "model_b_name": vote.llms[1],
            "chosen_model_name": vote.llms[vote.outcome.row] if vote.outcome.decided else None,
            "both_equal": not vote.outcome.decided,
            "conversation_a": _conversation(vote, 0),
            "conversation_b": _conversation(vote, 1),
            "visitor_id": vote.person,
        }
        for vote in votes
    )


_WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")


def lmarena_votes(votes: Iterable[Vote]) -> str:
    """Return votes as LMArena publishes those of its named judges, in JSON Lines."""
    return _lines(
        {
            "model_a": vote.llms[0],
            "model_b": vote.llms[1],
            "winner": _WINNERS[vote.outcome.row],
            "judge": vote.person,
            "conversation_a": _conversation(vote, 0),
            "conversation_b": _conversation(vote, 1),
            "tstamp": vote.moment,
        }
        for vote in votes
    )


def open_webui_feedback(votes: Iterable[Vote]) -> str:
    """Return decided votes as Open WebUI's feedback: the better of two answers side by side is liked."""
    return json.dumps([_feedback(number, vote) for number, vote in enumerate(votes) if vote.outcome.decided])


def _feedback(number: int, vote: Vote) -> dict[str, Any]:
    liked = vote.outcome.row
    answers = {
        f"a{side}": {
            "role": "assistant",
            "parentId": "q",
            "content": vote.texts[side],
            "model": vote.llms[side],
        }
        for side in range(2)
    }
    asked = {"role": "user", "parentId": None, "childrenIds": list(answers), "content": vote.query}
    return {
        "id": str(number),
        "user_id": vote.person,
        "type": "rating",
        "data": {"rating": 1, "model_id": vote.llms[liked], "sibling_model_ids": [vote.llms[1 - liked]]},
        "meta": {"arena": False, "chat_id": str(number), "message_id": f"a{liked}"},
        "snapshot": {"chat": {"chat": {"history": {"messages": {"q": asked, **answers}}}}},
        "created_at": vote.moment,
    }


def prism_utterances(votes: Iterable[Vote]) -> str:
    """Return decided votes as PRISM's utterances, in JSON Lines: one row an answer."""
    return _lines(
        {
            "utterance_id": f"ut{2 * number + side}",
            "interaction_id": f"int{number}",
            "conversation_id": f"c{number}",
            "user_id": vote.person,
            "turn": 0,
            "within_turn_id": side,
            "user_prompt": vote.query,
            "model_response": vote.texts[side],
            "model_name": vote.llms[side],
            "if_chosen": side == vote.outcome.row,
        }
        for number, vote in enumerate(votes)
        if vote.outcome.decided
        for side in range(2)
    )


FORMS: Mapping[str, Callable[[Sequence[Vote]], str]] = {
    "comparia-votes.jsonl": comparia_votes,
    "lmarena.jsonl": lmarena_votes,
    "open-webui.json": open_webui_feedback,
    "utterances.jsonl": prism_utterances,
}
"""Forms by a name that such a file may have."""


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
