"""What a person's criteria come to for a question that they ask: a checklist that an LLM writes for it."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache, cachedmethod

from crm.criteria import CriteriaSet, Polarity, Weight
from crm.llm.endpoint import InteractiveLLM, llm_named_by
from leaderboard.asked_now import asked_now, place_at
from leaderboard.query_checklists.checklist import QueryChecklist, checklist_task

VARIABLE = "USL_CHECKLISTS"
"""Environment variable that names the LLM. Nothing is ever sent unless it is set."""
PATIENCE = 30.0
"""Seconds for which somebody waits for a checklist, where the LLM's table does not say less."""
_MAX_KEPT = 256
_GRADES = {
    Weight.ESSENTIAL: "What they want above all",
    Weight.IMPORTANT: "What matters much to them",
    Weight.OPTIONAL: "What they like where it fits",
}


def general_preference_of(criteria: CriteriaSet) -> str:
    """Return a person's criteria as their general preference in words, those that count most first."""
    sentences = []
    for grade, what in _GRADES.items():
        some = [each for each in criteria if each.weight is grade]
        wanted, avoided = ([each.text for each in some if each.polarity is polarity] for polarity in Polarity)
        if wanted:
            sentences.append(f"{what}: {'; '.join(wanted)}.")
        if avoided:
            sentences.append(f"{what}, to be without: {'; '.join(avoided)}.")
    return " ".join(sentences)


class QuestionChecklists:
    """An LLM that writes what criteria come to for a question; may be shared between threads."""

    def __init__(self, llm: InteractiveLLM) -> None:
        self.name = llm.name
        self._llm = llm
        self._kept: LRUCache[tuple[str, str], QueryChecklist] = LRUCache(_MAX_KEPT)
        self._lock = Lock()

    def write(self, criteria: CriteriaSet, question: str) -> QueryChecklist:
        """Return the checklist of a question for a person, kept for whoever asks and wishes the same.

        Raises:
            LeaderboardError: No reply can be used, or the LLM is asked too much at once.
            UnavailableError: The endpoint is down, slow, refuses, or answers nonsense.
            ConfigError: The API key is not there.
        """
        return self._write(general_preference_of(criteria), question)

    @cachedmethod(lambda self: self._kept, lock=lambda self: self._lock)
    def _write(self, general: str, question: str) -> QueryChecklist:
        with place_at(self._llm):
            task = checklist_task(general, question)
            return asked_now(self._llm, "checklist", task.prompt, task.read)


def checklists_llm_name() -> str | None:
    """Return the LLM that ``USL_CHECKLISTS`` names; None where answers are judged by criteria as they are."""
    return llm_named_by(VARIABLE)


def configured_checklists(name: str) -> QuestionChecklists:
    """Return who writes checklists by a name in ``llms.toml``; a ConfigError if it is behind no endpoint."""
    return QuestionChecklists(InteractiveLLM.configured(name, VARIABLE, patience=PATIENCE))
