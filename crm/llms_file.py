"""Where ``llms.toml`` is: LLMs by name, one table each."""

from __future__ import annotations

import os
from pathlib import Path

from crm.errors import ConfigError
from crm.toml_tables import TableKind

VARIABLE = "USL_LLMS"
"""Environment variable that names the file."""
DEFAULT_FILE = Path(__file__).resolve().parent.parent / "llms.toml"

LLMS = TableKind("LLM", "LLMs", "provider", f"mend the path, given as --config or in {VARIABLE}")


def llms_file(chosen: Path | None = None) -> Path:
    """The file of LLMs: the chosen one, else what ``USL_LLMS`` names, else ``llms.toml`` beside ``app.py``.

    Raises:
        ConfigError: There is none.
    """
    if chosen is not None:
        return chosen
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if not DEFAULT_FILE.is_file():
        raise ConfigError(
            "There is no file of LLMs: copy llms.example.toml to llms.toml beside app.py, "
            f"or name yours with --config or in {VARIABLE}."
        )
    return DEFAULT_FILE
