"""What looks wrong with a judge, in plain sentences that say how to mend it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape

import numpy as np
from jinja2.utils import htmlsafe_json_dumps

from crm.doctor.examination import Examination, LongAnswers, Verdicts
from crm.doctor.pairs import LONG, SHOWN
from crm.protocol import Question, Workings

_ALIKE = 0.02
"""Probabilities are all alike where none differs from another by more."""
_SWAPPED = 1 / 3
"""Who agrees with a smaller share of plain pairs takes A for B."""
_CHANCE = 0.65
"""Who agrees with a smaller share may be guessing: a coin is right on 13 of 20 or more one time in eight."""
_GAP = 0.15
_ALWAYS = 0.9
_REPEATED = 0.02
_EVEN = 0.5
_SAME = 1e-6
_SURE = 1e-4
"""Probabilities so close to 0 or 1 cannot show that something moves them."""
_CUT = 0.5
"""A server cuts long prompts off where it counts less than this share of a short one's tokens a character."""


def complaints(found: Examination) -> list[str]:
    """Return them, what stopped the examination first; none where nothing looks wrong."""
    said = [found.trouble] if found.trouble else []
    if found.verdicts is not None:
        said += _of_verdicts(found.verdicts)
    if found.workings is not None:
        said += found.workings.doubts
        said += _of_prompt(found.workings, found.question)
    if found.long is not None and found.verdicts is not None:
        said += _of_length(found.long, found.verdicts)
    return said


def _of_verdicts(verdicts: Verdicts) -> Iterator[str]:
    both = np.concatenate([verdicts.prob, verdicts.exchanged])
    if not (np.isfinite(both) & (both >= 0) & (both <= 1)).all():
        yield "Some answers are no probabilities (no numbers, or outside 0 to 1): load the right model."
        return
    if np.ptp(both) <= _ALIKE:
        yield (
            f"All probabilities are alike ({both.min():.3f} to {both.max():.3f}), whatever it is shown: "
            "check that the model is trained, and that it is the right one."
        )
        return
    if (undecided := int((both == _EVEN).sum())) >= len(both) / 2:
        yield (
            f"{undecided} of {len(both)} questions got no verdict (exactly 0.5): use a model that follows "
            "the prompt, or let it write more."
        )
    if (apart := abs(verdicts.alone - verdicts.prob[SHOWN])) > _REPEATED:
        yield (
            f"Asked twice about the same pair it says {apart:.2f} more or less: its answers are drawn "
            "at random, or it reads the padding of prompts beside it; set pad_token as in its training."
        )
    position = verdicts.position
    share = max(position.first_place, 1 - position.first_place)
    if share >= _ALWAYS:
        which = "first" if position.first_place > _EVEN else "second"
        yield (
            f"It prefers the {which} response in {share:.0%} of the questions, whatever is in it: "
            "write order_swap = true, or train it on both orders."
        )
        return
    if position.mean_gap > _GAP:
        yield (
            f"The order of the responses moves the probability by {position.mean_gap:.2f} on average: "
            "write order_swap = true, which asks in both orders."
        )
    yield from _of_agreement(verdicts)


def _of_agreement(verdicts: Verdicts) -> Iterator[str]:
    n, agreed = len(verdicts.prob), verdicts.agreed
    if verdicts.contrary and np.abs(verdicts.prob[::2] - verdicts.prob[1::2]).max() <= _SAME:
        yield (
            "Criteria change nothing: it answers the same under contrary ones; "
            "use a template that shows them, or a judge that reads them."
        )
    elif agreed < _SWAPPED * n:
        yield (
            f"The labels look swapped: it agrees with {agreed:g} of {n} plain pairs, fewer than a third. "
            "The first label must say that A is preferred, and a single one must grow with preference."
        )
    elif agreed < _CHANCE * n:
        yield (
            f"It agrees with {agreed:g} of {n} plain pairs, as a coin may: check that the model is "
            "trained, and that the template is the one of its training."
        )


def _of_prompt(workings: Workings, question: Question) -> Iterator[str]:
    """Complain about a prompt that does not say what it should, to the character."""
    shown = "\n".join(prompt.text for prompt in workings.prompts)
    pair = question.pair
    parts = {"query": pair.query, "first response": pair.response_a, "second response": pair.response_b}
    if question.criteria:
        parts["criterion"] = question.criteria.criteria[0].text
    missing = {name: text for name, text in parts.items() if not any(form in shown for form in _plain(text))}
    if any(prompt.shortened for prompt in workings.prompts):
        yield (
            f"Even short responses are cut: the prompt needs {_needed(workings)} tokens and may have "
            f"{workings.window}; raise 'max_length', or train with a greater one."
        )
    elif missing and all(_is_escaped(text, shown) for text in missing.values()):
        yield (
            f"The {' and the '.join(missing)} is escaped as for HTML in the prompt: "
            "take the filter that does it out of the template."
        )
    elif missing:
        yield f"The prompt does not show the {' and the '.join(missing)}: mend the template."


def _plain(text: str) -> tuple[str, ...]:
    """Return the text as it stands, and as it stands inside JSON."""
    return text, *(json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))


def _is_escaped(text: str, shown: str) -> bool:
    return text in unescape(shown) or str(htmlsafe_json_dumps(text))[1:-1] in shown


def _of_length(long: LongAnswers, verdicts: Verdicts) -> Iterator[str]:
    if long.workings is not None and any(prompt.shortened for prompt in long.workings.prompts):
        yield (
            f"Long responses are cut: with responses of {LONG} words a prompt needs {_needed(long.workings)} "
            f"tokens and may have {long.workings.window}; raise 'max_length', or train with a greater one."
        )
    elif long.counted is not None and long.counted < _CUT:
        yield (
            f"The server cuts long prompts off: it counts {long.counted:.0%} of the tokens that two "
            f"responses of {LONG} words should have; start it with a longer window."
        )
    elif _shows_changes(verdicts, long) and np.ptp(long.prob) <= _SAME:
        yield (
            f"The end of long responses is not read: other last words after {LONG} change nothing; "
            "give it a longer window."
        )


def _shows_changes(verdicts: Verdicts, long: LongAnswers) -> bool:
    """Whether probabilities are so fine that the last words should move them."""
    fine = len(np.unique(verdicts.prob)) > len(verdicts.prob) / 2
    return fine and bool(((long.prob > _SURE) & (long.prob < 1 - _SURE)).all())


def _needed(workings: Workings) -> int:
    return max(prompt.needed or 0 for prompt in workings.prompts)
