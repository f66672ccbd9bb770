"""Streamlit with judges that are slow, doubtful or not there on purpose; takes Streamlit's own arguments."""

import os
from collections.abc import Sequence
from pathlib import Path

from streamlit.web.cli import main

from crm import registry
from crm.errors import UnavailableError
from crm.protocol import Question, Verdict
from tests.judges import SlowCRM, WarningCRM

SECONDS_A_PAIR = float(os.environ.get("SECONDS_A_PAIR", "0.02"))
DOWN = Path(os.environ.get("SERVER_IS_DOWN", "no such file"))


class ServedCRM(SlowCRM):
    """A judge on a server that is down as long as a certain file is there."""

    name = "served"

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        if DOWN.exists():
            raise UnavailableError("“served” does not answer at http://127.0.0.1:9: start its server.")
        return super().judge(questions)


registry._BUILT_IN |= {
    "slow": lambda: WarningCRM(SECONDS_A_PAIR),
    "served": lambda: ServedCRM(SECONDS_A_PAIR),
}
main(prog_name="streamlit")
