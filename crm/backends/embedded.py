"""Backend ``embedded``: the embedded CRM with weights of one's own."""

from __future__ import annotations

from pathlib import Path

from crm.config import File, JudgeTable, Settings
from crm.embedded.model import EmbeddedCRM
from crm.version import file_identity


class EmbeddedSettings(Settings):
    """Keys of the backend.

    Attributes:
        weights: Weights file, as “python -m crm train embedded” writes it.
    """

    weights: File


def make(table: JudgeTable) -> EmbeddedCRM:
    """Return the judge that a table describes."""
    settings = table.read(EmbeddedSettings)
    judge = EmbeddedCRM.load(Path(settings.weights), name=table.name)
    judge.version = file_identity(settings.weights)[:12] + judge.lacking
    return judge
