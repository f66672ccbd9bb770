"""Histories of choices on stored benchmarks: of people whose taste is known, and of real annotators.

- *always one assistant*: on DailyBench, somebody who takes one assistant's answer whatever the other is;
- *GPT-4 Turbo*: the judge of AlpacaEval's official preferences as a person. Of two LLMs' responses it takes
  the one that it prefers more to GPT-4 Turbo's own, where its probabilities differ by ``CLEAR`` or more;
  also with responses of similar length only, as it likes long ones;
- *annotated wish*: of the annotated pairs (shared/preferences) somebody takes the response under whose
  criteria one cluster of wishes is, where it is on one side only.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Polarity
from crm.criterion_clusters import criterion_clusters
from leaderboard.contest import StoredContest
from leaderboard.personal.checklist import ChecklistLine
from leaderboard.personal.choice import Answer, Choice, Pair
from leaderboard.personal.history_past import Past
from leaderboard.personal.library import criterion_library
from leaderboard.personal.material import Material

CLEAR = 0.5
SIMILAR = 1.2
"""How many times longer one of two responses of similar length may be."""
STYLES = {
    "brevia": {"Concise", "Punchy"},
    "scholia": {"In depth", "Technical depth", "Formal", "History and culture", "Definitions"},
    "stepwise": {"Numbered steps", "Headings", "Practical advice"},
    "lumen": {"Warm", "Feelings first", "Hopeful ending"},
    "fabula": {"Vivid imagery", "Metaphors", "Poetic", "Story"},
    "verity": {"Both sides", "Comparisons", "Admits uncertainty", "Asks back", "Clarifies"},
    "jester": {"Humour", "Casual"},
}
"""Labels of the library that say what an assistant of DailyBench was told to be."""


@dataclass(frozen=True)
class Taken:
    """Of two responses to a query, by their rows in the benchmark's material, the one that was taken."""

    query: int
    chosen: int
    rejected: int


def past_of_taken(taken: Sequence[Taken], benchmark: Material) -> Past:
    """The choices as a file of past choices would tell them: nothing but two responses each."""
    query, chosen, rejected = np.array([(t.query, t.chosen, t.rejected) for t in taken], dtype=np.intp).T
    margins = np.stack([benchmark.margins[chosen, query], benchmark.margins[rejected, query]])
    pairs = Material(margins, np.ones(margins.shape[:2], dtype=np.bool_))
    choices = tuple(Choice(Pair(place, 0, 1), Answer.FIRST) for place in range(len(taken)))
    return Past(pairs, choices, benchmark, criterion_library())


def always(contest: StoredContest, assistant: str, random: np.random.Generator) -> list[Taken]:
    """Somebody who always takes one assistant, once on each query, against a random other."""
    rows = [*contest.llms, contest.baseline]
    own = rows.index(assistant)
    others = [row for row in range(len(rows)) if row != own]
    return [
        Taken(int(query), own, int(random.choice(others))) for query in random.permutation(contest.n_queries)
    ]


def says_style(line: ChecklistLine, assistant: str) -> bool:
    """Whether a line names the assistant's style as wanted."""
    return line.label in STYLES[assistant] and line.criterion.polarity is Polarity.WANT


def gpt4_turbo(
    contest: StoredContest,
    preferences: Path,
    random: np.random.Generator,
    words: NDArray[np.integer] | None = None,
) -> list[Taken]:
    """GPT-4 Turbo's choices, one on each query where it has a clear one.

    Args:
        contest: AlpacaEval's.
        preferences: Its official preferences.
        random: Draws the pair of each query, and the order of queries.
        words: Lengths of all responses ``[R, Q]``; if given, only responses of similar length are compared.
    """
    from pyarrow import parquet  # noqa: PLC0415

    table = parquet.read_table(preferences).to_pydict()
    rows = {llm: row for row, llm in enumerate(contest.llms)}
    liked: dict[int, dict[int, float]] = defaultdict(dict)
    for index, llm, preference in zip(
        table["instruction_index"], table["model"], table["preference"], strict=True
    ):
        if llm in rows and preference is not None:
            liked[index][rows[llm]] = preference
    taken = []
    for query in random.permutation(sorted(liked)):
        pairs = [
            pair
            for pair in combinations(sorted(liked[query]), 2)
            if abs(liked[query][pair[0]] - liked[query][pair[1]]) >= CLEAR
            and (words is None or _similar(words[pair[0], query], words[pair[1], query]))
        ]
        if pairs:
            first, second = pairs[random.integers(len(pairs))]
            ahead = liked[query][first] > liked[query][second]
            taken.append(Taken(int(query), *((first, second) if ahead else (second, first))))
    return taken


def annotated_wishes(contest: StoredContest, annotations: Path) -> dict[int, tuple[list[Taken], list[Taken]]]:
    """From each cluster of wishes to the choices of somebody with it, of the train and of the dev split."""
    clusters = criterion_clusters().numbers
    rows = {llm: row for row, llm in enumerate((*contest.llms, contest.baseline))}
    place_of = {query.external_id: place for place, query in enumerate(contest.record.queries)}
    found: dict[int, tuple[list[Taken], list[Taken]]] = {}
    with annotations.open(encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            query = place_of.get(pair["instruction_sha256"])
            if query is None or not {pair["model_a"], pair["model_b"]} <= rows.keys():
                continue
            a, b = rows[pair["model_a"]], rows[pair["model_b"]]
            wishes = [
                {clusters[text] for text in pair[f"criteria_{side}"] if text in clusters} for side in "ab"
            ]
            for number in wishes[0] ^ wishes[1]:
                taken = Taken(query, a, b) if number in wishes[0] else Taken(query, b, a)
                found.setdefault(number, ([], []))[pair["split"] == "dev"].append(taken)
    return found


def longer_taken(taken: Sequence[Taken], words: NDArray[np.integer]) -> NDArray[np.float64]:
    """Whether the longer response was taken; a half where they are alike ``[C]``."""
    return np.array([_won(words[t.chosen, t.query], words[t.rejected, t.query]) for t in taken])


def stronger_taken(taken: Sequence[Taken], strength: NDArray[np.floating]) -> NDArray[np.float64]:
    """Whether the response of the LLM that was taken more often before was taken ``[C]``."""
    return np.array([_won(strength[t.chosen], strength[t.rejected]) for t in taken])


def _similar(first: float, second: float) -> bool:
    return max(first, second) <= SIMILAR * min(first, second)


def _won(chosen: float, rejected: float) -> float:
    return float(chosen > rejected) + 0.5 * float(chosen == rejected)
