"""The zip files of bundles: opened within limits, JSON read entry by entry, written whole or not at all."""

import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from db.errors import BundleError
from parsing.archives import Archive, opened_archive
from parsing.limits import ParseError, check_value

# The earliest time a zip can hold: with the real one, equal bundles would give different files.
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o644 << 16
_UNIX = 3


class Entry(BaseModel):
    """A JSON object of a bundle, with nothing converted from one type to another."""

    model_config = ConfigDict(strict=True, validate_default=True)


REQUIRED: Any = None
"""What is absent counts as null, so that both are refused in one sentence."""

Count = Annotated[int, Field(ge=0, lt=2**31)]
"""What a column of whole numbers can hold."""


def bounded(value: Any) -> Any:
    """Return what may hold anything, if it keeps to the limits of what is read."""
    check_value(value)
    return value


_KINDS = {
    "string_type": "text",
    "int_type": "whole number",
    "int_from_float": "whole number",
    "float_type": "number",
    "greater_than_equal": "whole number that can be stored",
    "less_than": "whole number that can be stored",
    "list_type": "list",
}
"""What belongs where pydantic finds something else, by the type of its error."""

AnyEntry = TypeVar("AnyEntry", bound=Entry)


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Yield the opened file; a BundleError raised within names the file.

    Raises BundleError: it is missing, no zip, or unpacks to more than is read.
    """
    try:
        with opened_archive(path) as archive:
            try:
                yield archive
            except BundleError as error:
                raise BundleError(f"The bundle {path} is malformed: {error}") from error
    except OSError as error:
        raise BundleError(f"Cannot read the bundle {path}: {error.strerror}.") from error
    except ParseError as error:
        raise BundleError(f"The bundle {path} is not read: {error}.") from error


def member_bytes(archive: Archive, member: str) -> bytes:
    """Return what a member holds. Raises BundleError: it is missing or damaged."""
    try:
        return archive.read(member)
    except KeyError:
        raise BundleError(f"{member} is missing.") from None
    except (ParseError, OSError) as error:
        raise BundleError(f"{member} is damaged: {error}.") from error


def read_json_lines(archive: Archive, member: str, kind: type[AnyEntry]) -> list[AnyEntry]:
    """Return a member's lines as entries. Raises BundleError: one of them, which it names, is none."""
    # Only "\n" ends a line: str.splitlines would also cut at the U+2028 that JSON texts may hold unescaped.
    lines = enumerate(member_bytes(archive, member).split(b"\n"), start=1)
    return [read_entry(line, member, kind, f" in line {number}") for number, line in lines if line.strip()]


def read_entry(data: bytes, member: str, kind: type[AnyEntry], place: str = "") -> AnyEntry:
    """Return a JSON object as an entry; `place` says where in the member it is."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise BundleError(_problem(error, member, place)) from error


def _problem(error: ValidationError, member: str, place: str) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return f"{member} is not valid JSON{place}: {first['ctx']['error']}."
    if first["type"] == "value_error":
        return f"{member}: {first['ctx']['error']}{place}."
    if first["type"] not in _KINDS:
        return f"{member} holds something else where a JSON object belongs{place}."
    belongs = _KINDS[first["type"]]
    *above, name = first["loc"]
    if isinstance(name, int):
        return f'{member}: entry {name + 1} of "{above[-1]}" is no {belongs}{_nested(above[:-1])}{place}.'
    return f'{member}: "{name}" is missing or no {belongs}{_nested(above)}{place}.'


def _nested(above: Sequence[str | int]) -> str:
    """Return where in an object a list's entry is; empty if it is in none."""
    return f' in entry {int(above[1]) + 1} of "{above[0]}"' if above else ""


def write_archive(path: Path, members: Iterable[tuple[str, bytes]]) -> None:
    """Write a zip file of these members whole or not at all; equal members give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for name, data in members:
                archive.writestr(_zip_entry(name, data), data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


_SHRINKS = 0.95
"""Arrays that come to more of their bytes are compressed already."""


def _zip_entry(name: str, data: bytes) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _FIXED_TIME)
    entry.create_system = _UNIX
    entry.external_attr = _FILE_MODE
    is_compressed = name.endswith(".npz") and len(zlib.compress(data, 1)) > _SHRINKS * len(data)
    entry.compress_type = zipfile.ZIP_STORED if is_compressed else zipfile.ZIP_DEFLATED
    return entry


def as_json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a JSON object a line."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()
