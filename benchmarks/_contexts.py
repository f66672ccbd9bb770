"""People whose preferences depend on the context, and how they answer when they are asked (PrefDisco, 2025).

A context is a category of a benchmark. A person's *profile* in a context is sparse: a few wishes, each for or
against one attribute, with weights that sum to 1 (section 2.2). Some wishes they have everywhere, their
common part; the others are the context's own and may go the other way elsewhere. Attributes are criteria of
the library, and one matters in a context only if the responses there really differ in it: by ``RELEVANT``
log-odds, as a standard deviation within queries. A person words a wish as annotators did, on whose wordings
nothing was chosen (``_simulated.wordings``): one of the attribute's own cluster that the judge reads much as
the attribute (``SAME_MEANING``), so that what a person says in answer to a question is what they go by.

The *passive user* (section 3) takes an option only if it says what the profile holds, and says nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks._simulated import AVOIDED, wordings
from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.data.taxonomy import criterion_clusters
from crm.embedded.model import EmbeddedCRM
from leaderboard.benchmark import LoadedBenchmark
from leaderboard.elicitation.interview import InterviewQuestion
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.margins import CriterionMargins, criterion_margins
from leaderboard.errors import LeaderboardError

RELEVANT = 1.0
"""Log-odds by which responses to one query have to differ in an attribute, as a standard deviation."""
SAME_MEANING = 0.5
"""Correlation of a wording with its attribute over the responses of the benchmark."""
COMMON, OWN = (1, 2), (1, 3)
"""How many wishes a person has everywhere, and in a context of its own, at least and at most."""
_AT_ONCE = 100
_SUPPORT = 1e-9

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Wish:
    """One preference of a profile.

    Attributes:
        attribute: Its place in the library.
        criterion: In the person's own words, with polarity and grade.
        common: Whether the person has it everywhere.
    """

    attribute: int
    criterion: Criterion
    common: bool


@dataclass(frozen=True)
class Profile:
    """What a person wants in one context."""

    wishes: tuple[Wish, ...]

    @property
    def criteria(self) -> CriteriaSet:
        """The wishes as a judge is asked by them."""
        return CriteriaSet(tuple(wish.criterion for wish in self.wishes))

    @property
    def weights(self) -> NDArray[np.float64]:
        """How much each wish counts; they sum to 1 ``[n]``."""
        value = np.array([wish.criterion.weight.value_in_sum for wish in self.wishes])
        return np.asarray(value / value.sum())

    def signed(self, n_attributes: int) -> NDArray[np.float64]:
        """Return the weights by attribute, below 0 where it is to be avoided ``[K]``."""
        found = np.zeros(n_attributes)
        for wish, weight in zip(self.wishes, self.weights, strict=True):
            found[wish.attribute] = wish.criterion.polarity.sign * weight
        return found


@dataclass(frozen=True)
class Person:
    """A person, by the context."""

    profiles: Mapping[str, Profile]

    def overall(self, n_attributes: int) -> NDArray[np.float64]:
        """Return what they want on the whole: the mean of their profiles, by attribute ``[K]``."""
        return np.asarray(np.mean([each.signed(n_attributes) for each in self.profiles.values()], axis=0))

    def everywhere(self, n_attributes: int) -> NDArray[np.float64]:
        """Return what they want wherever they are: the common part alone, by attribute ``[K]``."""
        profile = next(iter(self.profiles.values()))
        return Profile(tuple(wish for wish in profile.wishes if wish.common)).signed(n_attributes)


@dataclass(frozen=True, eq=False)
class Attributes:
    """What people may have wishes about.

    Attributes:
        wordings: Held-out wordings of attributes, by their places in the library.
        relevant: By context, places of those with a wording in which the responses there differ.
    """

    wordings: Mapping[int, tuple[str, ...]]
    relevant: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(
        cls,
        benchmark: LoadedBenchmark,
        crm: EmbeddedCRM,
        margins: CriterionMargins,
        contexts: Sequence[str],
        most: int | None = None,
    ) -> Attributes:
        """Find them in some categories of a benchmark, whose margins are under the library.

        Args:
            most: Only so many wordings are drawn and tried.

        Raises:
            LeaderboardError: There are fewer in a context than a person may have wishes.
        """
        worded = held_out_wordings(benchmark, crm, margins, most)
        spread = spread_by_context(margins, benchmark.category_index, len(benchmark.category_names))
        relevant = {
            name: tuple(int(place) for place in np.flatnonzero(row > RELEVANT) if int(place) in worded)
            for name, row in zip(benchmark.category_names, spread, strict=True)
            if name in contexts
        }
        for name, places in relevant.items():
            if len(places) < COMMON[1] + OWN[1]:
                raise LeaderboardError(
                    f"The responses in {name!r} differ in {len(places)} attributes that have a wording: "
                    "too few, so choose other categories, or try more wordings."
                )
        return cls(worded, relevant)

    @cached_property
    def everywhere(self) -> tuple[int, ...]:
        """The attributes that are relevant in all contexts."""
        return tuple(sorted(set.intersection(*(set(places) for places in self.relevant.values()))))

    def person(self, random: np.random.Generator) -> Person:
        """Draw a person: the common part first, then each context's own."""
        common = tuple(self._wishes(self.everywhere, COMMON, random, common=True))
        taken = {wish.attribute for wish in common}
        profiles = {}
        for name, places in self.relevant.items():
            left = [place for place in places if place not in taken]
            own = self._wishes(left, OWN, random, common=False)
            profiles[name] = Profile((*common, *own))
        return Person(profiles)

    def _wishes(
        self, places: Sequence[int], count: tuple[int, int], random: np.random.Generator, *, common: bool
    ) -> Iterator[Wish]:
        """Draw so many wishes about different attributes, the first of them Essential."""
        size = min(int(random.integers(count[0], count[1] + 1)), len(places))
        for number, place in enumerate(random.choice(places, size, replace=False).tolist()):
            grade = tuple(Weight)[random.integers(len(Weight))] if number else Weight.ESSENTIAL
            polarity = Polarity.AVOID if random.random() < AVOIDED else Polarity.WANT
            text = self.wordings[place][random.integers(len(self.wordings[place]))]
            yield Wish(place, Criterion(text, grade, polarity), common)


def spread_by_context(
    margins: CriterionMargins, context: NDArray[np.integer], n_contexts: int
) -> NDArray[np.float64]:
    """Return the standard deviation of responses to a query under each criterion ``[X, K]``.

    Args:
        context: Of each query ``[Q]``, from 0 to X − 1.
    """
    found = np.zeros((n_contexts, margins.n_criteria))
    for place in range(n_contexts):
        here = context == place
        relative = margins.relative[:, here][margins.present[:, here]][:, :-1]
        if len(relative):
            found[place] = np.sqrt(np.square(relative, dtype=np.float64).mean(axis=0))
    return found


def held_out_wordings(
    benchmark: LoadedBenchmark, crm: EmbeddedCRM, margins: CriterionMargins, most: int | None = None
) -> dict[int, tuple[str, ...]]:
    """Return held-out wordings of the library's attributes, by their places; of some there are none.

    Args:
        margins: Of the benchmark's responses, under the library.
        most: Only so many are drawn and tried.
    """
    texts = wordings(crm, held_out=True, most=most)
    clusters = criterion_clusters()
    of_attribute = np.array(clusters.assigned([item.criterion.text for item in criterion_library()]))
    alike = _correlations(margins, list(_parts(benchmark, crm, texts)))
    found: dict[int, list[str]] = {}
    for text, cluster, column in zip(texts, clusters.assigned(texts), alike.T, strict=True):
        # Of attributes in one cluster it is a wording of the one that it is read most like.
        place = int(np.argmax(np.where(of_attribute == cluster, column, -1)))
        if of_attribute[place] == cluster and column[place] >= SAME_MEANING:
            found.setdefault(place, []).append(text)
    return {place: tuple(found[place]) for place in sorted(found)}


def _parts(benchmark: LoadedBenchmark, crm: EmbeddedCRM, texts: Sequence[str]) -> Iterator[CriterionMargins]:
    """Yield the margins of responses under the wordings, some at once."""
    for start in range(0, len(texts), _AT_ONCE):
        yield criterion_margins(benchmark, crm, tuple(map(Criterion, texts[start : start + _AT_ONCE])))


def _correlations(margins: CriterionMargins, parts: Sequence[CriterionMargins]) -> NDArray[np.float64]:
    """Return correlations over responses of K attributes with N wordings ``[K, N]``; 0 where one is flat."""
    own = _standardised(margins)
    return np.concatenate([own.T @ _standardised(part) for part in parts], axis=1) / len(own)


def _standardised(margins: CriterionMargins) -> NDArray[np.float64]:
    values = margins.relative[margins.present][:, :-1].astype(np.float64)
    values -= values.mean(axis=0)
    spread = values.std(axis=0)
    return np.asarray(np.divide(values, spread, out=np.zeros_like(values), where=spread > 0))


def passive_option(wants: Floats, question: InterviewQuestion) -> int:
    """Return the option that a passive user takes: what it says they want, in sum; else “No preference”.

    Args:
        wants: Signed weights of a profile by attribute ``[K]``.
    """
    support = question.weights[:-1] @ wants
    best = int(np.argmax(support))
    return best if support[best] > _SUPPORT else len(question.options) - 1
