"""Asynchronous work that is waited for, from a script and from a notebook."""

from __future__ import annotations

import asyncio
import threading

import pytest

from crm.llm.running import run_to_end


async def _work() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def _failing() -> None:
    raise ValueError("no answer")


def _in_thread(what: object) -> list[object]:
    """What a call gives in a thread that surely runs no loop: a browser test may have left one in this."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(what()), name="a script")  # type: ignore[operator]
    thread.start()
    thread.join()
    return found


def test_a_script_runs_it_in_its_own_thread() -> None:
    assert _in_thread(lambda: run_to_end(_work())) == ["a script"]


def test_a_notebook_has_a_running_loop_and_gets_the_result_all_the_same() -> None:
    async def cell() -> str:
        return run_to_end(_work())

    (name,) = _in_thread(lambda: asyncio.run(cell()))
    assert str(name).startswith("asyncio")


def test_an_error_of_the_work_reaches_the_caller() -> None:
    async def cell() -> None:
        with pytest.raises(ValueError, match="no answer"):
            run_to_end(_failing())

    assert _in_thread(lambda: asyncio.run(cell())) == [None]
    with pytest.raises(ValueError, match="no answer"):
        run_to_end(_failing())
