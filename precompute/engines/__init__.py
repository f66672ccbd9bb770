"""Where the heavy part of a job runs: in this process, in several (`processes`), or in Ray actors (`ray`).

The database is read and written by the job's own process alone; what a worker answers is in `answers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from crm.errors import UnavailableError
from precompute.errors import PrecomputeError

__all__ = ["Engine", "EngineKind", "EngineOptions", "LocalEngine", "open_engine"]


Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Runs the same work on many items."""

    @property
    def in_process(self) -> bool:
        """Whether the work runs in this process, one item after another."""

    @property
    def n_workers(self) -> int:
        """Number of workers, at least 1."""

    def map(
        self,
        make: Callable[[], Callable[[Item], Result]],
        items: Iterable[Item],
        *,
        at_most: int | None = None,
        waits: bool = False,
    ) -> Iterator[Result]:
        """Results of all items, each as soon as it is there, in any order.

        A worker may die and another may do its item again: the work on an item must have no lasting effect,
        and a result says itself which item it is of. Closing the iterator ends the work.

        Args:
            make: Makes a worker, once in each process that has one; what is heavy is loaded there. It is
                pickled, like items and results, where workers are other processes.
            items: Drawn as they are needed; many may be drawn before the first result is there.
            at_most: Largest number of workers.
            waits: Whether workers mostly wait for a server, and need no processor of their own.

        Raises:
            PrecomputeError: The workers cannot be started, or die again and again.
            Exception: What a worker raises.
        """

    def close(self) -> None:
        """End all work, also from another thread than the one that waits for results."""


class LocalEngine:
    """Runs the work in this process, item by item, in the items' order; implements ``Engine``."""

    in_process = True
    n_workers = 1

    def map(
        self,
        make: Callable[[], Callable[[Item], Result]],
        items: Iterable[Item],
        *,
        at_most: int | None = None,
        waits: bool = False,
    ) -> Iterator[Result]:
        """Results of all items; an item is drawn when the result of the one before has been taken."""
        work: Callable[[Item], Result] | None = None
        for item in items:
            work = work or make()
            yield work(item)

    def close(self) -> None:
        """Nothing is left running between two results."""


QUIET_VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # The driver would else warn of every pool that its actors can be started again.
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Environment variables for before Ray is imported; those that a person has set are left as they are."""


class EngineKind(StrEnum):
    """The engines by name."""

    LOCAL = "local"
    PROCESSES = "processes"
    RAY = "ray"


@dataclass(frozen=True)
class EngineOptions:
    """What a person chose.

    Attributes:
        address: Of a running Ray cluster; None starts Ray on this computer.
        workers: Number of processes or actors; None as many as the processors, or the GPUs, allow.
        gpus_per_actor: GPUs that each actor is given, perhaps a part of one.
    """

    kind: EngineKind = EngineKind.LOCAL
    address: str | None = None
    workers: int | None = None
    gpus_per_actor: float = 0.0

    def __post_init__(self) -> None:
        if self.kind is not EngineKind.RAY and (self.address is not None or self.gpus_per_actor > 0):
            raise PrecomputeError("--ray-address and --actor-gpus need --engine ray beside them.")
        if self.kind is EngineKind.LOCAL and self.workers is not None:
            raise PrecomputeError("--workers needs --engine processes or --engine ray beside it.")


@contextmanager
def open_engine(options: EngineOptions) -> Iterator[Engine]:
    """Yield the chosen engine.

    Raises:
        UnavailableError: Ray is not installed.
        PrecomputeError: Ray cannot be started or reached.
    """
    if options.kind is EngineKind.LOCAL:
        yield LocalEngine()
        return
    if options.kind is EngineKind.PROCESSES:
        from precompute.engines.processes import ProcessEngine  # noqa: PLC0415  # joblib is seldom needed

        with closing(ProcessEngine(options.workers)) as processes:
            yield processes
        return
    for name, value in QUIET_VARIABLES.items():
        os.environ.setdefault(name, value)
    try:
        from precompute.engines.ray import ray_engine  # noqa: PLC0415  # installed by those who need it
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "ray":
            raise
        raise UnavailableError(
            "Ray is not installed here: install it with "
            "“.venv/bin/python -m pip install -r requirements-ray.txt”."
        ) from error

    with ray_engine(options.address, options.workers, options.gpus_per_actor) as engine:
        yield engine
