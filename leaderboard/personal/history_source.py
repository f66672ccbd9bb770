"""From a person's past choices to their checklist: the texts are read in memory, and nothing is stored."""

from __future__ import annotations

from collections.abc import Callable

from crm import registry
from crm.encoder import Progress
from leaderboard.personal.history import History
from leaderboard.personal.history_checklist import Learnt, learn
from leaderboard.personal.history_material import past_material
from leaderboard.personal.history_past import past_of
from leaderboard.personal.library import criterion_library
from leaderboard.personal.source import material_of
from leaderboard.service import Service

Tell = Callable[[str, int, int], object]
"""Called with what is done, how much of it is done, and how much there is."""

READING, LEARNING = "Reading the answers", "Learning"


def learn_from(history: History, service: Service, slug: str, tell: Tell | None = None) -> Learnt:
    """What the choices tell, in lines that say it of a benchmark's responses.

    Args:
        history: The choices.
        service: Knows the benchmark.
        slug: Of the benchmark that will be ranked.
        tell: Told how far it is.

    Raises:
        BenchmarkNotFoundError: There is no such benchmark.
        RepresentationMissingError: A response of the benchmark has not been embedded.
    """
    library = criterion_library()
    crm = registry.get_crm(registry.DEFAULT)
    benchmark = material_of(service.contest(slug), crm)
    criteria = tuple(item.criterion for item in library)
    read = past_material(history.choices, crm, criteria, _step(tell, READING))
    past = past_of(history.choices, read, benchmark, library)
    return learn(past, [choice.query for choice in history.choices], _step(tell, LEARNING))


def _step(tell: Tell | None, what: str) -> Progress | None:
    """What a part of the work is told with."""
    if tell is None:
        return None

    def progress(done: int, total: int) -> None:
        tell(what, done, total)

    return progress
