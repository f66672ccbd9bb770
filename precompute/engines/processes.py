"""The engine that runs work in several processes of this computer; it needs no Ray."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import connection, get_context, parent_process
from typing import TypeAlias

import cloudpickle

from crm.processors import n_processors
from precompute.engines import Item, Result
from precompute.engines.answers import Answerer
from precompute.errors import PrecomputeError

RETRIES = 3
"""How often processes that died are started again, and the items that they had are tried again."""
_AHEAD = 2
"""Items handed out at once, for each process: so many that none waits, and few enough to fit into memory."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_UnderWay: TypeAlias = dict[Future[bytes], bytes]


class ProcessEngine:
    """Runs the work in processes of this computer, a processor each; implements ``Engine``."""

    in_process = False

    def __init__(self, n_workers: int | None = None) -> None:
        """Use so many processes; None as many as this one may use processors."""
        self.n_workers = n_workers or n_processors()
        self._pools: set[ProcessPoolExecutor] = set()

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
            PrecomputeError: Processes die again and again.
            Exception: What a worker raises; of a kind that cannot be pickled, a ``PrecomputeError``.
        """
        n_workers = min(self.n_workers, at_most or self.n_workers)
        recipe, pickled = cloudpickle.dumps(make), map(cloudpickle.dumps, items)
        again: list[bytes] = []
        for _ in range(1 + RETRIES):
            with self._pool(recipe, n_workers) as pool:
                under_way = {pool.submit(_answer, item): item for item in again}
                try:
                    for answer in _answers(pool, under_way, pickled, _AHEAD * n_workers):
                        result, error = pickle.loads(answer)
                        if error is not None:
                            raise error
                        yield result
                except BrokenProcessPool:
                    again = [*under_way.values()]
                else:
                    return
        raise PrecomputeError(
            f"The processes could not do the work, after {RETRIES} new attempts: one of them ended each "
            "time, perhaps for want of memory. Give fewer --workers."
        )

    def close(self) -> None:
        """End the processes when they have done the items that they have."""
        for pool in [*self._pools]:
            pool.shutdown(cancel_futures=True)

    @contextmanager
    def _pool(self, recipe: bytes, n_workers: int) -> Iterator[ProcessPoolExecutor]:
        """Yield new processes, of which each will make its worker."""
        # Spawned: a fork would inherit threads and the open database.
        pool = ProcessPoolExecutor(n_workers, get_context("spawn"), _begin, (recipe,))
        self._pools.add(pool)
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ |= dict.fromkeys(_THREADS, "1")  # what is imported in them reads it, so it must be here
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
            self._pools.discard(pool)
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _answers(
    pool: ProcessPoolExecutor, under_way: _UnderWay, items: Iterator[bytes], at_once: int
) -> Iterator[bytes]:
    """Yield the answers to what is under way and to further items, which are drawn as they are needed.

    What is under way when a process dies stays there. Raises BrokenProcessPool: One died.
    """
    while True:
        for item in islice(items, at_once - len(under_way)):
            under_way[pool.submit(_answer, item)] = item
        if not under_way:
            return
        done, _ = wait(under_way, return_when=FIRST_COMPLETED)
        for future in done:
            answer = future.result()
            del under_way[future]
            yield answer


_answerer = Answerer(b"")
"""The one of this process."""


def _begin(recipe: bytes) -> None:
    """Make this process ready for work, and let it end with the one that wants it."""
    global _answerer  # noqa: PLW0603  # each process is made ready once
    _answerer = Answerer(recipe)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _answer(item: bytes) -> bytes:
    return _answerer(item)
