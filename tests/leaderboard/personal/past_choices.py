"""A file of past choices for tests: somebody who takes the concise assistant of DailyBench."""

import json

from db.repositories.texts import response_pair
from leaderboard.service import Service


def concise_choices(service: Service, size: int) -> bytes:
    """JSON Lines of so many choices of brevia's answer over another assistant's."""
    contest = service.contest("dailybench")
    others = [llm for llm in contest.llms if llm != "brevia"]
    rows = []
    with service.database.session() as session:
        for place in range(size):
            query, text = contest.record.queries[7 * place], contest.query_texts[7 * place]
            other = others[place % len(others)]
            chosen, rejected = response_pair(session, "dailybench", query.external_id, "brevia", other)
            rows.append({"query": text, "chosen": chosen, "rejected": rejected})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
