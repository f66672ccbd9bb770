"""What whoever runs the server decides about programs that ask it, by environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from leaderboard.errors import LeaderboardError

API_VARIABLE = "USL_API"
"""Environment variable: ``off`` leaves the HTTP API out; it is on by default."""
ORIGINS_VARIABLE = "USL_CORS_ORIGINS"
"""Environment variable: origins whose pages may ask, with commas between them, or ``*``; none by default."""
METRICS_VARIABLE = "USL_METRICS"
"""Environment variable: ``on`` shows figures on the server at ``/metrics``; off by default."""
JUDGES_VARIABLE = "USL_API_JUDGES"
"""Environment variable: the judges that score pairs for programs, with commas between them; by default the
bundled ones that are quick."""
_QUICK = "embedded, longer, cosine"
_SWITCH = {"on": True, "1": True, "true": True, "off": False, "0": False, "false": False}


@dataclass(frozen=True)
class Settings:
    """What the server offers beside the pages.

    Attributes:
        api: Whether there is an HTTP API.
        origins: Whose pages browsers let ask it (CORS).
        judges: Who scores pairs that programs send; rankings can be asked of any judge, as on the page.
        metrics: Whether figures on the server are shown to Prometheus.
    """

    api: bool = True
    origins: tuple[str, ...] = ()
    judges: tuple[str, ...] = tuple(_QUICK.split(", "))
    metrics: bool = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables; empty ones count as none. A LeaderboardError where one means nothing."""
        return cls(
            api=_switch(environment, API_VARIABLE, default=True),
            origins=_list(environment.get(ORIGINS_VARIABLE, "")),
            metrics=_switch(environment, METRICS_VARIABLE, default=False),
            judges=_list(environment.get(JUDGES_VARIABLE, "")) or _list(_QUICK),
        )


def _switch(environment: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environment.get(name, "").strip().casefold()
    if text and text not in _SWITCH:
        raise LeaderboardError(f"{name} is {text!r}: write on or off.")
    return _SWITCH.get(text, default)


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
