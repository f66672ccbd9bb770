"""How an LLM's answers were collected, in HTML: when, from which model, and with which settings."""

from __future__ import annotations

from collections.abc import Iterator

from db.source_records import AnswerStatus, CollectionRecord
from leaderboard.render.html import render

NOT_RECORDED = "not recorded"


def collection_in_brief(collection: CollectionRecord) -> str:
    """Return “Answers collected 2026-11-02 from gpt-x-2026-10-01”; empty where none was collected."""
    if collection.first is None:
        return ""
    model = f" from {', '.join(collection.replied_as)}" if collection.replied_as else ""
    return f"Answers collected {collection.days}{model}"


def collection_table(collection: CollectionRecord) -> str:
    """Return all that is known of how the answers were collected."""
    return render("collection", rows=list(_rows(collection)))


def _rows(collection: CollectionRecord) -> Iterator[tuple[str, str]]:
    totals = collection.totals
    yield "Collected", collection.days or NOT_RECORDED
    if collection.n_imported:
        yield "Imported", f"{collection.n_imported:,} answers"
    models = (f"{name} ({n:,})" for name, n in collection.replied_as.items())
    yield "Model, as its server calls it", ", ".join(models) or NOT_RECORDED
    for digest, settings, n in collection.settings:
        if settings is None:
            yield f"Settings of {n:,} answers", f"{NOT_RECORDED} ({digest})"
            continue
        for key, value in sorted(settings.items()):
            yield f"Setting: {key}", str(value)
    if totals.completion_tokens:
        reasoning = collection.reasoning_tokens
        of_it = "" if reasoning is None else f", {reasoning:,} of them reasoning"
        yield "Tokens", f"{totals.prompt_tokens:,} read, {totals.completion_tokens:,} written{of_it}"
    ended = (
        f"{n:,} {status.value}"
        for status, n in totals.n_by_status.items()
        if n and status is not AnswerStatus.OK
    )
    if problems := ", ".join(ended):
        yield "Not whole", problems
