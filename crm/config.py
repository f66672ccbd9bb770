"""Judges in ``crms.toml``: TOML files of named tables, and how the keys that tables share are checked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails

from crm.errors import ConfigError
from crm.paths import CHECKPOINTS, HOME
from crm.version import file_identity, model_identity
from parsing.documents import read_toml
from parsing.files import MAX_SETTINGS, read_bytes
from parsing.limits import ParseError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

SettingsT = TypeVar("SettingsT", bound=BaseModel)


@dataclass(frozen=True)
class TableKind:
    """What the tables of a file describe.

    Attributes:
        one: The word for one of them.
        many: The word for several.
        chooser: The key that says what kind of settings a table has; empty where there is one kind.
        fix: How to fix a file that cannot be read.
        inner: Keys that may hold tables of their own.
        above: Keys that may stand above the tables, each a text.
        shared: Tables that describe none of them, but what several of them have in common.
    """

    one: str
    many: str
    chooser: str
    fix: str
    inner: frozenset[str] = frozenset()
    above: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()


def read_tables(file: Path, kind: TableKind) -> dict[str, Mapping[str, Any]]:
    """Return the tables of a file by name; their keys are checked by ``read_settings``.

    Raises:
        ConfigError: The file cannot be read, is no TOML, or has something other than named tables.
    """
    tables = {
        name: values
        for name, values in _read(file, kind).items()
        if name not in kind.above and name not in kind.shared
    }
    for name, values in tables.items():
        _check_table(name, values, file, kind)
    return tables


def read_shared(file: Path, kind: TableKind, name: str) -> Mapping[str, Any]:
    """Return what a file's LLMs or judges share by the table of this name; nothing where it is not there.

    Raises:
        ConfigError: The file cannot be read, is no TOML, or it is no table.
    """
    values = _read(file, kind).get(name, {})
    if not isinstance(values, dict):
        raise ConfigError(f"{file.name}: {name!r} is not a table: write [{name}] above its keys.")
    return values


def read_above(file: Path, kind: TableKind, key: str) -> str | None:
    """Return what a key above the tables says; None where it is not there.

    Raises:
        ConfigError: The file cannot be read, is no TOML, or the key holds no text.
    """
    value = _read(file, kind).get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{file.name}: {key!r} must be the name of a {kind.one} in quotes.")
    return value


def _read(file: Path, kind: TableKind) -> dict[str, Any]:
    try:
        return read_toml(read_bytes(file, MAX_SETTINGS))
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise ConfigError(f"The file of {kind.many} {file} cannot be read ({reason}): {kind.fix}.") from error
    except ParseError as error:
        # Only the place: the parser's message may quote the line, and a key might stand there.
        place = re.search(r"\(at ([^)]*)\)", str(error))
        where = f" at {place[1]}: fix it there" if place else f": {error}"
        raise ConfigError(f"{file.name} is not valid TOML{where}.") from None


def read_settings(
    settings: type[SettingsT], values: Mapping[str, Any], *, name: str, file: Path, kind: TableKind
) -> SettingsT:
    """Return the keys of a table as checked settings; relative paths in it start at the file's folder.

    Raises:
        ConfigError: Naming table and key. A value is never repeated: it may be a secret.
    """
    try:
        return settings.model_validate(values, context={"folder": file.parent})
    except ValidationError as error:
        problem = _problem(error.errors()[0], settings, kind)
        raise table_error(problem, name=name, file=file, kind=kind) from None


def table_error(problem: str, *, name: str, file: Path, kind: TableKind) -> ConfigError:
    """Return the error that a table has a problem."""
    return ConfigError(f"{file.name}, {kind.one} {name!r}: {problem}.")


def _check_table(name: str, values: object, file: Path, kind: TableKind) -> None:
    if not isinstance(values, dict):
        whose = f"an {kind.one}'s" if kind.one == "LLM" else f"a {kind.one}'s"
        raise ConfigError(f"{file.name}: {name!r} is not a table: write [{name}] above {whose} keys.")
    if values and all(isinstance(value, dict) and key not in kind.inner for key, value in values.items()):
        # TOML reads [gpt-4.1] as a table “1” inside a table “gpt-4”.
        dotted = f"{name}.{next(iter(values))}"
        raise ConfigError(f'{file.name}: a name with a dot stands in quotes: write ["{dotted}"].')
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{file.name}: the {kind.one}'s name {name!r} cannot be part of a link: "
            "use letters, digits, '.', '_' and '-', at most 64."
        )


def _problem(error: ErrorDetails, settings: type[BaseModel], kind: TableKind) -> str:
    """Return what is wrong with one key, in words that follow a colon and end before the full stop."""
    keys = [str(part) for part in error["loc"]]
    key = f"the key {'.'.join(keys)!r}" if keys else "the table"
    if error["type"] == "missing":
        return f"{key} is missing"
    if error["type"] == "extra_forbidden":
        if keys[-1] in ("api_key", "key", "token"):
            return "an API key does not belong in a file: name its environment variable as 'api_key_env'"
        known = dict.fromkeys(key for key in (kind.chooser, *settings.model_fields) if key)
        return f"{key} is unknown: choose from {', '.join(known)}"
    if error["type"] == "value_error":
        return f"{key} {error['ctx']['error']}"
    said = error["msg"].removeprefix("Input ").removeprefix("String ")
    return f"{key} {said[:1].lower()}{said[1:]}"


_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEYS_NAME = re.compile(r"([A-Z0-9]+_)*(KEY|APIKEY|TOKEN|SECRET|PASSWORD)(_[A-Z0-9]+)*")
"""Names of environment variables that hold a key, by one of their words."""


def model_place(value: str, info: ValidationInfo) -> str:
    """Return a folder's absolute path, or the name of a model on a hub as it stands.

    Raises:
        ValueError: It reads like a folder, and there is none.
    """
    folder = _below(info, value)
    if folder.exists():
        return str(folder.resolve())
    if value.startswith((".", "/", "~")) or value.count("/") > 1 or not value.strip():
        raise ValueError("names a folder that does not exist")
    # What begins with a folder that is here, or with that of checkpoints, means nobody's models on a hub:
    # asking for them would take minutes where there is no network.
    first, *rest = value.split("/")
    if rest and (first == CHECKPOINTS.name or _below(info, first).is_dir()):
        raise ValueError("names a folder that does not exist")
    return value


def _file(value: str, info: ValidationInfo) -> str:
    file = _below(info, value)
    if not file.is_file():
        raise ValueError("names a file that does not exist")
    return str(file.resolve())


def _below(info: ValidationInfo, value: str) -> Path:
    folder: Path = (info.context or {}).get("folder", Path())
    return folder / Path(value).expanduser()


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is no address: write http://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds a user name or password: name an environment variable as 'api_key_env'")
    return value.rstrip("/")


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError(
            "must be the name of an environment variable in capital letters, such as OPENAI_API_KEY, "
            "not the API key itself"
        )
    return value


Model = Annotated[str, AfterValidator(model_place)]
"""A folder, relative to the configuration file, or a model's name on a hub."""
File = Annotated[str, AfterValidator(_file)]
"""A file that exists, relative to the configuration file."""
Url = Annotated[str, AfterValidator(_url)]
"""Address of a server, without the final slash."""
Variable = Annotated[str, AfterValidator(_variable)]
"""Name of an environment variable."""
Count = Annotated[int, Field(ge=1)]
TokenLimit = Annotated[int, Field(ge=16)]
Seconds = Annotated[float, Field(gt=0)]
Price = Annotated[float, Field(ge=0)]
DType = Literal["auto", "float32", "bfloat16", "float16"]


WHERE_AND_HOW_FAST: frozenset[str] = frozenset(
    (
        "url",
        "api_key_env",
        "timeout",
        "retries",
        "concurrency",
        "tokens_per_minute",
        "batch_size",
        "batch_tokens",
        "device",
        "enforce_eager",
        "gpu_memory",
        "tensor_parallel",
        "price_prompt",
        "price_completion",
        "batch_discount",
    )
)
"""Keys that do not change what a model answers."""
_BY_CONTENT = {"model": model_identity, "tokenizer": model_identity, "prompt": file_identity}
"""Keys that name a file or folder, of which the content counts and not the place."""


class Settings(BaseModel):
    """Keys of a table, checked strictly: an unknown one is an error, and no value is ever repeated."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    def identity(self) -> dict[str, Any]:
        """What answers depend on: the content of models and files, and all keys but where and how fast."""
        shown = self.model_dump(exclude={*WHERE_AND_HOW_FAST, *_BY_CONTENT})
        for key, of_content in _BY_CONTENT.items():
            if (value := getattr(self, key, None)) is not None:
                shown[key] = of_content(value)
        return shown


class TransformersSettings(Settings):
    """Keys of what runs on transformers.

    Attributes:
        dtype: Number format; “auto” is bfloat16 on a GPU, float32 on a CPU.
        device: “cpu”, “cuda”, “cuda:1”, “mps”; “auto” is a GPU where there is one.
        batch_tokens: Tokens in one batch, padding included.
    """

    dtype: DType = "auto"
    device: str = "auto"
    batch_tokens: Count = 8192


class VLLMSettings(Settings):
    """Keys of what runs on vLLM in this process.

    Attributes:
        dtype: Number format; “auto” is the checkpoint's own.
        enforce_eager: Skip the compilation of graphs: a quicker start, a slower run.
        gpu_memory: Share of a GPU's memory that vLLM may take.
        tensor_parallel: Number of GPUs to spread the model over.
    """

    dtype: DType = "auto"
    enforce_eager: bool = False
    gpu_memory: Annotated[float, Field(gt=0, le=1)] = 0.9
    tensor_parallel: Count = 1


def api_key(variable: str | None, name: str, kind: str = "judge") -> str | None:
    """Return the API key in an environment variable; None where no variable is configured.

    Raises:
        ConfigError: The variable is not set.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        # A key might have been written in the name's place: only what calls itself one is repeated.
        named = _KEYS_NAME.fullmatch(variable)
        which = f"variable {variable}" if named else "variable that its api_key_env names"
        raise ConfigError(f"The {kind} {name!r} finds no API key: set the environment {which}.")
    return key


VARIABLE = "USL_CRMS"
"""Environment variable that names the file."""
DEFAULT_FILE = HOME / "crms.toml"

DEFAULT_KEY = "default_crm"
"""Key above the tables: which judge makes the ranking without criteria."""
_JUDGES = TableKind(
    "judge",
    "judges",
    "backend",
    f"fix the path in {VARIABLE} or unset it",
    above=frozenset([DEFAULT_KEY]),
)


@dataclass(frozen=True)
class JudgeTable:
    """One judge as configured.

    Attributes:
        backend: What it runs on.
        values: The backend's keys.
        file: Where the table stands; relative paths in it start at its folder.
    """

    name: str
    backend: str
    values: Mapping[str, Any]
    file: Path

    def read(self, settings: type[SettingsT]) -> SettingsT:
        """Return the keys as a backend's settings.

        Raises ConfigError: Naming judge and key. A value is never repeated: it may be a secret.
        """
        return read_settings(settings, self.values, name=self.name, file=self.file, kind=_JUDGES)

    def error(self, problem: str) -> ConfigError:
        """Return the error that this table has a problem."""
        return table_error(problem, name=self.name, file=self.file, kind=_JUDGES)


def config_file() -> Path | None:
    """The file of judges: what ``USL_CRMS`` names, else ``crms.toml`` beside ``app.py`` if it is there."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def read_config(file: Path) -> dict[str, JudgeTable]:
    """Return the judges of a file by name; their keys are checked when a judge is made.

    Raises ConfigError: The file cannot be read, is no TOML, or has something other than judges.
    """
    return {name: _table(name, values, file) for name, values in read_tables(file, _JUDGES).items()}


def read_default(file: Path) -> str | None:
    """Return the judge that the file wants for the ranking without criteria; raises as ``read_above``."""
    return read_above(file, _JUDGES, DEFAULT_KEY)


def _table(name: str, values: Mapping[str, Any], file: Path) -> JudgeTable:
    backend = values.get("backend")
    rest = {key: value for key, value in values.items() if key != "backend"}
    return JudgeTable(name, backend if isinstance(backend, str) else "", rest, file)
