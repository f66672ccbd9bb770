"""The judges by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from crm.embedded import embedded_crm
from crm.errors import UnknownCRMError
from crm.protocol import CRM
from crm.reference import CosineCRM, LongerCRM

DEFAULT = "embedded"

_MAKERS: dict[str, Callable[[], CRM]] = {
    DEFAULT: embedded_crm,
    "longer": LongerCRM,
    "cosine": CosineCRM,
}


def crm_names() -> tuple[str, ...]:
    """The names that ``get_crm`` takes, the default first."""
    return tuple(_MAKERS)


@cache
def get_crm(name: str = DEFAULT) -> CRM:
    """The judge of this name, made at the first call.

    Raises:
        UnknownCRMError: There is none.
        WeightsError: Its weights cannot be read.
    """
    if name not in _MAKERS:
        raise UnknownCRMError(f"There is no CRM named {name!r}: choose one of {', '.join(_MAKERS)}.")
    return _MAKERS[name]()
