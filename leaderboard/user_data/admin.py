"""What needs the admin token: signing in slowly after failures, importing and deleting benchmarks."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from threading import Event, Lock, Timer
from time import monotonic, time

from sqlalchemy.orm import Session

from db import Database
from db.database import URL_VARIABLE, exclusive
from db.records import BenchmarkRef
from db.repositories import benchmarks
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.errors import AdminError, LeaderboardError
from leaderboard.user_data.session_data import SessionData

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait after so many failures.

    Attributes:
        free: Failures that cost no wait.
        first: Seconds of the first wait; each further failure doubles it.
        longest: Seconds that no wait exceeds.
        forget: Seconds without a failure after which all are forgotten.
    """

    free: int
    first: float
    longest: float
    forget: float

    def wait(self, failures: int) -> float:
        """Return seconds to wait from the last of so many failures on."""
        beyond = failures - self.free
        if beyond <= 0:
            return 0.0
        # Beyond 64 doublings any wait is the longest, and a float would overflow later.
        return min(self.longest, self.first * 2.0 ** min(beyond - 1, 64))


class Throttle:
    """Counts the failures of each key; it is for its owner to see that one thread at a time uses it."""

    def __init__(self, backoff: Backoff, clock: Clock = monotonic) -> None:
        """Begin without failures; ``clock`` gives seconds that never go back."""
        self._backoff = backoff
        self._clock = clock
        self._failures: dict[Hashable, tuple[int, float]] = {}
        """How many there were, and when the last one was."""

    def __len__(self) -> int:
        return len(self._failures)

    def wait(self, key: Hashable) -> float:
        """Return seconds that the key has to wait yet, 0 if it may try."""
        self._forget()
        if key not in self._failures:
            return 0.0
        count, last = self._failures[key]
        return max(0.0, last + self._backoff.wait(count) - self._clock())

    def fail(self, key: Hashable) -> None:
        """Notes a failure now."""
        self._forget()
        count, _ = self._failures.get(key, (0, 0.0))
        self._failures[key] = count + 1, self._clock()

    def succeed(self, key: Hashable) -> None:
        """Forget the failures of the key."""
        self._failures.pop(key, None)

    def _forget(self) -> None:
        """Forget old failures, so that keys that come once and never again take no memory."""
        horizon = self._clock() - self._backoff.forget
        for key in [key for key, (_, last) in self._failures.items() if last <= horizon]:
            del self._failures[key]


TOKEN_VARIABLE = "USL_ADMIN_TOKEN"
WRONG_TOKEN = "This is not the admin token."
MIN_TOKEN_LENGTH = 16

# A typing error or two cost nothing. Waits outlast the patience of whoever guesses in one session …
OF_A_SESSION = Backoff(free=2, first=1.0, longest=900.0, forget=3600.0)
# … and a new session for every guess helps nobody. An administrator who knows the token is held up for a
# minute at most while someone else guesses.
OF_EVERYONE = Backoff(free=10, first=1.0, longest=60.0, forget=3600.0)

_EVERYONE = "everyone"
_HOW_TO_ENABLE = (
    f"set {TOKEN_VARIABLE} to a secret of {MIN_TOKEN_LENGTH} characters or more in the environment of the "
    "server and start it again; "
    'python -c "import secrets; print(secrets.token_urlsafe())" makes one'
)


class AdminGate:
    """Admits those who know the token; one for all sessions of a process, and safe for their threads.

    Behind several processes each throttles by itself.
    """

    __slots__ = ("_digest", "_everyone", "_key", "_lock", "_sessions", "_unavailable")

    def __init__(self, token: str | None, *, clock: Clock = monotonic) -> None:
        """Take the token, None or an empty one for none; ``clock`` gives seconds that never go back.

        White space around the token is no part of it, as files and shells tend to add some.
        """
        given = (token or "").strip()
        self._key = secrets.token_bytes(32)
        self._digest = self._digest_of(given)
        self._unavailable = _why_unavailable(given)
        self._sessions = Throttle(OF_A_SESSION, clock)
        self._everyone = Throttle(OF_EVERYONE, clock)
        self._lock = Lock()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> AdminGate:
        """Take the token from USL_ADMIN_TOKEN."""
        return cls(environment.get(TOKEN_VARIABLE))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'enabled' if self.is_enabled else 'without a token'})"

    @property
    def is_enabled(self) -> bool:
        """Whether anyone can be admitted."""
        return self._unavailable is None

    @property
    def unavailable(self) -> str | None:
        """Why nobody can be admitted and how that is changed, in one sentence; None if somebody can."""
        return self._unavailable

    def admit(self, session: Hashable, attempt: str) -> None:
        """Return if the attempt is the token, else raise.

        Args:
            session: Tells the person's browser session from others. The page remembers whom it admitted, in
                the session's own state, and does not ask again.

        Raises:
            AdminError: There is no token; the attempt is not the token; or there were too many failures just
                now, so that it is not compared.
        """
        if self._unavailable is not None:
            raise AdminError(self._unavailable)
        offered = self._digest_of(attempt.strip())
        # Asking for the wait, comparing and counting are one step: of attempts that come at once from many
        # threads each waits for the failures of those before it.
        with self._lock:
            wait = max(self._sessions.wait(session), self._everyone.wait(_EVERYONE))
            if wait > 0:
                seconds = ceil(wait)
                plural = "" if seconds == 1 else "s"
                raise AdminError(
                    f"Too many wrong tokens: try again in {seconds} second{plural}.", seconds=seconds
                )
            if not hmac.compare_digest(offered, self._digest):
                self._sessions.fail(session)
                self._everyone.fail(_EVERYONE)
                raise AdminError(WRONG_TOKEN)
            self._sessions.succeed(session)

    def _digest_of(self, text: str) -> bytes:
        """32 bytes whatever the text: a comparison takes as long for any, and its key is of this process."""
        return hmac.new(self._key, text.encode(errors="surrogatepass"), hashlib.sha256).digest()


def _why_unavailable(token: str) -> str | None:
    """Return why nobody can be admitted with this token, without a word of it."""
    if not token:
        return f"Data can be changed from the command line only: to change it here, {_HOW_TO_ENABLE}."
    if len(token) < MIN_TOKEN_LENGTH:
        return f"The admin token is too short to be safe: {_HOW_TO_ENABLE}."
    return None


TABLE_TYPES = ("csv", "jsonl", "parquet")
_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 10.0
_MAX_IMPORT = 3600.0
_FOLDERS = "usl-import-"
_COMPLAINT = "error: "


def import_table(
    database: Database,
    content: bytes,
    file: str,
    slug: str,
    *,
    baseline: str = "",
    title: str = "",
    on_progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Import a table of responses as a benchmark, ready to rank; say so in a sentence (docs/importing.md).

    All of it is stored when it is ready, or nothing.

    Args:
        file: Its name, whose ending says what it is.
        baseline: The LLM the others are compared to; the first of the file if none is named.
        title: A title for it; the slug if none is given.
        on_progress: Told every few seconds what is being done, in this thread.

    Raises:
        LeaderboardError: The file or a name is refused; nothing is stored then.
    """
    ending = Path(file).suffix.removeprefix(".").lower()
    if ending not in TABLE_TYPES:
        raise LeaderboardError(
            f"{file!r} is none of the files that can be imported: {', '.join(TABLE_TYPES)}."
        )
    _remove_left_folders()
    with tempfile.TemporaryDirectory(prefix=_FOLDERS) as folder:
        path = Path(folder) / f"table.{ending}"
        path.write_bytes(content)
        # Written as one word each, so that no value can be taken for an option.
        command = [sys.executable, "-m", "precompute", "import", "table", str(path), f"--benchmark={slug}"]
        command += ["--at-once"]  # whoever goes away, or a server that is killed, leaves no half of it
        command += [f"--baseline={baseline}"] if baseline else []
        command += [f"--title={title}"] if title else []
        output = Path(folder) / "output.txt"
        status, said = _run(command, _environment(database), output, on_progress)
        if status:
            raise LeaderboardError(_complaint(said).replace(str(path), file))
        return output.read_text(encoding="utf-8").strip().splitlines()[-1]


def _remove_left_folders() -> None:
    """Remove what a server left that was killed while it imported: an hour after the longest import."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDERS}*"):
        with suppress(OSError):  # another server removes it, or it is somebody else's
            if time() - folder.stat().st_mtime > 2 * _MAX_IMPORT:
                shutil.rmtree(folder)


def _run(
    command: Sequence[str], environment: Mapping[str, str], output: Path, on_progress: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Run a command and tell what it says on standard error as it says it; return its status and all that.

    Args:
        output: Where its standard output is written.

    Raises:
        LeaderboardError: It took too long and was stopped.
    """
    with (
        output.open("w", encoding="utf-8") as written,
        subprocess.Popen(
            command,
            cwd=_ROOT,
            env=dict(environment),
            stdout=written,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as process,
    ):
        too_late = Event()

        def stop() -> None:
            too_late.set()
            process.kill()

        end = Timer(_MAX_IMPORT, stop)
        end.start()
        said = []
        try:
            for line in process.stderr or ():
                said.append(line.rstrip())
                on_progress(said[-1])
            status = process.wait()
        except BaseException:  # the person left the page: nobody waits for the import any more
            process.kill()
            raise
        finally:
            end.cancel()
    if too_late.is_set():
        raise LeaderboardError(
            "The import took more than an hour and was stopped; import the file from the command line."
        )
    return status, said


def import_material(
    database: Database,
    material: SessionData,
    benchmark: LoadedBenchmark,
    slug: str = "",
    *,
    title: str = "",
    on_progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Import a session's upload, so that everybody has it, and say so in a sentence.

    Args:
        benchmark: The benchmark that it is part of, for what the upload does not say of its queries.
        slug: Of the new benchmark, where the upload makes one.
        on_progress: As for ``import_table``.

    Raises:
        LeaderboardError: A name is refused, or the text of a query is neither stored nor in the upload.
    """
    places = {query.external_id: place for place, query in enumerate(benchmark.record.queries)}
    rows = []
    for llm, given in material.responses.items():
        for query, response in given.items():
            record, text = benchmark.record.queries[places[query]], benchmark.query_texts[places[query]]
            if text is None:
                raise LeaderboardError(
                    f"The text of the query {query!r} is not stored here: upload it with a column query."
                )
            place = {"category": record.category, "topic": record.topic}
            rows.append({"id": query, "query": text, **place, "llm": llm, "response": response})
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    made = material.made
    return import_table(
        database,
        content,
        "the upload.jsonl",
        material.benchmark if made is None else slug,
        baseline="" if made is None else made.baseline or "",
        title="" if made is None else title,
        on_progress=on_progress,
    )


def own_benchmarks(database: Database) -> dict[str, str]:
    """Titles of the benchmarks that no bundled file made, by slug: those that can be deleted."""
    with database.session() as session:
        return {
            summary.slug: summary.title
            for summary in benchmarks.list_benchmarks(session)
            if _is_own(session, benchmarks.find_benchmark(session, summary.slug))
        }


def _is_own(session: Session, benchmark: BenchmarkRef) -> bool:
    return benchmarks.get_benchmark(session, benchmark).bundle_digest is None


def delete_benchmark(database: Database, slug: str) -> None:
    """Delete a benchmark of one's own with its responses, representations and scores.

    Raises:
        LeaderboardError: It is bundled, and would be there again at the next start.
        NotFoundError: There is no such benchmark.
        DatabaseError: Others are writing for too long.
    """
    with exclusive(database.engine, _PATIENCE), database.session() as session:
        benchmark = benchmarks.find_benchmark(session, slug)
        if not _is_own(session, benchmark):
            raise LeaderboardError(f"{slug!r} is bundled: it would be there again at the next start.")
        benchmarks.delete_benchmark(session, benchmark)


def _environment(database: Database) -> dict[str, str]:
    """That of this process with this database, and without the secret of who may change it."""
    address = database.engine.url.render_as_string(hide_password=False)
    kept = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
    return kept | {URL_VARIABLE: address, "PYTHONIOENCODING": "utf-8"}


def _complaint(said: Sequence[str]) -> str:
    """Return the one line with which a command refuses its input."""
    lines = [line for line in said if line.startswith(_COMPLAINT)]
    if not lines:
        return "The import ended unexpectedly; import the file from the command line to see why."
    return lines[-1].removeprefix(_COMPLAINT)
