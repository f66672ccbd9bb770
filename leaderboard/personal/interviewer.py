"""The LLM that words the interview's questions for a person's topics: ``USL_INTERVIEWER`` names it."""

from __future__ import annotations

from leaderboard.asked_llm import AskedLLM, llm_named_by
from leaderboard.personal.question_wording import QuestionWording, read_wording, wording_prompt
from leaderboard.personal.questions import Question
from leaderboard.recent import Recent

VARIABLE = "USL_INTERVIEWER"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""
PATIENCE = 5.0
"""Seconds for which somebody waits for a wording, where the LLM's table does not say less."""
_WORDINGS_KEPT = 256


class Interviewer:
    """An LLM that words questions; may be shared between threads."""

    def __init__(self, llm: AskedLLM) -> None:
        """Let an LLM word them."""
        self.name = llm.name
        self._llm = llm
        self._wordings: Recent[QuestionWording] = Recent(_WORDINGS_KEPT)

    def word(self, question: Question, topics: tuple[str, ...]) -> QuestionWording:
        """A wording for some topics, kept for whoever else chooses them; the LLM is asked once.

        Raises:
            UnusableWordingError: The reply is of no use.
            BusyError, ReplyError: The LLM is asked too much at once, or its reply was cut or withheld.
            EndpointError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        return self._wordings.get((question.text, topics), lambda: self._worded(question, topics))

    def _worded(self, question: Question, topics: tuple[str, ...]) -> QuestionWording:
        with self._llm:
            return read_wording(self._llm.ask(wording_prompt(question, topics)), question)


def interviewer_name() -> str | None:
    """The LLM that ``USL_INTERVIEWER`` names; None where questions keep their fixed wording."""
    return llm_named_by(VARIABLE)


def configured_interviewer(name: str) -> Interviewer:
    """The interviewer of this name in ``llms.toml``.

    Raises:
        ConfigError: There is no such table, or it is none of an LLM behind an endpoint.
    """
    return Interviewer(AskedLLM.configured(name, VARIABLE, patience=PATIENCE))
