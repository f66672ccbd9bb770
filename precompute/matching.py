"""Which imported query is which stored one."""

from collections.abc import Sequence

from db import QueryRecord, text_sha256
from precompute.importers import ImportedQuery

_DERIVED_DIGITS = 16


def derived_id(sha256: str) -> str:
    """Returns the external id of a query that has none of its own: the start of its text's SHA-256."""
    return sha256[:_DERIVED_DIGITS]


def external_ids(queries: Sequence[ImportedQuery], stored: Sequence[QueryRecord]) -> list[str]:
    """Returns the external id under which each imported query is, or will be, stored; all are distinct.

    A query is the stored one of its own (or derived) id; failing that, a stored one of the same text (by
    SHA-256) that is no other imported query; failing that, a new one.
    """
    own = [query.external_id or derived_id(text_sha256(query.text)) for query in queries]
    taken = set(own)
    by_id = {record.external_id for record in stored}
    by_sha256: dict[str, list[str]] = {}
    for record in stored:
        if record.external_id not in taken:
            by_sha256.setdefault(record.sha256, []).append(record.external_id)
    found = []
    for query, external_id in zip(queries, own, strict=True):
        same_text = [] if external_id in by_id else by_sha256.get(text_sha256(query.text), [])
        found.append(same_text.pop(0) if same_text else external_id)
    return found
