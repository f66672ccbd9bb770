"""Concepts: what people mean when they say what they like in an answer, whatever words they use.

“Funny”, “makes me laugh” and “cracks jokes” are one wish. A language model's lower layers
(``crm.embedded.wish_decoder``), and networks on the sentence encoder and on words
(``crm.embedded.wish_network``), all adapted to wishes, say which of 238 concepts a criterion asks for or
wants less of, and how sure that is: 69 can be counted in a response (``crm.embedded.counts``), the others are
styles and kinds of content. They were trained on 86,000 wishes written for this project (``crm/training``).
What is more than one of them, such as a wise older friend, the language model also reads as a mixture of all
(``crm.embedded.mixtures``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.criteria import Criterion, Polarity, Wording
from crm.embedded.beside_limits import LimitsAndRest, limits_and_rest
from crm.embedded.clauses import FAR_BEHIND, taken_apart
from crm.embedded.countable import SURE, count_of
from crm.embedded.counts import count_names, countables, limited_columns
from crm.embedded.encoder import DIMENSIONS, RowCache
from crm.embedded.forms import contrasted
from crm.embedded.idioms import plainly
from crm.embedded.limits import read_limit
from crm.embedded.mixtures import MixtureHead
from crm.embedded.representation import load_arrays, load_some_arrays
from crm.embedded.smollm2 import smollm2_file
from crm.embedded.spelling import Spelling
from crm.embedded.surface import N_TURNS_OF_LESS, asks_for_less, turns
from crm.embedded.wish_decoder import WishDecoder
from crm.embedded.wish_network import WishNetwork, read_by_each
from crm.errors import UnavailableError
from crm.paths import CONCEPTS_FILE
from crm.processors import beside
from crm.protocol import Floats

_MAX_CACHED = 2048
_AGREED = 1.5
"""Power of the networks' mean, which is less sure than each of them of what they agree on."""
_OF_DECODER = 0.4
"""Share of the language model in what is read, beside the networks' mean."""
_CAUTION = 2
"""Power of the probability that a criterion asks for known concepts: specific wishes name one in passing."""
_CLEAR = ((5, 0.4, 0.6, 0.8), (9, 0.6, 0.75, 0.95), (np.inf, 0.75, 0.9, np.inf))
"""Up to so many words, a wish is clear from these probabilities on: of counts, of soft ones, of styles."""
_CLEARLY = np.float32(0.998)
_REST_PER_WORD, _MOST_WORDS = np.float32(0.05), 5
"""So much a clear wish for a style has besides it, for each of so many words at most: they say which kind
of warmth is meant."""
_FAR_BEHIND_IN_A_LIST = 0.15
"""Where several concepts are listed, one counts from so much of the first one's probability on."""
_LIST = re.compile(r"[,;&+]|\b(?:and|or|plus|nor)\b", re.IGNORECASE)
_PLAINLY_LESS = 0.6
"""Wishes for less without a word of less, such as “overconfident”, are so much rarer than in the training."""
_HEARD = 0.5
"""“Avoid …” must be read at least so plainly, beside the name alone, to say that the name is a complaint."""
_DECODER, _MIXTURES = "decoder", "mixtures"
"""Before the names of their arrays in the file."""
_MIXED = np.float32(0.4)
"""Share of the mixture in what is wanted, where it does not contradict what is named."""
_SURELY_READ = np.float32(0.8)
"""Strength from which on a mixture is believed where it contradicts what is named."""
_A_NAME = 2
"""Up to so many words, a clear wish is the name of what is wanted."""
_A_PHRASE = 4
"""Up to so many words, what a clear wish names is not contradicted."""
_PLAINLY = 0.5
"""What may be limited is read with so much probability, or the unit of a limit says what it is of."""
_BY_UNIT = 0.95
_ELSE_WISHED = 0.4
"""What is asked for beside a limit must be read with so much probability, of whatever concepts."""
_NO_LIMIT, _MOST_LIMITS = -1, 3
_WHOLE, _REST = -2, -1
"""What stands for a criterion beside its limits: it whole, its rest, or else one of the limits."""
_NEGLIGIBLE = 0.06
"""Probability below which a concept is not taken into account."""
_SLIGHT_COUNT = 0.1
"""Weight in a mixture below which what can be counted is not."""


class ConceptClassifier:
    """Reads criteria, as several networks do on average; may be shared between threads.

    Attributes:
        names: Identifiers of the K concepts; those that can be counted come first, in their counts' order.
        networks: Their classes: no concept, then more and less of each.
        spelling: By which slips are mended before a criterion is read.
        decoder: The language model; None where its weights are not installed: then the networks read alone.
        mixtures: What reads mixtures, where there is a language model; None where that was not fitted.
    """

    def __init__(
        self,
        names: Sequence[str],
        networks: Sequence[WishNetwork],
        spelling: Spelling,
        decoder: WishDecoder | None = None,
        mixtures: MixtureHead | None = None,
    ) -> None:
        """Join networks of ``1 + 2 K`` classes."""
        self.names, self.networks, self.spelling = tuple(names), tuple(networks), spelling
        self.decoder, self.mixtures = decoder, mixtures
        self._known: RowCache[Wording] = RowCache(_MAX_CACHED)

    @property
    def countable(self) -> int:
        """How many of the concepts can be counted."""
        return len(count_names())

    def read(self, criteria: Sequence[Criterion]) -> Reading:
        """Return what the texts of N criteria ask for; of one to avoid, what is not wished."""
        wordings = [criterion.wording for criterion in criteria]
        return self._reading(
            self._known.rows(wordings, 3 * len(self.names) + 3 + _MOST_LIMITS, self._read), criteria
        )

    def read_many(self, criteria: Sequence[Criterion]) -> Reading:
        """Return what so many criteria ask for as only a training has; none is remembered."""
        return self._reading(self._read([each.wording for each in criteria], bulk=True), criteria)

    def read_many_with_states(self, criteria: Sequence[Criterion]) -> tuple[Reading, Floats]:
        """Return what so many wishes name, and the states in which all that read left them ``[N, D]``.

        Raises:
            UnavailableError: There is no language model.
        """
        texts = [plainly(self.spelling.corrected(criterion.text)) for criterion in criteria]
        prob, states = self._read_texts(texts, bulk=True)
        if states is None:
            raise UnavailableError(
                "The classifier of wishes has no language model, or its weights are missing."
            )
        return self._named(texts, prob), states

    def _reading(self, rows: Floats, criteria: Sequence[Criterion]) -> Reading:
        n_prob = 2 * len(self.names)
        n_mixture = n_prob + len(self.names) + 1
        prob, mixture, strength, which, limited = np.split(
            rows, [n_prob, n_mixture, n_mixture + 1, -_MOST_LIMITS], axis=1
        )
        texts = [criterion.text for criterion in criteria]
        for row, place in enumerate(which[:, 0].astype(np.int64).tolist()):
            if place != _WHOLE:
                parts = limits_and_rest(self._plain(texts[row]))
                assert parts is not None  # as it was when the criterion was read
                texts[row] = parts.rest if place == _REST else parts.limits[place]
        return Reading(prob, mixture, strength[:, 0], *_form(texts), limited.astype(np.int64))

    def _read(self, wordings: Sequence[Wording], *, bulk: bool = False) -> Floats:
        """Return how probable more and less of each concept are, the mixtures, how surely they are read, of
        which part of a criterion all are, and the counts that are limited beside it
        ``[N, 2 K + (K + 1) + 1 + 1 + 3]``.

        Of “warm, in three sentences” the limit is read by itself, and all else is what “warm” is read as.
        """
        texts = [self._plain(text) for text, _ in wordings]
        parted = {
            row: parts for row, text in enumerate(texts) if (parts := limits_and_rest(text)) is not None
        }
        further = [
            (part, wordings[row][1]) for row, parts in parted.items() for part in (parts.rest, *parts.limits)
        ]
        read = self._read_plain(
            [*zip(texts, (each for _, each in wordings), strict=True), *further], bulk=bulk
        )
        rows, of_parts = np.split(read, [len(texts)])
        besides = np.full((len(rows), 1 + _MOST_LIMITS), _NO_LIMIT, dtype=np.float32)
        besides[:, 0] = _WHOLE
        for row, parts in parted.items():
            of_row, of_parts = np.split(of_parts, [1 + len(parts.limits)])
            place, columns = self._besides(parts, of_row)
            if place != _WHOLE:
                rows[row] = of_row[1 + place]
                besides[row, : 1 + len(columns)] = place, *columns
        return np.concatenate([rows, besides], axis=1)

    def _plain(self, text: str) -> str:
        return plainly(self.spelling.corrected(text))

    def _besides(self, parts: LimitsAndRest, rows: Floats) -> tuple[int, list[int]]:
        """Return which part stands for a criterion, and the counts that are limited beside it.

        That is its rest, unless that is no wish or only for what is limited: “short, at most 100 words”.

        Args:
            rows: What the rest and the limits were read as ``[1 + L, 3 K + 2]``.
        """
        whole = np.full((len(rows), 1 + _MOST_LIMITS), _NO_LIMIT, dtype=np.float32)
        whole[:, 0] = _WHOLE
        read = self._reading(
            np.concatenate([rows, whole], axis=1),
            [Criterion(text or "-") for text in (parts.rest, *parts.limits)],
        )
        first, named = np.abs(read.wanted).argmax(axis=1).tolist(), np.abs(read.wanted).max(axis=1)
        limited: dict[int, int] = {}
        for place, column in enumerate(first[1:]):
            if column in limited_columns() and named[1 + place] >= SURE:
                limited.setdefault(column, place)
        columns = [*limited][:_MOST_LIMITS]
        if columns and parts.rest and read.prob[0].sum() >= _ELSE_WISHED and first[0] not in limited:
            return _REST, columns
        is_all = len(columns) > 1 or not parts.rest
        return (limited[columns[0]], columns[1:]) if columns and is_all else (_WHOLE, [])

    def _read_plain(self, wordings: Sequence[Wording], *, bulk: bool) -> Floats:
        """Return the same without limits, of texts in plain words ``[N, 2 K + K + 2]``.

        “Waffle” alone may be read as a complaint, the wish for less of it; then “avoid waffle” says what is
        meant.
        """
        texts = [text for text, _ in wordings]
        bare = [row for row, (_, polarity) in enumerate(wordings) if _is_bare_name(texts[row], polarity)]
        texts += [f"avoid {texts[row]}" for row in bare]
        prob, vectors = self._read_texts(texts, bulk=bulk)
        mixtures = self._mixtures(texts, prob, vectors)
        (prob, avoided), (mixtures, of_avoided) = (
            np.split(each, [len(wordings)]) for each in (prob, mixtures)
        )
        listed = np.array([_LIST.search(texts[row]) is not None for row in bare], dtype=np.bool_)
        prob_of_bare = prob[bare]
        complained = _are_complaints(prob_of_bare, avoided, listed)[:, None]
        contrary = np.stack([avoided[:, 1::2], avoided[:, ::2]], axis=2).reshape(avoided.shape)
        prob[bare] = np.where(complained, contrary, prob_of_bare)
        of_avoided[:, : len(self.names)] *= -1
        turned = complained & _are_alike(prob_of_bare, avoided)[:, None]
        mixtures[bare] = np.where(turned, of_avoided, mixtures[bare])
        return np.concatenate([prob, mixtures], axis=1)

    def _named(self, texts: Sequence[str], prob: Floats) -> Reading:
        """Return what N texts name, by the probabilities ``[N, 2 K]``, without any mixture."""
        none = np.zeros((len(texts), len(self.names) + 1), dtype=np.float32)
        no_limits = np.full((len(texts), _MOST_LIMITS), _NO_LIMIT)
        return Reading(prob, none, none[:, 0], *_form(texts), no_limits)

    def _mixtures(self, texts: Sequence[str], prob: Floats, vectors: Floats | None) -> Floats:
        """Return of what mixtures N texts are, and how surely ``[N, K + 2]``; zeros where none is read."""
        reading = self._named(texts, prob)
        if self.mixtures is None or vectors is None:
            return np.zeros((len(texts), len(self.names) + 2), dtype=np.float32)
        read = self.mixtures.read(vectors, reading.named)
        read[:, : self.countable][np.abs(read[:, : self.countable]) < _SLIGHT_COUNT] = 0.0
        # Readers weighed English wishes: of another language the networks know more.
        is_foreign = np.array([self.spelling.is_foreign(text) for text in texts], dtype=np.bool_)
        read[is_foreign, -1] = 1.0
        read[is_foreign & replace(reading, mixture=read[:, :-1], strength=read[:, -1]).is_contradicted] = 0.0
        return read

    def _read_texts(self, criteria: Sequence[str], *, bulk: bool) -> tuple[Floats, Floats | None]:
        """Return how probable more and less of each concept are in what was written ``[N, 2 K]``, and where
        there is a language model the states of all that read the whole ``[N, D]``."""
        # Together: a short text costs the networks as much time as ten.
        clauses = [taken_apart(each) for each in criteria]
        texts = [(row, text) for row, each in enumerate(clauses) for text in dict.fromkeys(each.texts())]
        read, states = self._averaged([text for _, text in texts], bulk=bulk)
        of_text: list[dict[str, Floats]] = [{} for _ in clauses]
        for (row, text), as_it_stands in zip(texts, read, strict=True):
            of_text[row][text] = as_it_stands
        wholes = [place for place, (row, text) in enumerate(texts) if text == clauses[row].text]
        prob = np.stack([each.read(of_text[row]) for row, each in enumerate(clauses)])
        plain = ~turns(criteria)[:, :N_TURNS_OF_LESS].any(axis=1)
        prob[plain, 2 * self.countable + 2 :: 2] *= _PLAINLY_LESS
        prob /= prob.sum(axis=1, keepdims=True)
        prob[prob < _NEGLIGIBLE] = 0.0
        of_concepts = np.asarray(prob[:, 1:], dtype=np.float32)
        _read_by_unit(criteria, of_concepts)
        return of_concepts, None if states is None else states[wholes]

    def _averaged(self, criteria: Sequence[str], *, bulk: bool) -> tuple[Floats, Floats | None]:
        """Return the mean probabilities of the classes by all that read, sharpened ``[N, 1 + 2 K]``.

        And where there is a language model the states of all that read ``[N, D]``.
        """
        states = None
        if (decoder := self.decoder) is None:
            of_networks, _ = read_by_each(self.networks, criteria, bulk=bulk)
            mean = np.mean(of_networks, axis=0)
        else:
            with beside() as start:
                reading = start(lambda: decoder.vectors(criteria))
                of_networks, heard = read_by_each(self.networks, criteria, bulk=bulk)
                vectors = reading()
            of_decoder = decoder.prob(vectors, bulk=bulk)
            mean = (1 - _OF_DECODER) * np.mean(of_networks, axis=0) + _OF_DECODER * of_decoder
            states = np.concatenate([vectors, heard], axis=1)
        prob: Floats = mean**_AGREED / (mean**_AGREED).sum(axis=1, keepdims=True)
        return prob, states

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what its file stores."""
        arrays: dict[str, NDArray[Any]] = {"names": np.array(self.names), **self.spelling.arrays()}
        for place, network in enumerate(self.networks):
            arrays |= {f"{place}_{name}": array for name, array in network.arrays().items()}
        if self.decoder is not None:
            arrays |= {f"{_DECODER}_{name}": array for name, array in self.decoder.arrays().items()}
        if self.mixtures is not None:
            arrays |= {f"{_MIXTURES}_{name}": array for name, array in self.mixtures.arrays().items()}
        return arrays

    @classmethod
    def load(cls, path: Path) -> ConceptClassifier:
        """Read the fitted classifier.

        Raises:
            UnavailableError: The file is absent, damaged or made for other counts.
        """
        arrays = load_arrays(path, "names", "words", "foreign", "0_weight")
        names = tuple(arrays["names"].tolist())
        if names[: len(count_names())] != count_names():
            raise UnavailableError(f"{path.name} was fitted for other counts: fit it again.")
        of_each: dict[str, dict[str, NDArray[Any]]] = {}
        for name in arrays.keys() - {"names", "words", "foreign"}:
            place, _, part = name.partition("_")
            of_each.setdefault(place, {})[part] = arrays[name]
        of_decoder, of_mixtures = of_each.pop(_DECODER, None), of_each.pop(_MIXTURES, None)
        decoder = None
        if of_decoder is not None and smollm2_file() is not None:
            decoder = WishDecoder.from_arrays(of_decoder)
        networks = [WishNetwork.from_arrays(of_each[place]) for place in sorted(of_each)]
        spelling = Spelling(arrays["words"].tolist(), arrays["foreign"].tolist())
        mixtures = None if of_mixtures is None else MixtureHead.from_arrays(of_mixtures)
        if decoder is not None and mixtures is not None:
            width = decoder.width + DIMENSIONS * len(networks)
            if mixtures.width != width + len(names):
                raise UnavailableError(f"{path.name} reads mixtures off other states: fit “readings” again.")
        return cls(names, networks, spelling, decoder, mixtures)


@dataclass(frozen=True)
class Reading:
    """What N criteria ask for.

    Attributes:
        prob: Of more and of less of each of K concepts, in turn ``[N, 2 K]``.
        mixture: More or less of each concept, of unit length or none, and how much it leaves unsaid
            ``[N, K + 1]``.
        strength: How surely the mixture was read: about 1, less where several were likely ``[N]``.
        n_words: Of each criterion ``[N]``.
        limited: Which of them name an amount, so that neither more nor less is asked for ``[N]``.
        listed: Which of them may list several concepts, which then are asked for alike ``[N]``.
        beside: Counts of which a criterion names an amount beside what else it asks for, which is all that
            is said here; −1 for none ``[N, 3]``.
    """

    prob: Floats
    mixture: Floats
    strength: Floats
    n_words: NDArray[np.int64]
    limited: NDArray[np.bool_]
    listed: NDArray[np.bool_]
    beside: NDArray[np.int64]

    @cached_property
    def wanted(self) -> Floats:
        """More of a concept less less of it, from −1 to 1 ``[N, K]``: in part what was named, in part the
        mixture, less what that leaves unsaid."""
        mixed = self._mixed[:, None]
        wanted: Floats = (1 - mixed) * self.named + mixed * (1 - self.mixture[:, -1:]) * self.mixture[:, :-1]
        rows, places = np.nonzero(self.beside >= 0)
        wanted[rows, self.beside[rows, places]] = 1.0
        wanted *= self._share_of_rest[:, None]
        return wanted

    @cached_property
    def _share_of_rest(self) -> Floats:
        """By which all that is wanted is multiplied ``[N]``: limits beside it are folded like criteria."""
        share: Floats = np.float32(1.0) / np.sqrt(1 + (self.beside >= 0).sum(axis=1), dtype=np.float32)
        return share

    @cached_property
    def named(self) -> Floats:
        """What a criterion names, from −1 to 1 ``[N, K]``.

        Scaled so that a criterion which names several concepts is folded like several criteria.
        """
        both = np.where(self._is_clear[:, None, None], self._nearest, self._both)
        length = np.sqrt((both.sum(axis=2) ** 2).sum(axis=1, keepdims=True))
        scaled: Floats = self._signed(both) * (self.certainty[:, None] / np.maximum(length, 1e-6))
        return scaled

    @cached_property
    def certainty(self) -> Floats:
        """How sure it is that the concepts say what is meant, from 0 to 1 ``[N]``."""
        certainty: Floats = np.where(self._is_clear, _CLEARLY, self.prob.sum(axis=1) ** _CAUTION)
        return certainty

    @cached_property
    def unread(self) -> Floats:
        """How much is left to what is read of the whole criterion, from 0 to 1 ``[N]``.

        A clear wish for what is counted, or for an amount, is nothing but that: any rest would decide
        wherever the counts are equal. A hair of it is left, by which two answers differ that are a tie in a
        ranking.
        """
        besides = _REST_PER_WORD * np.minimum(self.n_words, _MOST_WORDS)
        of_style = self._is_clear & ~self.limited & ~self._is_counted
        unread = np.where(of_style, besides, 1.0 - self.certainty)
        unread = (1 - self._mixed) * unread + self._mixed * self.mixture[:, -1]
        return (self._share_of_rest * unread).astype(np.float32)

    @cached_property
    def _mixed(self) -> Floats:
        """Which share of what is wanted is the mixture ``[N]``.

        None where an amount is meant, or all is said by a clear name, list or count; all where it contradicts
        what was named: “you'd think semicolons were on sale” names semicolons, and more of them.
        """
        is_said = self._is_counted | self.listed | (self.n_words <= _A_NAME)
        mixed = np.where(self._is_clear & is_said, np.float32(0.0), _MIXED)
        mixed = np.where(self.is_contradicted, np.float32(1.0), mixed)
        return np.where(self.has_mixture, mixed, np.float32(0.0))

    @property
    def has_mixture(self) -> NDArray[np.bool_]:
        """Of which criteria a mixture was read, and no amount is meant ``[N]``."""
        return np.asarray(self.mixture[:, :-1].any(axis=1) & ~self.limited, dtype=np.bool_)

    @cached_property
    def is_contradicted(self) -> NDArray[np.bool_]:
        """Of which criteria the mixture asks for less of what is named most, or for more of what is named as
        unwanted ``[N]``; never of a few words that are clear, such as “less blunt”, nor if unsure."""
        named, mixed = self._of_named_most
        is_surely_read = self.strength >= _SURELY_READ
        return np.asarray((named * mixed < 0) & is_surely_read & ~self.is_plain, dtype=np.bool_)

    @cached_property
    def _of_named_most(self) -> tuple[Floats, Floats]:
        """What is named most, and what the mixture asks for of the same ``[N]`` each."""
        first = np.abs(self.named).argmax(axis=1, keepdims=True)
        named, mixed = (np.take_along_axis(each, first, axis=1)[:, 0] for each in (self.named, self.mixture))
        return named, mixed

    @property
    def is_plain(self) -> NDArray[np.bool_]:
        """Which criteria are a few words that are clear ``[N]``."""
        return np.asarray(self._is_clear & (self.n_words <= _A_PHRASE), dtype=np.bool_)

    @property
    def alone(self) -> Floats:
        """How much of what is named most the mixture does not ask for ``[N]``; 0 where none was read."""
        named, mixed = self._of_named_most
        seconded = np.clip(mixed * np.sign(named), 0.0, 1.0)
        return np.where(self.has_mixture, np.abs(named) * (1 - seconded), 0.0).astype(np.float32)

    @property
    def is_mixed(self) -> NDArray[np.bool_]:
        """Of which criteria a part of what is wanted is a mixture ``[N]``."""
        return np.asarray(self._mixed > 0, dtype=np.bool_)

    @cached_property
    def plainness(self) -> Floats:
        """How much likelier more of a concept is than less, or less than more ``[N]``.

        Of the likeliest concept, or of all together where several may be listed.
        """
        said = np.abs(self._signed(self._both))
        plainness: Floats = np.where(self.listed, said.sum(axis=1), said.max(axis=1, initial=0.0))
        return plainness

    def _signed(self, both: Floats) -> Floats:
        """More less less of ``both`` ``[N, K, 2]``; an amount is wished whatever the sign ``[N, K]``."""
        signed, of_concept = both[..., 0] - both[..., 1], both.sum(axis=2)
        first = of_concept.argmax(axis=1)
        named = np.flatnonzero(self.limited & np.isin(first, limited_columns()))
        signed[named, first[named]] = of_concept[named, first[named]]
        return np.asarray(signed, dtype=np.float32)

    @property
    def _both(self) -> Floats:
        return self.prob.reshape(len(self.prob), -1, 2)

    @cached_property
    def _nearest(self) -> Floats:
        """Probabilities ``[N, K, 2]`` of the concepts that are not far behind the first."""
        of_concept = self._both.sum(axis=2)
        far = np.where(self.listed, _FAR_BEHIND_IN_A_LIST, FAR_BEHIND)[:, None]
        near = (of_concept > 0) & (of_concept >= far * of_concept.max(axis=1, keepdims=True, initial=0.0))
        nearest = self._both * near[..., None]
        total, n_near = (each.sum(axis=1, keepdims=True) for each in (nearest.sum(axis=2), near))
        alike = total / np.maximum(n_near, 1) / np.where(near, of_concept, 1.0)
        shared: Floats = np.where(self.listed[:, None], alike, 1.0)[..., None] * nearest
        return shared.astype(np.float32)

    @cached_property
    def _is_counted(self) -> NDArray[np.bool_]:
        """Which wishes are for what can be counted, more than for anything else ``[N]``."""
        return self._is_mostly_for(tuple(range(len(count_names()))))

    @cached_property
    def _is_exact(self) -> NDArray[np.bool_]:
        """Which wishes are for what can be counted exactly, more than for anything else ``[N]``."""
        return self._is_mostly_for(_exact_columns())

    def _is_mostly_for(self, columns: tuple[int, ...]) -> NDArray[np.bool_]:
        of_concept = self._nearest.sum(axis=2)
        mostly: NDArray[np.bool_] = of_concept[:, columns].sum(axis=1) > of_concept.sum(axis=1) / 2
        return mostly

    @cached_property
    def _is_clear(self) -> NDArray[np.bool_]:
        """Which wishes are their concepts and nothing else ``[N]``: a longer one must be surer.

        More and less of one concept count against each other.
        """
        total = self._nearest.sum(axis=(1, 2))
        needed = np.full(len(total), np.inf)
        for most_words, for_counts, for_soft, for_styles in reversed(_CLEAR):
            here = self.n_words <= most_words
            needed[here] = np.where(
                self._is_exact, for_counts, np.where(self._is_counted, for_soft, for_styles)
            )[here]
        clear: NDArray[np.bool_] = total >= needed
        return clear


@cache
def _exact_columns() -> tuple[int, ...]:
    return tuple(column for column, countable in enumerate(countables()) if not countable.is_soft)


def _read_by_unit(texts: Sequence[str], prob: Floats) -> None:
    """Read a text that limits something, and says what by the words behind its number, as that, where nothing
    that may be limited is plainly read: “genau fünf Stichpunkte”.

    Args:
        texts: N texts.
        prob: Of more and of less of each concept, changed in place ``[N, 2 K]``.
    """
    for text, row in zip(texts, prob, strict=True):
        limit = read_limit(text)
        of_unit = None if limit is None else count_of(limit)
        if of_unit is None:
            continue
        of_concept = row.reshape(-1, 2).sum(axis=1)
        first = int(of_concept.argmax())
        if first not in limited_columns() or of_concept[first] < _PLAINLY:
            row[:] = 0.0
            row[2 * of_unit] = _BY_UNIT


def _is_bare_name(text: str, polarity: Polarity) -> bool:
    """Return whether a text only names what is to be avoided, without a turn of less or an amount."""
    if polarity is Polarity.WANT or asks_for_less(text):
        return False
    return read_limit(text) is None and contrasted(text) is None


def _are_complaints(named: Floats, avoided: Floats, listed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which names of something to be avoided were taken for complaints ``[N]``, by the probabilities
    ``[N, 2 K]``: of them the contrary is meant of what avoids them.

    Args:
        named: As the names are read, “waffle”.
        avoided: As they are read with “avoid” before them. Where that asks for the same, the name was taken
            for a complaint; and so it is where it is plainer than the name.
        listed: Which of them may be lists, where “avoid” is easily read of the first part alone ``[N]``.
    """
    plainness, of_avoided = (np.linalg.norm(_sides(each), axis=1) for each in (named, avoided))
    heard = _are_alike(named, avoided) & ~listed & (of_avoided > _HEARD * plainness)
    complained: NDArray[np.bool_] = heard | (of_avoided > plainness)
    return complained


def _are_alike(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Return which of N wishes ask for the same as others, by their probabilities ``[N, 2 K]``."""
    alike: NDArray[np.bool_] = (_sides(one) * _sides(other)).sum(axis=1) > 0
    return alike


def _sides(prob: Floats) -> Floats:
    """More less less of each concept ``[N, K]``, by the probabilities of both ``[N, 2 K]``."""
    sides: Floats = prob[:, ::2] - prob[:, 1::2]
    return sides


def _form(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return how many words each text has, which of them name an amount and which may be lists."""
    n_words = np.array([len(text.split()) for text in texts], dtype=np.int64)
    limited = np.array([read_limit(text) is not None for text in texts], dtype=np.bool_)
    listed = np.array([_LIST.search(text) is not None for text in texts], dtype=np.bool_)
    return n_words, limited, listed


def concept_names(path: Path = CONCEPTS_FILE) -> tuple[str, ...]:
    """Return the names of a classifier's concepts, which need a thousandth of its file.

    Raises:
        UnavailableError: The file is absent, or its beginning or end damaged.
    """
    return tuple(_beginning(path)[1]["names"].tolist())


def lacks_decoder(path: Path = CONCEPTS_FILE) -> bool:
    """Return whether a classifier has to do without its language model; raises as ``concept_names``."""
    return any(name.startswith(f"{_DECODER}_") for name in _beginning(path)[0]) and smollm2_file() is None


@lru_cache(maxsize=4)
def _beginning(path: Path) -> tuple[list[str], Mapping[str, NDArray[Any]]]:
    return load_some_arrays(path, "names")


@cache
def concept_classifier() -> ConceptClassifier:
    """Return the bundled classifier."""
    return ConceptClassifier.load(CONCEPTS_FILE)
