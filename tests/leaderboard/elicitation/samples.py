"""A small made-up benchmark that persons choose on, and a file of past choices.

Six responders, 30 queries, seven criteria.
"""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from crm.criteria import Criterion
from db.repositories.benchmarks import find_benchmark
from db.repositories.contents import response_text
from leaderboard.elicitation.acquisition import CandidatePairs
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair
from leaderboard.elicitation.library import LibraryCriterion
from leaderboard.elicitation.margins import CriterionMargins
from leaderboard.service import Service

RESPONDERS, QUERIES, CRITERIA = 6, 30, 7
LIBRARY = tuple(
    LibraryCriterion(label, Criterion(f"The answer is {label}"), "Style")
    for label in ("short", "warm", "funny", "formal", "vivid", "careful", "numbered")
)


def named_but(*weak: str, among: Iterable[str]) -> list[Any]:
    """Assistants to try a checklist on, those marked whose style the judge names too weakly."""
    mark = pytest.mark.xfail(reason="the judge names it too weakly", strict=True)
    return [pytest.param(llm, marks=(mark,) if llm in weak else ()) for llm in among]


def small_margins(seed: int = 0) -> CriterionMargins:
    """Each criterion is met by chance, and each responder has a style of its own."""
    random = np.random.default_rng(seed)
    margins = 1.5 * random.normal(size=(RESPONDERS, QUERIES, CRITERIA + 1))
    margins += random.normal(size=(RESPONDERS, 1, CRITERIA + 1))
    margins[..., -1] = 0
    return CriterionMargins(margins.astype(np.float32), np.ones((RESPONDERS, QUERIES), dtype=bool))


def small_candidates(seed: int = 0) -> CandidatePairs:
    """All of it may be shown."""
    return CandidatePairs.of(small_margins(seed), np.ones(QUERIES, dtype=bool))


def choice_by(margins: CriterionMargins, pair: ResponsePair, criterion: int) -> Choice:
    """What somebody answers who looks at one criterion only."""
    margins = margins.relative[:, pair.query, criterion]
    ahead = margins[pair.first] > margins[pair.second]
    return Choice(pair, ChoiceOutcome.FIRST if ahead else ChoiceOutcome.SECOND)


def concise_choices(service: Service, size: int) -> bytes:
    """JSON Lines of so many choices of brevia's answer over another assistant's."""
    benchmark = service.benchmark("dailybench")
    others = [llm for llm in benchmark.llms if llm != "brevia"]
    rows = []
    with service.database.session() as session:
        for place in range(size):
            query, text = benchmark.record.queries[7 * place], benchmark.query_texts[7 * place]
            other = others[place % len(others)]
            stored = find_benchmark(session, "dailybench")
            chosen, rejected = (
                response_text(session, stored, query.external_id, llm) for llm in ("brevia", other)
            )
            rows.append({"query": text, "chosen": chosen, "rejected": rejected})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
