"""What a configured judge can run on, one module a backend, imported when it is first used.

- `embedded`: the embedded CRM with weights of one's own
- `transformers_classifier`, `vllm_in_process`, `vllm_server`: a sequence classifier, by what runs it
- `llm_judge`: a chat model; `reward_model`: a scalar reward model, for the default ranking

Every module has ``make(table)``, which reads the keys of a judge's table in ``crms.toml`` and returns the
judge; a model is loaded, or a server asked, when the judge first judges.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from crm.config import JudgeTable
from crm.errors import UnavailableError
from crm.protocol import CRM

BACKENDS: Final = {
    "embedded": "crm.backends.embedded",
    "transformers": "crm.backends.transformers_classifier",
    "vllm-server": "crm.backends.vllm_server",
    "vllm": "crm.backends.vllm_in_process",
    "llm-judge": "crm.backends.llm_judge",
    "reward-model": "crm.backends.reward_model",
}


def make(table: JudgeTable) -> CRM:
    """Return the judge that a table describes.

    Raises:
        ConfigError: The table has no known backend, or a wrong key.
        UnavailableError: The backend's package is not installed.
        CRMError: What else the backend raises.
    """
    if table.backend not in BACKENDS:
        raise table.error(f"the key 'backend' must be one of {', '.join(BACKENDS)}")
    try:
        judge: CRM = import_module(BACKENDS[table.backend]).make(table)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("", "crm"):
            raise
        raise missing_package(table.backend, error.name or "") from error
    return judge


def missing_package(what: str, package: str) -> UnavailableError:
    """Return the error that something optional needs a package."""
    return UnavailableError(
        f"The judge needs the package {package} ({what}): install it as docs/judges.md says."
    )
