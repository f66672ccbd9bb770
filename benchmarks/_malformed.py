"""Files as nobody should write them: valid ones that were damaged, and bombs, of each format that is read."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Case = tuple[str, bytes]
"""What was done to a file, and the file."""

RESERVED = {"halved": "\ud800", "bidi": "\u202e\u2066x", "control": "\x1b[2J\x00\x07", "joined": "👩‍🔬" * 50}
HOSTILE: Mapping[str, Any] = {
    "null": None,
    "true": True,
    "whole number": 7,
    "negative": -1,
    "large number": 10**400,
    "float": 1e308,
    "empty": "",
    "long": "x" * 5_000,
    "long list": list(range(3_000)),
    "list": [[[]]],
    "object": {"a": {"b": {}}},
    "script": "<img src=x onerror=alert(1)>",
    **RESERVED,
}
"""What is put into the place of a value."""
_LONG_NUMBER = b"9" * 6_000
_PLACES = 60
_DAMAGES = 60


def damaged(content: bytes, seed: int, times: int = _DAMAGES) -> Iterator[Case]:
    """Yield a file that was cut off, or in which bytes were changed, lost, doubled or put in."""
    draw = random.Random(seed)
    yield from (("empty", b""), ("zeros", bytes(4_096)), ("noise", draw.randbytes(4_096)))
    yield "UTF-16", content.decode(errors="ignore").encode("utf-16")
    yield "byte order mark", b"\xef\xbb\xbf" + content
    for number in range(times):
        one, other = sorted((draw.randrange(len(content) + 1), draw.randrange(len(content) + 1)))
        part = content[one : min(other, one + 64)]
        yield f"cut {number}", content[:one]
        yield f"lost {number}", content[:one] + content[other:]
        yield f"doubled {number}", content[:one] + part * 50 + content[one:]
        yield f"put in {number}", content[:one] + draw.randbytes(8) + content[one:]
        yield f"changed {number}", content[:one] + bytes([draw.randrange(256)]) + content[one + 1 :]


def changed_values(value: Any, dump: Callable[[Any], bytes], seed: int) -> Iterator[Case]:
    """Yield a file whose value has something hostile in one of its places, or lacks it."""
    draw = random.Random(seed)
    places = list(_places(value))
    for place in draw.sample(places, min(_PLACES, len(places))):
        name = "/".join(map(str, place))
        yield f"without {name}", dump(_changed(value, place, remove=True))
        for what, hostile in draw.sample(list(HOSTILE.items()), 4):
            yield f"{what} at {name}", dump(_changed(value, place, hostile))


def _places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*place, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*place, key))


def _changed(value: Any, place: Sequence[str | int], to: Any = None, *, remove: bool = False) -> Any:
    copy = value.copy()
    if len(place) > 1:
        copy[place[0]] = _changed(value[place[0]], place[1:], to, remove=remove)
    elif remove:
        del copy[place[0]]
    else:
        copy[place[0]] = to
    return copy


def as_json(value: Any) -> bytes:
    """Return a value as JSON; halves of characters and numbers of any length are written as they are."""
    return json.dumps(value).encode()


def as_json_lines(rows: Sequence[Any]) -> bytes:
    """Return rows as JSON Lines."""
    return b"".join(as_json(row) + b"\n" for row in rows)


def as_csv(rows: Sequence[Any]) -> bytes:
    """Return rows as CSV under the names in the first of them; what is no row becomes a row of its text."""
    written = io.StringIO(newline="")
    lines = csv.writer(written)
    lines.writerow(rows[0] if rows and isinstance(rows[0], dict) else ["query"])
    for row in rows:
        lines.writerow(row.values() if isinstance(row, dict) else [row])
    return written.getvalue().encode(errors="replace")


def as_toml(tables: Any) -> bytes:
    """Return tables as TOML, as far as they can be written in it."""
    lines: list[str] = []
    for name, values in tables.items():
        if not isinstance(values, dict):
            lines.insert(0, f"{json.dumps(str(name))} = {_toml_value(values)}")
            continue
        lines.append(f"[{json.dumps(str(name))}]")
        lines += [f"{json.dumps(str(key))} = {_toml_value(value)}" for key, value in values.items()]
    return "\n".join(lines).encode(errors="replace")


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(key)} = {_toml_value(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def json_bombs() -> Iterator[Case]:
    """Yield JSON that a reader without limits follows for too long, or too deep."""
    for depth in (101, 1_000, 100_000):
        yield f"lists {depth:,} deep", b"[" * depth + b"]" * depth
        yield f"objects {depth:,} deep", b'{"a":' * depth + b"1" + b"}" * depth
        yield f"{depth:,} lists that never end", b"[" * depth
    yield "a number of 6,000 digits", _LONG_NUMBER
    yield "1e999999", b"[1e999999]"
    for constant in (b"NaN", b"Infinity", b"-Infinity"):
        yield constant.decode(), constant
    yield "a million empty lists", b"[" + b"[]," * 1_000_000 + b"[]]"
    yield "a key a million times", b"{" + b'"a":1,' * 1_000_000 + b'"a":1}'
    yield "lone halves", rb'{"a": "\ud800\udc00\ud800", "\udfff": 1}'


def toml_bombs() -> Iterator[Case]:
    """Yield TOML that a reader without limits follows for too long, or too deep."""
    for depth in (101, 1_000, 50_000):
        yield f"lists {depth:,} deep", b"a = " + b"[" * depth + b"]" * depth
        yield f"tables {depth:,} deep", b"a = " + b"{b = " * depth + b"1" + b"}" * depth
        yield f"a name of {depth:,} parts", b"a" + b".a" * depth + b" = 1"
        yield f"a heading of {depth:,} parts", b"[a" + b".a" * depth + b"]"
    yield "a number of 6,000 digits", b"a = " + _LONG_NUMBER
    yield "inf and nan", b"a = inf\nb = nan\nc = 1e999"
    yield "a day that is none", b"a = 2026-02-31"
    yield "200,000 keys", b"".join(b"k%d = 1\n" % number for number in range(200_000))


def yaml_bombs() -> Iterator[Case]:
    """Yield YAML that a reader without limits follows for too long, or too deep."""
    laughs = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    yield "references that multiply", laughs.encode()
    yield "a list within itself", b"a: &a [*a]"
    for depth in (101, 1_000, 100_000):
        yield f"lists {depth:,} deep", b"a: " + b"[" * depth + b"]" * depth
        yield f"blocks {depth:,} deep", b"- " * depth + b"a"
    yield "a tag", b"a: !!python/object/apply:os.system [ls]"
    yield "a number of 6,000 digits", b"a: " + _LONG_NUMBER
    yield "a number to the base 60", b"a: " + b"1:" * 50_000 + b"1"
    yield "a day that is none", b"a: 2026-02-31"
    yield "merged keys", b"a: {<<: [{b: 1}, {b: 2}], <<: 3}"
    yield "100,000 documents", b"--- a\n" * 100_000


def csv_bombs() -> Iterator[Case]:
    """Yield CSV with too much of something."""
    yield "100,000 columns", b"query,response" + b",a" * 100_000 + b"\n"
    yield "a row of 100,000 fields", b"query,llm,topic,response\n" + b"," * 100_000
    yield "a quotation that never ends", b'query,response\n"' + b"x" * 5_000_000
    yield "a million rows", b"query,llm,topic,response\n" + b"a,b,c,d\n" * 1_000_000
    yield "a million empty lines", b"query,llm,topic,response" + b"\n" * 1_000_000
    yield "NUL", b"query,llm,topic,response\n\x00,\x00,\x00,\x00\n"
    yield "lone \\r", b"query,llm\rtopic,response\rb"


def parquet_bombs() -> Iterator[Case]:
    """Yield Parquet files in which a few bytes stand for gigabytes."""
    import pyarrow as pa  # noqa: PLC0415

    def repeated(value: Any, times: int) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), times), pa.array([value]))

    names = ("query", "topic", "llm", "response")
    for what, column in {
        "100 GB of one text": repeated("x" * 2**20, 100_000),
        "10 million nulls": pa.nulls(10_000_000, pa.string()),
        "10 million empty texts": repeated("", 10_000_000),
        "a list of 10 million": pa.ListArray.from_arrays(
            pa.array([0, 10_000_000], pa.int32()), pa.repeat(pa.scalar(0, pa.int8()), 10_000_000)
        ),
        "no row": pa.array([], pa.string()),
    }.items():
        yield what, as_parquet(dict.fromkeys(names, column))
    yield "2,000 columns", as_parquet({f"c{number}": pa.array(["a"]) for number in range(2_000)})


def as_parquet(columns: Mapping[str, Any]) -> bytes:
    """Return columns as a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    written = io.BytesIO()
    parquet.write_table(pa.table(dict(columns)), written, store_schema=False)
    return written.getvalue()


def as_zip(members: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def zip_bombs(member: str) -> Iterator[Case]:
    """Yield archives that unpack to more than is read, or are none."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(member, "w") as file,
    ):
        for _ in range(1_000):
            file.write(b" " * 2**20)
    yield "1 GB of blanks", packed.getvalue()
    yield "200 members of 10 MB", as_zip({member: b" " * 10_000_000, **_many(200, bytes(10_000_000))})
    yield "60,000 members", as_zip(_many(60_000, b""))
    yield "no member", as_zip({})
    yield "an archive in an archive", as_zip({member: as_zip({member: b"{}"})})
    yield "paths that lead elsewhere", as_zip({f"../../{member}": b"{}", f"/{member}": b"{}"})


def _many(number: int, content: bytes) -> dict[str, bytes]:
    return {f"responses/{place}.jsonl": content for place in range(number)}


def gzip_bombs() -> Iterator[Case]:
    """Yield gzip that unpacks to more than is read."""
    yield "1 GB of zeros", gzip.compress(bytes(2**20)) * 1_000
    yield "half of a file", gzip.compress(b'{"a": 1}')[:-6]
