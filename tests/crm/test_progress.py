"""Progress of a command where standard error is a file: a line when one is due."""

from __future__ import annotations

import pytest

from crm import progress


def test_a_log_has_a_line_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 100.0
    monkeypatch.setattr(progress, "monotonic", lambda: clock)
    with progress.progress_bar("steps of network [1]") as tell:
        for done in range(1, 6):
            clock += 6.0
            tell(done * 1000, 5000)

    assert capsys.readouterr().err.splitlines() == [
        "steps of network [1]: 2,000 of 5,000",
        "steps of network [1]: 4,000 of 5,000",
    ]
