"""How command lines print what is no ranking."""

from enum import StrEnum


class PrintFormat(StrEnum):
    """How a checklist, correlations, grades or critiques are printed."""

    TABLE = "table"
    JSON = "json"
