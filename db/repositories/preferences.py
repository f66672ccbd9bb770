"""Human preference data: sets of pairs of conversations, written in batches and read back in order.

A set is written with `put_preference_set` and then `add_preferences`, batch after batch in the order of the
file. What an interrupted import has stored is a prefix of the set, so the next one goes on at `n_stored`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Select, delete, func, select, union_all
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.errors import NotFoundError, known
from db.models import Preference, PreferenceSet, now
from db.records import StepCount
from db.repositories._rows import upsert
from db.serialization import storable_text
from db.source_records import (
    FirstTurn,
    Message,
    PreferenceCounts,
    PreferenceRecord,
    PreferenceSetInfo,
    PreferenceSetRecord,
    PreferenceSetRef,
    Winner,
)

BATCH = 500


def find_preference_set(session: Session, slug: str) -> PreferenceSetRef:
    """Return the set of a slug, for the functions that work on one.

    Raises:
        NotFoundError: no set has this slug.
    """
    found = session.scalar(select(PreferenceSet.id).where(PreferenceSet.slug == slug))
    if found is None:
        slugs = session.scalars(select(PreferenceSet.slug).order_by(PreferenceSet.slug))
        raise NotFoundError(f"There is no preference data {slug!r}; {known(slugs)}.")
    return PreferenceSetRef(found, slug)


def get_preference_set(session: Session, preference_set: PreferenceSetRef) -> PreferenceSetRecord:
    """Return what a set says about itself, and how much of it is stored."""
    n_stored = select(func.count()).where(Preference.preference_set_id == PreferenceSet.id).scalar_subquery()
    columns = (
        PreferenceSet.slug,
        PreferenceSet.title,
        PreferenceSet.source,
        PreferenceSet.digest,
        PreferenceSet.filter,
        PreferenceSet.steps,
        n_stored,
        PreferenceSet.created_at,
    )
    row: Any = session.execute(select(*columns).where(PreferenceSet.id == preference_set.id)).one()
    slug, title, source, digest, chosen, steps, n_preferences, created_at = row
    counts = tuple(StepCount(**count) for count in steps)
    info = PreferenceSetInfo(slug, title, source, digest, chosen, counts)
    return PreferenceSetRecord(info, n_preferences, created_at)


def put_preference_set(session: Session, info: PreferenceSetInfo) -> PreferenceSetRef:
    """Create the set, without preferences; a stored one of the slug stays as it is."""
    row = asdict(info) | {"created_at": now()}
    upsert(session, PreferenceSet, [row], key=("slug",))
    return find_preference_set(session, info.slug)


def delete_preference_set(session: Session, preference_set: PreferenceSetRef) -> None:
    """Delete a set with its preferences."""
    session.execute(delete(PreferenceSet).where(PreferenceSet.id == preference_set.id))


def add_preferences(
    session: Session, preference_set: PreferenceSetRef, position: int, preferences: Sequence[PreferenceRecord]
) -> None:
    """Store preferences at this position of the set and the ones after it; those that are there stay."""
    rows = [
        {"preference_set_id": preference_set.id, "position": place, **_columns(preference)}
        for place, preference in enumerate(preferences, start=position)
    ]
    upsert(session, Preference, rows, key=("preference_set_id", "external_id"))


def preferences_of(
    session: Session, preference_set: PreferenceSetRef, *, batch: int = BATCH
) -> Iterator[PreferenceRecord]:
    """Yield the stored preferences of a set in the order of its file, holding one batch at a time."""
    columns = (
        Preference.external_id,
        Preference.conversation_a,
        Preference.conversation_b,
        Preference.llm_a,
        Preference.llm_b,
        Preference.winner,
        Preference.language,
        Preference.tags,
    )
    for external_id, first, second, llm_a, llm_b, winner, language, tags in _in_order(
        session, preference_set, columns, batch
    ):
        yield PreferenceRecord(
            external_id, _messages(first), _messages(second), llm_a, llm_b, Winner(winner), language, tags
        )


def first_turns(session: Session, preference_set: PreferenceSetRef) -> list[FirstTurn]:
    """Return the distinct texts with which the users of a set began, in the order of the file.

    These are the queries that topics are found in. Texts of white space alone are left out.
    """
    found: dict[str, tuple[str, int]] = {}
    columns = (Preference.external_id, Preference.conversation_a)
    for external_id, conversation in _in_order(session, preference_set, columns, BATCH):
        text = next((turn["content"] for turn in conversation if turn["role"] == "user"), "")
        if text.strip():
            first, count = found.get(text, (external_id, 0))
            found[text] = first, count + 1
    return [FirstTurn(text, external_id, count) for text, (external_id, count) in found.items()]


def preference_counts(session: Session, preference_set: PreferenceSetRef) -> PreferenceCounts:
    """Return how many stored preferences there are of each winner, language and LLM, commonest first."""
    of_set = Preference.preference_set_id == preference_set.id
    winners = _counted(session, select(Preference.winner.label("name")).where(of_set))
    llms = union_all(
        select(Preference.llm_a.label("name")).where(of_set), select(Preference.llm_b).where(of_set)
    )
    return PreferenceCounts(
        winners={winner: winners.get(winner, 0) for winner in Winner},
        languages=_counted(session, select(Preference.language.label("name")).where(of_set)),
        llms=_counted(session, select(llms.subquery().c.name)),
    )


def _counted(session: Session, names: Select[str]) -> dict[str, int]:
    counted = names.subquery()
    rows = session.execute(
        select(counted.c.name, func.count())
        .group_by(counted.c.name)
        .order_by(func.count().desc(), counted.c.name)
    )
    return dict(rows.all())


def _in_order(
    session: Session,
    preference_set: PreferenceSetRef,
    columns: Sequence[InstrumentedAttribute[Any]],
    batch: int,
) -> Iterator[tuple[Any, ...]]:
    """Yield columns of the preferences by position; asks for a batch at a time, as drivers fetch all."""
    after = -1
    while True:
        rows = session.execute(
            select(Preference.position, *columns)
            .where(Preference.preference_set_id == preference_set.id, Preference.position > after)
            .order_by(Preference.position)
            .limit(batch)
        ).all()
        yield from (tuple(values) for _, *values in rows)
        if len(rows) < batch:
            return
        after = rows[-1][0]


def _columns(preference: PreferenceRecord) -> dict[str, Any]:
    return {
        "external_id": preference.external_id,
        "conversation_a": _turns(preference.conversation_a),
        "conversation_b": _turns(preference.conversation_b),
        "llm_a": preference.llm_a,
        "llm_b": preference.llm_b,
        "winner": preference.winner.value,
        "language": preference.language,
        "tags": dict(preference.tags),
    }


def _turns(conversation: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": storable_text(turn.content)} for turn in conversation]


def _messages(turns: Sequence[Mapping[str, str]]) -> tuple[Message, ...]:
    return tuple(Message(turn["role"], turn["content"]) for turn in turns)
