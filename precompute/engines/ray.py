"""The engine that runs work in Ray actors, on this computer or on a cluster.

Each call of ``map`` is one Ray Data pipeline with a pool of actors of its own. The driver, which is the job's
process, puts the items in and takes the results out; actors see no database.
"""

from __future__ import annotations

import logging
import os
import pickle
import secrets
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import cloudpickle
import pyarrow as pa
import ray
import ray.data
from ray.util.annotations import RayDeprecationWarning

from crm.errors import one_line
from precompute.engines import Item, Result
from precompute.engines.answers import Answerer
from precompute.errors import PrecomputeError

RETRIES = 3
"""How often an actor that died is started again, and an item that it had is tried again."""
WINDOW_BYTES = 256 * 2**20
"""Items handed to Ray at once: so many that starting actors is little beside the work, and so few that they
fit into the memory of the driver."""
_CPUS_OF_WAITING = 0.05
_CONNECT_SECONDS = 10.0
_MAX_FOLDER_LENGTH = 22
"""So that Ray's sockets, some 80 characters below it, keep within the 103 that all systems allow."""
_ROOT = Path(__file__).resolve().parents[2]
_SHIPPED = ("crm", "db", "leaderboard", "parsing", "precompute", "bundled")
_NOT_SHIPPED = ("/bundled/*.usl.zip", "__pycache__")


class RayEngine:
    """Runs the work in pools of Ray actors; implements ``Engine``."""

    in_process = False

    def __init__(self, n_workers: int, gpus_per_actor: float = 0.0) -> None:
        """Use so many actors of the Ray that this process is connected to."""
        self.n_workers = n_workers
        self._gpus_per_actor = gpus_per_actor

    def map(
        self,
        make: Callable[[], Callable[[Item], Result]],
        items: Iterable[Item],
        *,
        at_most: int | None = None,
        waits: bool = False,
    ) -> Iterator[Result]:
        """Results of all items, each as soon as it is there, in any order.

        Raises:
            PrecomputeError: Ray fails, or actors die again and again.
            Exception: What a worker raises; of a kind that cannot be pickled, an ``PrecomputeError``.
        """
        n_workers = min(self.n_workers, at_most or self.n_workers)
        needs = {"num_cpus": _CPUS_OF_WAITING} if waits else {"num_cpus": 1, "num_gpus": self._gpus_per_actor}
        recipe = cloudpickle.dumps(make)
        for window in _windows(items):
            for answer in self._answers(recipe, window, min(n_workers, len(window)), needs):
                result, error = pickle.loads(answer)
                if error is not None:
                    raise error
                yield result

    def close(self) -> None:
        """Disconnect from Ray, which ends all actors."""
        ray.shutdown()

    def _answers(
        self, recipe: bytes, window: list[bytes], n_workers: int, needs: dict[str, Any]
    ) -> Iterator[bytes]:
        """Run one pipeline over pickled items."""
        try:
            data = _pipeline(recipe, window, n_workers, needs)
            for batch in data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                yield from batch["answer"].to_pylist()
        except ray.exceptions.RayError as error:
            raise PrecomputeError(
                f"Ray could not do the work, after {RETRIES} new attempts: {one_line(str(error))}"
            ) from error


def _pipeline(recipe: bytes, window: Sequence[bytes], n_workers: int, needs: dict[str, Any]) -> Any:
    """Return a Ray data set of answers to the items, one block an item, so that none waits for others."""
    items = ray.data.from_items([{"item": item} for item in window], override_num_blocks=len(window))
    with warnings.catch_warnings():
        # Limits of retries have no other place yet; without them a deadly item is tried for ever.
        warnings.simplefilter("ignore", RayDeprecationWarning)
        return items.map_batches(
            _Actor,
            fn_constructor_args=(recipe,),
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=n_workers),
            max_restarts=RETRIES,
            max_task_retries=RETRIES,
            **needs,
        )


class _Actor:
    """What an actor runs."""

    def __init__(self, recipe: bytes) -> None:
        self._answer = Answerer(recipe)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Answer items, pickled, each with a pickled pair of result and error."""
        answers = [self._answer(item) for item in batch["item"].to_pylist()]
        return pa.table({"answer": pa.array(answers, pa.large_binary())})


def _windows(items: Iterable[Any]) -> Iterator[list[bytes]]:
    """Pickled items, at most ``WINDOW_BYTES`` at a time."""
    window: list[bytes] = []
    held = 0
    for item in items:
        window.append(cloudpickle.dumps(item))
        held += len(window[-1])
        if held >= WINDOW_BYTES:
            yield window
            window, held = [], 0
    if window:
        yield window


@contextmanager
def ray_engine(
    address: str | None = None, actors: int | None = None, gpus_per_actor: float = 0.0
) -> Iterator[RayEngine]:
    """Yield an engine on a running cluster, or on Ray started here for as long as the block lasts.

    Of workers that died one line on standard error tells. Raises PrecomputeError: Ray cannot be started or
    reached, or has not the processors or GPUs for one actor.
    """
    with quiet(), short_folder() as folder:
        started_here = not ray.is_initialized()
        if started_here:
            with quiet_start():
                _start(address, folder)
        ray.data.DataContext.get_current().enable_progress_bars = False
        try:
            yield RayEngine(actors or _room(gpus_per_actor), gpus_per_actor)
        finally:
            if started_here:
                ray.shutdown()


def _start(address: str | None, folder: str) -> None:
    """Start Ray here, or connect to a cluster and bring it this code."""
    common = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    try:
        if address is None:
            # Ray would else keep a token of its own in the home directory.
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            ray.init(address="local", include_dashboard=False, _temp_dir=folder, **common)
        else:
            _check_reachable(address)
            ray.init(address=address, runtime_env=_this_code(), **common)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else one_line(str(error))
        if address is None:
            raise PrecomputeError(f"Ray cannot be started here: {reason}.") from error
        raise PrecomputeError(
            f"No Ray cluster can be used at {address} ({reason}): fix --ray-address, or start one as "
            "docs/scaling.md says, with the same RAY_AUTH_TOKEN."
        ) from error


def _check_reachable(address: str) -> None:
    """Raise an OSError if nothing listens at HOST:PORT; Ray itself would try for ten minutes and more."""
    place = address.rpartition("//")[2]
    host, _, port = place.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


def _this_code() -> dict[str, Any]:
    """What a node needs of this checkout: code and the bundled judges, no data and no configuration."""
    others = [f"/{path.name}" for path in _ROOT.iterdir() if path.name not in _SHIPPED]
    return {"working_dir": str(_ROOT), "excludes": [*others, *_NOT_SHIPPED]}


def _room(gpus_per_actor: float) -> int:
    """Return how many actors the processors, or the GPUs, allow: one at least."""
    there = ray.cluster_resources()
    room = int(there.get("CPU", 0))
    if gpus_per_actor > 0:
        room = min(room, int(there.get("GPU", 0) / gpus_per_actor))
    if room < 1:
        raise PrecomputeError(
            f"Ray has {there.get('CPU', 0):g} processors and {there.get('GPU', 0):g} GPUs, too few for one "
            "actor: add nodes, or lower --actor-gpus."
        )
    return room


@contextmanager
def short_folder() -> Iterator[str]:
    """Yield a new temporary folder with a short name."""
    usual = tempfile.gettempdir()
    place = usual if len(usual) <= _MAX_FOLDER_LENGTH else "/tmp"
    with tempfile.TemporaryDirectory(prefix="usl-ray-", dir=place, ignore_cleanup_errors=True) as folder:
        yield folder


_THREAD = "ray_listen_error_messages"
"""The thread in which Ray prints what happened to workers, in long lines on standard output."""
_DIED = "worker died"


@contextmanager
def quiet() -> Iterator[None]:
    """Let Ray print nothing but one line for workers that died; errors are raised anyhow."""
    loggers = [logging.getLogger(name) for name in ("ray", "ray.data")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with redirect_stdout(_Filter(sys.stdout)):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def quiet_start() -> Iterator[None]:
    """Discard what is written to standard error, also by compiled code: Ray confirms its log level there."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


class _Filter:
    """A stream for all threads but Ray's, of whose lines it makes a note."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if threading.current_thread().name != _THREAD:
            return self._stream.write(text)
        if _DIED in text:
            print("note: a Ray worker died; what it was doing is tried again.", file=sys.stderr)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
