"""Whatever is brought to a reader: is it read or refused in one sentence, in time, and within memory?

Every format that strangers or whoever runs the server may bring is damaged in many ways, always the same,
and given to its reader in a process of its own. A traceback is an error that is not meant for people, or a
message that is too long or has characters that do something.
"""

from __future__ import annotations

import gzip
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from benchmarks import _malformed as made
from benchmarks._report import Report, duration, size
from crm.errors import CRMError
from crm.report_table import describe_machine, peak_memory
from db.errors import BundleError, DatabaseError
from leaderboard.errors import LeaderboardError
from precompute.errors import PrecomputeError

app = typer.Typer(add_completion=False)

SHOWN = (CRMError, BundleError, DatabaseError, LeaderboardError, PrecomputeError)
"""Errors whose message is meant for people."""
PATIENCE = 30.0
MOST_MEMORY = 1_500 * 10**6
_MAX_MESSAGE = 1_600
_ROWS = [
    {"query": query, "topic": "Food", "llm": llm, "response": f"{llm} says: {query}"}
    for query in ("Which soup?", "Which bread?", "Why salt?")
    for llm in ("alpha", "beta")
]
_CHOICES = [{"query": f"Which soup {n}?", "chosen": "Tomato.", "rejected": "Leek."} for n in range(5)]
_PROFILE = {
    "format": "usl-profile",
    "version": 1,
    "benchmark": "modern",
    "topics": ["Food"],
    "criteria": [{"text": "Concise", "polarity": "want", "weight": "Essential"}],
    "settings": {"crm": ["embedded"], "floor": ["0.5"]},
}
_NODES = {
    "root": {"parent": None, "message": None},
    **{
        name: {
            "parent": parent,
            "message": {"author": {"role": role}, "content": {"content_type": "text", "parts": [name]}},
        }
        for name, parent, role in (
            ("soup", "root", "user"),
            ("tomato", "soup", "assistant"),
            ("leek", "soup", "assistant"),
            ("thanks", "leek", "user"),
        )
    },
}
_CHATGPT = [{"title": "Soup", "mapping": _NODES, "current_node": "thanks"}]
_JUDGES = {
    "mine": {"backend": "llm-judge", "model": "m", "url": "http://127.0.0.1:1/v1", "timeout": 5.0},
    "other": {"backend": "embedded"},
}
_LLMS = {"provider": {"openai": {"url": "http://127.0.0.1:1/v1"}}, "w": {"model": "w", "temperature": 0.5}}
_CLUSTERING = {"topics": {"neighbours": 8, "method": "eom", "careful": 0.1}, "names": {"queries": 12}}
_FACTS = {"w": {"title": "W", "source": "us", "date": "2026-01-01", "parameters": 3.5, "aliases": ["v"]}}
_TOPICS = {
    "format": "usl-topics/1",
    "pool": "mine",
    "map": "digest",
    "categories": [{"name": "Food", "topics": [{"key": "0", "name": "Soup", "queries": ["a", "b"]}]}],
    "outliers": {"queries": ["c"], "dropped": []},
}
_REWARD_BENCH = [
    {"id": str(n), "prompt": "Which soup?", "chosen": ["a"], "rejected": ["b"], "subset": "Food"}
    for n in range(3)
]
_REPLY = {
    "choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
}
_MANIFEST = {
    "format_version": 1,
    "slug": "mine",
    **dict.fromkeys(("title", "description", "version", "licence", "attribution", "source_url"), "x"),
    "baseline": "alpha",
    "categories": [{"name": "Food", "topics": ["Soup"]}],
    "llms": [{"name": name, "title": name, "note": ""} for name in ("alpha", "beta")],
}
_SERVER = "postgresql://u:secret@127.0.0.1:1/db"


@dataclass(frozen=True)
class Reader:
    """What reads a format.

    Attributes:
        read: Reads a file of this content in a folder.
        cases: What is brought to it.
    """

    name: str
    read: Callable[[bytes, Path], object]
    cases: Callable[[], Iterator[made.Case]]


def _json_cases(
    value: Any, dump: Callable[[Any], bytes] = made.as_json, seed: int = 1
) -> Iterator[made.Case]:
    yield "as it should be", dump(value)
    yield from made.damaged(dump(value), seed)
    yield from made.changed_values(value, dump, seed)
    yield from made.json_bombs()


def _toml_cases(tables: Any, seed: int) -> Iterator[made.Case]:
    yield "as it should be", made.as_toml(tables)
    yield from made.damaged(made.as_toml(tables), seed)
    yield from made.changed_values(tables, made.as_toml, seed)
    yield from made.toml_bombs()


def _csv_cases(rows: list[Any], seed: int) -> Iterator[made.Case]:
    yield "as it should be", made.as_csv(rows)
    yield from made.damaged(made.as_csv(rows), seed)
    yield from made.changed_values(rows, made.as_csv, seed)
    yield from made.csv_bombs()


def _bundle_cases() -> Iterator[made.Case]:
    from db.serialization import text_sha256  # noqa: PLC0415

    texts = {"1": "Which soup?", "2": "Which bread?"}
    queries = [
        {"id": each, "category": "Food", "topic": "Soup", "sha256": text_sha256(text), "text": text}
        for each, text in texts.items()
    ]
    answers = made.as_json_lines([{"id": each, "text": "Salt."} for each in texts])

    def bundle(manifest: bytes, listed: bytes = made.as_json_lines(queries), said: bytes = answers) -> bytes:
        members = {"manifest.json": manifest, "queries.jsonl": listed}
        return made.as_zip({**members, "responses/0.jsonl": said, "responses/1.jsonl": said})

    whole = bundle(made.as_json(_MANIFEST))
    yield "as it should be", whole
    yield from made.damaged(whole, 2)
    yield from made.changed_values(_MANIFEST, lambda value: bundle(made.as_json(value)), 3)
    manifest = made.as_json(_MANIFEST)
    yield from made.changed_values(queries, lambda rows: bundle(manifest, made.as_json_lines(rows)), 4)
    for what, bomb in made.json_bombs():
        yield f"manifest: {what}", bundle(bomb)
        yield f"responses: {what}", bundle(manifest, said=bomb)
    yield from made.zip_bombs("manifest.json")


def _parquet_cases(rows: list[dict[str, Any]], seed: int) -> Iterator[made.Case]:
    whole = made.as_parquet({name: [row[name] for row in rows] for name in rows[0]})
    yield "as it should be", whole
    yield from made.damaged(whole, seed)
    yield from made.parquet_bombs()


def _address_cases() -> Iterator[made.Case]:
    yield "as it should be", b"sqlite:///{folder}/x.sqlite3"
    for file in (
        "{folder}/x.sqlite3",
        "{folder}",
        "/proc/cpuinfo",
        "/proc/self/mem",
        "/dev/zero",
        "/dev/null",
        "",
    ):
        yield f"SQLite, {file}", f"sqlite:///{file}".encode()
    yield "a name of 5,000 characters", b"sqlite:///{folder}/" + b"x" * 5_000
    yield "NUL", b"sqlite:///{folder}/x\x00y"
    yield "nobody there", _SERVER.encode()
    for cut in range(len(_SERVER) - len("127.0.0.1:1/db")):
        yield f"cut {cut}", _SERVER[:cut].encode()
    for what, value in made.HOSTILE.items():
        yield f"{what} as port", f"postgresql://u:p@127.0.0.1:{value}/db".encode(errors="surrogatepass")
        yield f"{what} as kind", f"{value}://127.0.0.1:1/db".encode(errors="surrogatepass")
        yield f"{what} as name", f"postgresql://u:p@127.0.0.1:1/{value}".encode(errors="surrogatepass")


def _link_cases() -> Iterator[made.Case]:
    link = b"benchmark=modern&topic=Food&criterion=Concise&criterion=avoid%7Cemojis&floor=0.5&crm=embedded"
    yield "as it should be", link
    yield from made.damaged(link, 5)
    for name in (
        "topic",
        "criterion",
        "floor",
        "crm",
        "weight",
        "benchmark",
        "interest",
        "max_price",
        "must",
    ):
        for what, value in made.HOSTILE.items():
            yield f"{what} as {name}", f"{name}={value}".encode(errors="surrogatepass")
        yield f"10,000 times {name}", f"{name}=a&".encode() * 10_000


def _in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def write_and_read(content: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(content)
        return read(path)

    return write_and_read


def _view(content: bytes) -> object:
    from urllib.parse import parse_qs  # noqa: PLC0415

    from leaderboard.view import View  # noqa: PLC0415

    return View.from_query(parse_qs(content.decode(errors="surrogateescape"), max_num_fields=None))


def _open(content: bytes, folder: Path) -> object:
    from db import Database  # noqa: PLC0415

    Database.open(content.decode(errors="surrogatepass").replace("{folder}", str(folder))).close()
    return None


def _completion(content: bytes) -> object:
    from crm.llm.client import Endpoint, LLMClient  # noqa: PLC0415
    from crm.llm.endpoint import read_completion  # noqa: PLC0415
    from parsing.documents import read_json  # noqa: PLC0415
    from parsing.limits import ParseError  # noqa: PLC0415

    client = LLMClient(Endpoint("http://127.0.0.1:1", "m", "m", "llms.toml", "LLM", None, 5.0, 0))
    try:
        value = read_json(content)
    except ParseError:
        raise client.nonsense("no JSON") from None
    return read_completion(value, client).reply(client)


def _topics(content: bytes) -> object:
    from leaderboard.topics.tree import OUTLIER, Topic, TopicTree  # noqa: PLC0415
    from leaderboard.topics.yaml_file import read_topics  # noqa: PLC0415

    tree = TopicTree((Topic("0", "Soup", "Food"),), ("a", "b", "c"), ("0", "0", OUTLIER))
    return read_topics(content, "topics.yaml", tree, "digest")


def readers() -> list[Reader]:
    """Return all that is tried."""
    from crm.config import read_config  # noqa: PLC0415
    from crm.criteria import CriteriaSet  # noqa: PLC0415
    from crm.data.judge_benchmarks import read_judge_benchmark  # noqa: PLC0415
    from crm.llm.settings import read_llms  # noqa: PLC0415
    from db.bundle.files import read_bundle  # noqa: PLC0415
    from leaderboard.critique import read_edit  # noqa: PLC0415
    from leaderboard.critique_scores import read_assessment  # noqa: PLC0415
    from leaderboard.elicitation.history.read import read_history  # noqa: PLC0415
    from leaderboard.export import read_ranking_csv  # noqa: PLC0415
    from leaderboard.llm_facts.files import read_catalogue  # noqa: PLC0415
    from leaderboard.user_data.profiles import Profile  # noqa: PLC0415
    from leaderboard.user_data.uploads import read_responses  # noqa: PLC0415
    from precompute.importers import read_table  # noqa: PLC0415
    from precompute.topics.settings import read_clustering_settings  # noqa: PLC0415

    def table(path: Path) -> object:
        return read_table(path, "mine")

    def uploaded(kind: str) -> Callable[[bytes, Path], object]:
        return lambda content, _: read_responses(content, f"mine.{kind}")

    def history(kind: str) -> Callable[[bytes, Path], object]:
        return lambda content, _: read_history(content, f"mine.{kind}")

    def critique(content: bytes, _: Path) -> object:
        reply = content.decode(errors="replace")
        return read_assessment(reply), read_edit(reply, "Pepper.")

    assessed = {"suggestions": ["Be brief.", "Be warm."], "helpfulness": 1, "personalization": 2}
    assessed |= {"naturalness": 3, "faults": [{"fault": "forced", "points": 2}], "simple_query": True}
    lines = made.as_json_lines
    return [
        Reader("bundle", _in_file("mine.usl.zip", read_bundle), _bundle_cases),
        Reader("table, CSV", _in_file("t.csv", table), partial(_csv_cases, _ROWS, 11)),
        Reader("table, JSON Lines", _in_file("t.jsonl", table), partial(_json_cases, _ROWS, lines, 12)),
        Reader("table, Parquet", _in_file("t.parquet", table), partial(_parquet_cases, _ROWS, 13)),
        Reader("uploaded CSV", uploaded("csv"), partial(_csv_cases, _ROWS, 14)),
        Reader("uploaded JSON", uploaded("json"), partial(_json_cases, _ROWS, made.as_json, 15)),
        Reader("uploaded JSON Lines", uploaded("jsonl"), partial(_json_cases, _ROWS, lines, 16)),
        Reader("past choices, CSV", history("csv"), partial(_csv_cases, _CHOICES, 17)),
        Reader("past choices, JSON", history("json"), partial(_json_cases, _CHOICES, made.as_json, 18)),
        Reader("ChatGPT’s export", history("json"), partial(_json_cases, _CHATGPT, made.as_json, 19)),
        Reader(
            "ChatGPT’s export, ZIP",
            history("zip"),
            lambda: chain(
                made.damaged(made.as_zip({"conversations.json": made.as_json(_CHATGPT)}), 20),
                made.zip_bombs("conversations.json"),
            ),
        ),
        Reader("profile", lambda content, _: Profile.read(content, "p.json"), partial(_json_cases, _PROFILE)),
        Reader("link", lambda content, _: _view(content), _link_cases),
        Reader(
            "topics, YAML",
            lambda content, _: _topics(content),
            lambda: chain(_json_cases(_TOPICS, seed=21), made.yaml_bombs()),
        ),
        Reader("judges, TOML", _in_file("crms.toml", read_config), partial(_toml_cases, _JUDGES, 22)),
        Reader("LLMs, TOML", _in_file("llms.toml", read_llms), partial(_toml_cases, _LLMS, 23)),
        Reader(
            "clustering, TOML",
            _in_file("c.toml", read_clustering_settings),
            partial(_toml_cases, _CLUSTERING, 24),
        ),
        Reader(
            "facts of LLMs, TOML",
            _in_file("f.toml", lambda path: read_catalogue([path])),
            partial(_toml_cases, _FACTS, 25),
        ),
        Reader(
            "judge benchmark, JSON Lines",
            _in_file("b.jsonl", read_judge_benchmark),
            partial(_json_cases, _REWARD_BENCH, lines, 26),
        ),
        Reader(
            "judge benchmark, Parquet",
            _in_file("b.parquet", read_judge_benchmark),
            partial(_parquet_cases, _REWARD_BENCH, 27),
        ),
        Reader(
            "packed JSON Lines",
            _in_file("b.jsonl.gz", lambda path: list(_packed_lines(path))),
            lambda: chain(made.damaged(gzip.compress(lines(_ROWS)), 28), made.gzip_bombs()),
        ),
        Reader(
            "ranking, CSV",
            _in_file("r.csv", read_ranking_csv),
            partial(_csv_cases, [{"rank": 1, "llm": "alpha"}, {"rank": 2.5, "llm": "beta"}], 29),
        ),
        Reader("reply of an LLM", lambda content, _: _completion(content), partial(_json_cases, _REPLY)),
        Reader(
            "critique by an LLM",
            critique,
            partial(_json_cases, assessed | {"edited": "Salt."}),
        ),
        Reader(
            "criteria, JSON",
            lambda content, _: CriteriaSet.from_json(_value(content)),
            partial(_json_cases, _PROFILE["criteria"], made.as_json, 30),
        ),
        Reader("address of a database", _open, _address_cases),
    ]


def _packed_lines(path: Path) -> Iterator[object]:
    from precompute.importers.rows import read_json_lines  # noqa: PLC0415

    return read_json_lines(path)


def _value(content: bytes) -> Any:
    from parsing.documents import read_json  # noqa: PLC0415
    from parsing.limits import ParseError  # noqa: PLC0415

    try:
        return read_json(content)
    except ParseError as error:
        raise LeaderboardError(str(error)) from None


READ, REFUSED = "read", "refused"


def outcome(reader: Reader, content: bytes, folder: Path) -> str:
    """Return whether a file was read or refused; else what went wrong."""
    try:
        reader.read(content, folder)
    except SHOWN as error:
        message = str(error)
        odd = [letter for letter in message if not letter.isprintable() and letter not in "\n\t\u200d"]
        if odd or len(message) > _MAX_MESSAGE or not message.strip():
            return f"message {message[:200]!r}"
        return REFUSED
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]!r}"
    return READ


def _work(place: int, start: int, told: Connection) -> None:
    """Bring the cases from one on to a reader, and tell of each; the body of a process."""
    reader = readers()[place]
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, content) in enumerate(reader.cases()):
            if number >= start:
                told.send(None)
                began = perf_counter()
                found = outcome(reader, content, Path(folder))
                told.send((found, perf_counter() - began, peak_memory()))
    told.close()


@dataclass
class Tally:
    """What became of the cases of one reader.

    Attributes:
        hangs: Cases after which nothing had come for ``PATIENCE`` seconds, or at which the process ended.
        slowest: Seconds of the slowest case.
        memory: Bytes of the process at its largest, with what it had loaded.
    """

    name: str
    read: int = 0
    refused: int = 0
    hangs: int = 0
    slowest: float = 0.0
    memory: int = 0
    wrong: tuple[str, ...] = ()

    @property
    def cases(self) -> int:
        """How many there were."""
        return self.read + self.refused + self.hangs + len(self.wrong)

    @property
    def good(self) -> bool:
        """Whether all were read or refused in time and within memory."""
        return not self.hangs and not self.wrong and self.memory <= MOST_MEMORY

    def add(self, found: str, seconds: float, memory: int) -> None:
        """Count one case."""
        self.slowest, self.memory = max(self.slowest, seconds), max(self.memory, memory)
        self.read += found == READ
        self.refused += found == REFUSED
        if found not in (READ, REFUSED):
            self.wrong = (*self.wrong, found)


def tried(place: int, reader: Reader) -> Tally:
    """Bring all its cases to a reader, in a process that is begun anew after a hang."""
    tally = Tally(reader.name)
    context = multiprocessing.get_context("spawn")
    while True:
        told, telling = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(place, tally.cases, telling), daemon=True)
        process.start()
        telling.close()
        working = False
        try:
            while told.poll(PATIENCE if working else None):
                if working := (found := told.recv()) is None:
                    continue
                tally.add(*found)
        except EOFError:
            if not working:
                return tally
        tally.hangs += 1
        process.kill()


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Readers whose name has this in it.")] = "",
    output: Annotated[Path | None, typer.Option(help="Also written here as Markdown.")] = None,
) -> None:
    """Bring malformed files to all readers; the status is 1 if anything but a reading or a refusal came."""
    tallies = []
    for place, reader in enumerate(readers()):
        if only.casefold() in reader.name.casefold():
            tallies.append(tried(place, reader))
            for found in dict.fromkeys(tallies[-1].wrong):
                typer.echo(f"{reader.name}: {found}", err=True)
    Report(
        "Malformed inputs",
        ("reader", "cases", "read", "refused", "tracebacks", "hangs", "slowest", "memory"),
        (*map(_cells, tallies), _cells(_together(tallies))),
        f"A hang is a case of more than {PATIENCE:g} s; memory is that of the process at its largest, "
        f"with all that it has loaded and made. {describe_machine()}.",
    ).finish(output)
    if not all(tally.good for tally in tallies):
        raise typer.Exit(1)


def _together(tallies: list[Tally]) -> Tally:
    return Tally(
        "all",
        read=sum(tally.read for tally in tallies),
        refused=sum(tally.refused for tally in tallies),
        hangs=sum(tally.hangs for tally in tallies),
        slowest=max((tally.slowest for tally in tallies), default=0.0),
        memory=max((tally.memory for tally in tallies), default=0),
        wrong=tuple(found for tally in tallies for found in tally.wrong),
    )


def _cells(tally: Tally) -> tuple[str, ...]:
    counts = (tally.cases, tally.read, tally.refused, len(tally.wrong), tally.hangs)
    return (tally.name, *(f"{n:,}" for n in counts), duration(tally.slowest), size(tally.memory))


if __name__ == "__main__":
    app()
