"""Clauses: criteria that say several things, read part by part.

A reader that has learnt wishes one at a time hears “no” of both halves of “no jokes, be warm”, and takes
“humour, but not too much” for a wish for less of it. A criterion is taken apart where its form says how
(``crm.embedded.forms``); the parts, and what they are made of in turn, are read together with the whole,
and what was read of them is put together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from crm.embedded.forms import (
    compared,
    contrasted,
    enumerated,
    is_context,
    limited,
    limits,
    measured,
    own_clauses,
    sentences,
    sole,
    turns_round,
)
from crm.embedded.idioms import plainly
from crm.embedded.limits import read_limit
from crm.protocol import Floats

FAR_BEHIND = 0.4
"""A concept counts from so much of the first one's probability on."""
_A_WISH = 0.6
"""Each part of a list must be read so surely for the list to be read as its parts."""
_A_FLIP = 0.2
"""“Only prose” is taken for a wish for less prose where less of it is so much likelier than more."""
_DEPTH = 3
"""Parts are taken apart in turn, so often."""
_OF_NO_WISH = 0.5
"""What a sentence that wishes nothing known weighs beside one that does; nothing where it only says why."""


class Form(Enum):
    """How a criterion is taken apart."""

    WHOLE = auto()
    SENTENCES = auto()
    CONTRAST = auto()
    COMPARISON = auto()
    TURNING = auto()
    CLAUSES = auto()
    LIST = auto()
    SOLE = auto()
    MEASURED = auto()


@dataclass(frozen=True)
class Clauses:
    """A criterion and what it is made of.

    Attributes:
        text: In plain words.
        parts: In the order that the form has.
        limits: Whether a later part may only limit an earlier one.
    """

    text: str
    form: Form = Form.WHOLE
    parts: tuple[Clauses, ...] = ()
    limits: bool = False

    def texts(self) -> Iterator[str]:
        """Yield what must be read: the text, and that of every part."""
        yield self.text
        for part in self.parts:
            yield from part.texts()

    def read(self, prob: Mapping[str, Floats]) -> Floats:
        """Return the probabilities of no concept and of more and less of each ``[1 + 2 K]``.

        Args:
            prob: Those of every text as it stands.
        """
        whole = prob[self.text]
        if not self.parts:
            return whole
        parts = np.stack([part.read(prob) for part in self.parts])
        match self.form:
            case Form.SENTENCES:
                context = np.array([is_context(part.text) for part in self.parts])
                read = _as_sentences(whole, parts, context, limits=self.limits)
            case Form.CONTRAST:
                read = _as_contrast(*parts, limits=self.limits)
            case Form.COMPARISON:
                read = _as_comparison(whole, *parts)
            case Form.SOLE:
                read = _as_sole(whole, *parts)
            case Form.MEASURED:
                read = _as_measured(whole, *parts)
            case Form.CLAUSES:
                read = _as_clauses(whole, parts, limits=self.limits)
            case _:
                read = _as_list(whole, parts, apart=self.form is Form.TURNING, limits=self.limits)
        return read


def taken_apart(criterion: str, depth: int = _DEPTH) -> Clauses:
    """Return a criterion and what it is made of; one that names an amount is left whole.

    “Tables, not lists” is a contrast, “warm and funny” a list.
    """
    text = plainly(criterion)
    if depth == 0 or read_limit(text) is not None:
        return Clauses(text)
    for form, parts_of in _FORMS:
        if parts := parts_of(text):
            further = depth - 1 if form in _OF_WISHES else 0
            made_of = tuple(taken_apart(part, further) for part in parts)
            return Clauses(text, form, made_of, limits=limits(text, parts))
    return Clauses(text)


_OF_WISHES = frozenset({Form.SENTENCES, Form.TURNING, Form.CLAUSES, Form.LIST})
"""Forms whose parts are wishes by themselves, which may have parts in turn."""


def _one(part: str | None) -> tuple[str, ...]:
    return () if part is None else (part,)


_FORMS: tuple[tuple[Form, Callable[[str], Sequence[str] | None]], ...] = (
    (Form.SENTENCES, sentences),
    (Form.SENTENCES, limited),
    (Form.CONTRAST, contrasted),
    (Form.COMPARISON, compared),
    (Form.TURNING, lambda text: enumerated(text) if turns_round(text) else None),
    (Form.CLAUSES, own_clauses),
    (Form.LIST, enumerated),
    (Form.SOLE, lambda text: _one(sole(text))),
    (Form.MEASURED, lambda text: _one(measured(text))),
)
"""A criterion has the first form that takes it apart."""


def _as_sentences(whole: Floats, parts: Floats, is_context: NDArray[np.bool_], *, limits: bool) -> Floats:
    """Read “short. I have a toddler on my arm” as short: each sentence that wishes something, by itself.

    Args:
        whole: Probabilities of the classes ``[1 + 2 K]``.
        parts: Those of each of P sentences ``[P, 1 + 2 K]``.
        is_context: Which of them may only say why ``[P]``.
    """
    wishes = parts[:, 1:].sum(axis=1) > _A_WISH
    said = wishes & ~is_context
    plain = parts[:, 1:].max(axis=1) > _A_WISH
    misheard = _is_contrary(whole, parts)
    is_read = whole[1:].max() > _A_WISH and not (plain | is_context).all() and not misheard
    if is_read or not wishes.any():
        return whole
    if said.any():
        wishes = said
    meant, of_whole = {int(each.argmax()) for each in parts[wishes]}, int(whole.argmax())
    if meant == {of_whole} and not misheard:
        surest = parts[wishes][parts[wishes][:, of_whole].argmax()]
        return whole if whole[of_whole] > surest[of_whole] else surest
    weight = np.where(wishes, 1.0, np.where(is_context, 0.0, _OF_NO_WISH))
    return _together(whole, parts, weight, limits=limits)


def _as_clauses(whole: Floats, parts: Floats, *, limits: bool) -> Floats:
    """Read “get to the point but name risks” as both, where each is a wish for whatever is known.

    Where the whole is a plain wish and does not contradict them, another clause than the one that says the
    same must be a plain one.
    """
    of_whole = int(whole.argmax())
    of_parts = parts[:, 1:].sum(axis=1)
    if whole[1:].max() > _A_WISH and not _is_contrary(whole, parts):
        same = parts[:, of_whole] > _A_FLIP
        of_parts = np.where(same, of_parts, parts[:, 1:].max(axis=1)) if same.any() else np.zeros(len(parts))
    if of_parts.min() <= _A_WISH:
        return whole
    return _together(whole, parts, np.ones(len(parts)), limits=limits)


def _together(whole: Floats, parts: Floats, weight: NDArray[np.float64], *, limits: bool) -> Floats:
    """Return the mean of what P parts ask for ``[1 + 2 K]``, each less what is far behind its first concept.

    Args:
        limits: Whether a later part that asks for the contrary of an earlier one only limits it; else they
            contradict each other, and the whole is read as it stands.
    """
    of_concept = parts[:, 1:].reshape(len(parts), -1, 2)
    near = of_concept.sum(axis=2) >= FAR_BEHIND * of_concept.sum(axis=2).max(axis=1, keepdims=True)
    kept = of_concept * near[..., None]
    for later in range(1, len(kept)):
        before = kept[:later].sum(axis=0)
        side, side_before = (each[..., 0] - each[..., 1] for each in (kept[later], before))
        contrary = (np.minimum(abs(side), abs(side_before)) > _A_FLIP) & (side * side_before < 0)
        if contrary.any() and not limits:
            return whole
        kept[later][contrary] = 0.0
    weight = np.where(kept.sum(axis=(1, 2)) > 0, weight, np.minimum(weight, _OF_NO_WISH))
    mean: Floats = np.append(0.0, np.tensordot(weight, kept, 1).ravel() / np.sum(weight))
    mean[0] = 1.0 - mean.sum()
    return mean.astype(np.float32)


def _as_contrast(wished: Floats, unwished: Floats, *, limits: bool = False) -> Floats:
    """Read “prose instead of lists” as prose and as no lists, by the probabilities of both ``[1 + 2 K]``.

    Where both are one concept, the second only limits the first: “slang, but not cringe slang”.
    """
    if limits and _is_one_wish(wished, unwished):
        return wished
    turned = np.concatenate([unwished[:1], unwished[1:].reshape(-1, 2)[:, ::-1].ravel()])
    halfway: Floats = (wished + turned) / 2
    return halfway


def _is_one_wish(wished: Floats, unwished: Floats) -> bool:
    first = int(wished[1:].argmax())
    return first == int(unwished[1:].argmax()) and wished[1 + first] > _A_FLIP


def _as_comparison(whole: Floats, wished: Floats, unwished: Floats) -> Floats:
    """Read “tables over lists” as tables and no lists, by the probabilities of whole and parts ``[1 + 2 K]``.

    It is read as it stands where what is liked better is no plain wish. What it is compared with, such as the
    textbook of “more formal than a textbook”, is not always one.
    """
    about, better, worse = (int(each[1:].argmax()) // 2 for each in (whole, wished, unwished))
    is_plain, is_plainly_worse = (each[1:].max() > _A_WISH for each in (wished, unwished))
    if not is_plain:
        return wished if about == worse and is_plainly_worse else whole
    if is_plainly_worse and better != worse:
        return _as_contrast(wished, unwished)
    return wished


def _as_measured(whole: Floats, wished: Floats) -> Floats:
    """Read “more tables than a furniture shop” as “more tables” where that is a plain wish."""
    return wished if wished[1:].max() > _A_WISH else whole


def _as_sole(whole: Floats, named: Floats) -> Floats:
    """Read “only prose” as prose, where “only” was taken to ask for less of it, by both probabilities.

    “Code only” is read as it stands: it is no wish for less code.
    """
    of_named, of_whole = (each[1::2] - each[2::2] for each in (named, whole))
    first = np.abs(of_named).argmax()
    return named if of_named[first] > _A_FLIP and of_whole[first] < -_A_FLIP else whole


def _as_list(whole: Floats, parts: Floats, *, apart: bool, limits: bool) -> Floats:
    """Read “warm and funny” as both, where each is plain and the whole was read as about one of them.

    The whole may have been read the wrong way round: “step by step, but no numbering” wants steps. What is
    far behind the first concept of a part is not taken as read: beside a whole list it would weigh as much as
    another part.

    Args:
        whole: Probabilities of the classes ``[1 + 2 K]``.
        parts: Those of each of P wishes ``[P, 1 + 2 K]``.
        apart: Whether they are clauses of which the first asks for less and another for more. Read as one,
            the “no” of “no jokes, be warm” may be heard of both; then each need only be a wish, for whatever.
    """
    meant = set(parts.argmax(axis=1).tolist())
    misheard = apart and _is_contrary(whole, parts)
    of_part = parts[:, 1:].sum(axis=1) if misheard else parts[:, 1:].max(axis=1)
    about = {(each - 1) // 2 for each in meant}
    is_about = misheard or int(whole[1:].argmax()) // 2 in about
    if of_part.min() > _A_WISH and len(meant) > 1 and is_about:
        return _together(whole, parts, np.ones(len(parts)), limits=limits)
    return whole


def _is_contrary(whole: Floats, parts: Floats) -> bool:
    """Return whether a whole asks for less of what a part of it asks for more of, or the other way round."""
    of_whole, of_parts = (each[..., 1::2] - each[..., 2::2] for each in (whole, parts))
    are_plain = (np.abs(of_whole) > _A_FLIP) & (np.abs(of_parts) > _A_FLIP)
    return bool((are_plain & (of_whole * of_parts < 0)).any())
