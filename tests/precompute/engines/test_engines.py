"""What every engine does, and what those in other processes do beside.

Options of the command line that lead to no engine."""

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psutil
import pytest

from crm.errors import ConfigError, UnavailableError
from precompute.__main__ import main
from precompute.engines import Engine, EngineKind, EngineOptions, open_engine
from precompute.errors import PrecomputeError
from tests.conftest import Run
from tests.precompute.engines import workers


def test_every_item_is_done_once_in_the_workers_place(engine: Engine, tmp_path: Path) -> None:
    results = list(engine.map(partial(workers.Square, tmp_path), range(10)))
    assert sorted(square for square, _ in results) == [number * number for number in range(10)]
    processes = {process for _, process in results}
    assert (processes == {os.getpid()}) is engine.in_process
    assert len(processes) <= engine.n_workers


def test_no_items_need_no_worker(engine: Engine) -> None:
    assert list(engine.map(workers.no_worker, [])) == []


def test_errors_arrive_as_they_were_raised(engine: Engine) -> None:
    with pytest.raises(ConfigError, match=r"^llms.toml: fix it\.$"):
        list(engine.map(lambda: workers.fail, [0]))
    with pytest.raises(ConfigError, match="There is no API key"):
        list(engine.map(workers.no_worker, [1]))


def test_an_error_that_cannot_travel_is_told(elsewhere: Engine) -> None:
    with pytest.raises(PrecomputeError, match="TwoWordsError: no luck"):
        list(elsewhere.map(lambda: workers.fail, [1]))


def test_what_a_dead_worker_had_is_done_by_another(elsewhere: Engine, tmp_path: Path) -> None:
    results = list(elsewhere.map(partial(workers.DiesOnce, tmp_path), range(8)))
    assert (tmp_path / "died").exists()
    assert sorted(square for square, _ in results) == [number * number for number in range(8)]
    assert len({process for _, process in results}) > 1


def test_a_worker_that_always_dies_ends_the_work(elsewhere: Engine) -> None:
    with pytest.raises(
        PrecomputeError,
        match=r"^(Ray|The processes) could not do the work, after 3 new attempts: (The actor|one of them)",
    ):
        list(elsewhere.map(lambda: workers.die, [1]))


def test_processes_end_with_the_one_that_wants_them(tmp_path: Path) -> None:
    script = (
        "from functools import partial\nfrom pathlib import Path\n"
        "from precompute.engines.processes import ProcessEngine\n"
        "from tests.precompute.engines import workers\n"
        "if __name__ == '__main__':\n"
        f"    list(ProcessEngine(2).map(partial(workers.Square, Path({str(tmp_path)!r}), 0.2), range(500)))\n"
    )
    (tmp_path / "job.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    job = subprocess.Popen([sys.executable, tmp_path / "job.py"], env=environment)
    while len(list(tmp_path.iterdir())) < 4:
        time.sleep(0.1)
    children = psutil.Process(job.pid).children(recursive=True)
    job.kill()
    job.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert children
    assert not alive


def test_nothing_more_is_done_when_nobody_wants_it(elsewhere: Engine, tmp_path: Path) -> None:
    results = elsewhere.map(partial(workers.Square, tmp_path, seconds=0.05), range(500))
    next(results)
    results.close()  # type: ignore[attr-defined]  # it is a generator
    time.sleep(0.5)
    done = len(list(tmp_path.iterdir()))
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) == done < 500


ROOT = Path(__file__).resolve().parents[3]
SCORE = ("score", "--benchmark", "dailybench", "--crm", "longer")


def test_without_ray_it_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "precompute.engines.ray", raising=False)
    with ExitStack() as stack, pytest.raises(UnavailableError) as missing:
        stack.enter_context(open_engine(EngineOptions(EngineKind.RAY)))
    assert str(missing.value) == (
        "Ray is not installed here: install it with "
        "“.venv/bin/python -m pip install -r requirements-ray.txt”."
    )


def test_options_of_ray_need_ray(run_main: Run) -> None:
    for options in (("--ray-address", "head:6379"), ("--actor-gpus", 1, "--engine", "processes")):
        assert run_main(main, *SCORE, *options) == (
            2,
            "",
            "error: --ray-address and --actor-gpus need --engine ray beside them.\n",
        )
    assert run_main(main, *SCORE, "--workers", 2) == (
        2,
        "",
        "error: --workers needs --engine processes or --engine ray beside it.\n",
    )


def test_an_address_of_nobody_is_one_sentence(run_main: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # it may run in this process for other tests
    code, out, err = run_main(main, *SCORE, "--engine", "ray", "--ray-address", address)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: No Ray cluster can be used at {address} (Connection refused): fix")
    assert err.count("\n") == 1
    unknown = run_main(main, *SCORE, "--crm", "nobody", "--engine", "ray", "--ray-address", address)
    assert unknown[0] == 2
    assert "'nobody'" in unknown[2]
