"""How the judge reads each criterion of a view, and how far it can be trusted with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from crm.criteria import CriteriaSet, Criterion
from crm.embedded.beside_limits import limits_and_rest
from crm.protocol import CRM, CriterionWarning, KnowsItsError, ReadAs, Reliability
from leaderboard.cache import SharedCache
from leaderboard.request import CheckedCriteria, criterion_warnings
from leaderboard.sentences import part_not_judged_sentence, reading_sentence
from leaderboard.several_wishes import parts_of


class Badge(StrEnum):
    """What stands beside a criterion in a word or two."""

    COUNTED = "counted"
    STYLE = "known style"
    WORDING = "by its wording"
    LEFT_OUT = "left out"
    DOUBTFUL = "doubtful"


_OF = {ReadAs.COUNTED: Badge.COUNTED, ReadAs.STYLE: Badge.STYLE, ReadAs.WORDING: Badge.WORDING}


_RELIABILITIES: SharedCache[Reliability] = SharedCache(512)
"""Asked for twice as a page is drawn, and again when another criterion has changed."""


@dataclass(frozen=True)
class CriterionReading:
    """What a person is told of a criterion; the sentence is empty where a warning says why it is doubtful."""

    badge: Badge
    sentence: str = ""


def reading_of(crm: CRM, checked: CheckedCriteria, criterion: Criterion) -> CriterionReading | None:
    """Return how the judge reads a criterion of a view that was checked; None where it does not say."""
    if not isinstance(crm, KnowsItsError):
        return None
    if any(warning.criterion == criterion for warning in checked.left_out):
        return CriterionReading(Badge.LEFT_OUT)
    if any(warning.criterion == criterion for warning in checked.warnings):
        return CriterionReading(Badge.DOUBTFUL)
    asked = criterion.everywhere
    found = _RELIABILITIES.get((crm.name, crm.version, asked), lambda: crm.reliability(asked))
    sentences = [reading_sentence(found), *map(part_not_judged_sentence, _parts_not_judged(crm, asked))]
    return CriterionReading(_OF[found.read_as], " ".join(sentences))


def _parts_not_judged(crm: CRM, criterion: Criterion) -> list[CriterionWarning]:
    """Return why which of the wishes that a line lists cannot be judged, where the line as a whole can."""
    listed = parts_of(criterion)
    if not listed and (parts := limits_and_rest(criterion.text)) is not None and parts.rest:
        listed = (replace(criterion, text=parts.rest),)
    each = CriteriaSet(tuple(dict.fromkeys(listed)))
    return [found for found in criterion_warnings(crm, each) if found.criterion is not None]
