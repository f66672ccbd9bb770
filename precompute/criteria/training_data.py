"""Extracted criteria as training data for CRMs, two rows a pair: each side wins by its own criteria."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from db.repositories.llm_answers import get_extracted
from db.repositories.preferences import find_preference_set, preferences_of
from db.source_records import AnswerStatus, ExtractedRecord, Message, PreferenceRecord, SideKey, Winner
from precompute.errors import PrecomputeError

_PREFERENCE = {Winner.A: "model_a", Winner.B: "model_b"}


class NothingExtractedError(PrecomputeError):
    """No list of criteria is stored."""


def write_training_data(session: Session, slug: str, path: Path) -> int:
    """Write every stored list of criteria with its pair as a line of JSON; returns how many.

    The file appears whole or not at all. Lines are {idx, prompt, model_a, model_b, criteria, preference,
    winner}; the two of a pair have the same idx, and the winner that people chose.

    Raises:
        NotFoundError: No set has this slug.
        NothingExtractedError: There are no criteria.
        PrecomputeError: The file cannot be written.
    """
    preference_set = find_preference_set(session, slug)
    extracted = get_extracted(session, preference_set)
    if not any(record.status == AnswerStatus.OK for record in extracted.values()):
        raise NothingExtractedError(f"No criteria of {slug!r} are stored, so {path} is not written.")
    partial = path.with_name(f"{path.name}.partial")
    n_rows = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as lines:
            for row in training_rows(preferences_of(session, preference_set), extracted):
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                n_rows += 1
        partial.replace(path)
    except OSError as error:
        raise PrecomputeError(
            f"{path} cannot be written ({error.strerror}): choose another --out."
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return n_rows


def training_rows(
    preferences: Iterator[PreferenceRecord], extracted: Mapping[SideKey, ExtractedRecord]
) -> Iterator[dict[str, Any]]:
    """Yield one row for every list of criteria, in the order of the preferences, A before B."""
    for preference in preferences:
        for side, preferred in _PREFERENCE.items():
            record = extracted.get(SideKey(preference.external_id, side))
            if record is not None and record.status == AnswerStatus.OK:
                yield {
                    "idx": preference.external_id,
                    "prompt": _prompt(preference.conversation_a),
                    "model_a": _messages(preference.conversation_a),
                    "model_b": _messages(preference.conversation_b),
                    "criteria": list(record.criteria),
                    "preference": preferred,
                    "winner": _PREFERENCE.get(preference.winner, "tie"),
                }


def _prompt(conversation: Sequence[Message]) -> str:
    """Return what the LLMs were told before their first answers; later messages are in the conversations."""
    told = takewhile(lambda turn: turn.role != "assistant", conversation)
    return "\n\n".join(turn.content for turn in told)


def _messages(conversation: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": turn.content} for turn in conversation if turn.role != "system"]
