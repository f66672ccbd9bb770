"""What a judge that reads texts is shown: criteria, query and one or two responses in a template."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from jinja2 import StrictUndefined, Template, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from crm.criteria import CriteriaSet, Polarity, Weight
from crm.errors import CriterionError, CRMError
from crm.protocol import Question, Turn

_FOLDER = Path(__file__).with_name("prompts")
_OUR_LAYOUTS = ("pair", "single", "short", "statement", "judge")
"""Bundled templates whose criteria read “Avoid: …” and end with their weights, unlike the USL authors'."""
_CONVERSATIONS = ("conversation_a", "conversation_b")
_VARIABLES = ("criteria", "query", "response_a", "response_b", "words_a", "words_b", *_CONVERSATIONS)
_CUT = " …"
"""Stands at the end of a text that was shortened."""
_QUERY_SHARE = 4
"""One part in so many of the room is the query's when not everything fits."""

# A template may come with a checkpoint from elsewhere: it must not be able to run code.
_environment = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)

TURN = "\ue000"
"""Opens a turn in a template's text; a private character, which no text should contain."""
_ROLE_END = "\ue001"


def turn(role: str) -> str:
    """Return what a template writes where a turn of that role begins: ``{{ turn("system") }}``."""
    return f"{TURN}{role}{_ROLE_END}"


def turns_of(text: str) -> list[Turn]:
    """Return the turns of a prompt; one without marks is a single turn of the user, without blank ends."""
    if TURN not in text:
        return [Turn("user", text.strip())]
    parts = [part.partition(_ROLE_END) for part in text.split(TURN)[1:]]
    return [Turn(role, content) for role, _, content in parts]


def _plain_json(value: Any, indent: int | None = None, ensure_ascii: bool = True) -> str:
    """Return JSON as Python writes it; that of Jinja's own filter is for HTML, with < as an escape."""
    return json.dumps(value, indent=indent, ensure_ascii=ensure_ascii)


_environment.globals["turn"] = turn
_environment.filters["json"] = _plain_json


def read_prompt(file: Path) -> Template:
    """Read a prompt that comes with the program."""
    return _environment.from_string(file.read_text(encoding="utf-8"))


class Tokenizer(Protocol):
    """What is asked of a Hugging Face tokenizer."""

    def __call__(self, text: str, **options: Any) -> Any:
        """A mapping with ``input_ids``."""

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """Return the text of some tokens."""


@dataclass(frozen=True)
class PromptTemplate:
    """A Jinja2 template of a judge's prompt.

    Its variables are ``criteria`` (a list of texts; one to be avoided reads “Avoid: …”, and each ends with
    its weight where the weights differ), ``query``, ``response_a``, ``response_b``, and ``words_a`` and
    ``words_b``, the rounded lengths of the whole responses in words. Where the person wrote more than once,
    ``query`` is the first message and ``response_a`` all that followed, each turn after who wrote it;
    ``conversation_a`` and ``conversation_b`` are the turns themselves from the query on, ``{role, content}``.
    A template that reads nothing of B shows a single response. ``{{ turn("user") }}`` begins a turn in the
    model's chat template, and the filter ``json`` writes plain JSON.

    Raises:
        CRMError: The text is not a template, uses other variables, or shows no response.
    """

    source: str

    def __post_init__(self) -> None:
        try:
            used = self._used
        except TemplateError as error:
            raise CRMError(f"The prompt template cannot be read ({error}): fix it.") from error
        if unknown := sorted(used.difference(_VARIABLES)):
            raise CRMError(
                f"The prompt template uses {', '.join(unknown)}: it may use {', '.join(_VARIABLES)}."
            )
        if not used & {"response_a", "conversation_a"}:
            raise CRMError("The prompt template shows no response: it must use response_a.")

    @classmethod
    def load(cls, path: Path) -> PromptTemplate:
        """Read a template file. Raises CRMError: There is no such file, or it is no template."""
        try:
            return cls(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise CRMError(f"The prompt template {path} cannot be read: name a text file.") from error

    @classmethod
    def bundled(cls, name: str) -> PromptTemplate:
        """Return one of the templates in ``crm/llm/prompts``: ``pair``, ``single`` or ``judge``."""
        return cls.load(_FOLDER / f"{name}.txt")

    @cached_property
    def compares(self) -> bool:
        """Whether the template shows two responses."""
        return bool(self._used & {"response_b", "conversation_b"})

    @cached_property
    def has_turns(self) -> bool:
        """Whether the template says where turns begin, and so needs the model's chat template."""
        calls = self._parsed.find_all(nodes.Call)
        return any(isinstance(call.node, nodes.Name) and call.node.name == "turn" for call in calls)

    @cached_property
    def shows_turns(self) -> bool:
        """Whether the template shows conversations turn by turn, as they are."""
        return not self._used.isdisjoint(_CONVERSATIONS)

    @cached_property
    def is_ours(self) -> bool:
        """Whether it is one of our own layouts, perhaps with the marks of a chat template around it."""
        return any(PromptTemplate.bundled(name).source.rstrip() in self.source for name in _OUR_LAYOUTS)

    @cached_property
    def _used(self) -> set[str]:
        """Variables, without what every template knows, such as ``turn``."""
        return meta.find_undeclared_variables(self._parsed)

    @cached_property
    def _parsed(self) -> nodes.Template:
        return _environment.parse(self.source)

    def pair(self, question: Question) -> str:
        """Return the prompt that shows both responses."""
        return _Filled.of(self, question.criteria, question.pair.query, question.pair.conversations).text()

    def single(self, criteria: CriteriaSet, query: str, response: str | Sequence[Turn]) -> str:
        """Return the prompt that shows one response, a text or the turns that followed the query."""
        return _Filled.of(self, criteria, query, (_as_turns(response),)).text()

    def fit(self, tokenizer: Tokenizer, window: int) -> FittedTemplate:
        """Return the same template, its prompts kept within ``window`` tokens."""
        return FittedTemplate(self, tokenizer, window)

    @cached_property
    def compiled(self) -> Template:
        """The template, ready to be rendered."""
        return _environment.from_string(self.source)


@dataclass(frozen=True)
class FittedTemplate:
    """A template whose prompts fit into a model's window.

    Where a prompt is too long, the longer response is shortened at its end, and both to the same length
    once they are equally long; the query is shortened where it takes more than a quarter of the room.
    Criteria are never shortened.

    Attributes:
        window: Tokens that a prompt may have, the tokenizer's special tokens among them.
    """

    template: PromptTemplate
    tokenizer: Tokenizer
    window: int

    def pair(self, question: Question) -> str:
        """Return the prompt that shows both responses.

        Raises CriterionError: The criteria alone do not fit.
        """
        pair = question.pair
        return self._fitted(_Filled.of(self.template, question.criteria, pair.query, pair.conversations))

    def single(self, criteria: CriteriaSet, query: str, response: str | Sequence[Turn]) -> str:
        """Return the prompt that shows one response. Raises CriterionError: The criteria alone do not fit."""
        return self._fitted(_Filled.of(self.template, criteria, query, (_as_turns(response),)))

    def _fitted(self, filled: _Filled) -> str:
        prompt = filled.text()
        excess = self._excess(prompt)
        if excess <= 0:
            return prompt
        texts = [_TokenizedText.of(text, self.tokenizer) for text in filled.pieces]
        # Tokens of parts do not add up exactly to those of the whole, so the room may shrink a little.
        room = self._room(filled)
        while room > 0:
            limits = _limits(list(map(len, texts)), room)
            prompt = filled.text([text.cut(limit) for text, limit in zip(texts, limits, strict=True)])
            excess = self._excess(prompt)
            if excess <= 0:
                return prompt
            room -= excess
        raise CriterionError(
            f"The criteria leave no room for the responses in the judge's window of {self.window} tokens: "
            "write fewer or shorter criteria."
        )

    def _room(self, filled: _Filled) -> int:
        return -self._excess(filled.text([""] * len(filled.pieces)))

    def _excess(self, prompt: str) -> int:
        """By how many tokens a prompt is too long; negative where there is room."""
        return len(self.tokenizer(prompt, verbose=False)["input_ids"]) - self.window


@dataclass(frozen=True)
class _Filled:
    """What goes into a template; the texts may be exchanged for shortened ones.

    Attributes:
        conversations: For each response that is shown, the turns that followed the query.
    """

    template: PromptTemplate
    criteria: tuple[str, ...]
    query: str
    conversations: tuple[tuple[Turn, ...], ...]

    @classmethod
    def of(
        cls,
        template: PromptTemplate,
        criteria: CriteriaSet,
        query: str,
        conversations: Sequence[Sequence[Turn]],
    ) -> _Filled:
        trim = str if template.shows_turns else str.strip
        turns = (tuple(Turn(one.role, trim(one.content)) for one in each) for each in conversations)
        return cls(template, criteria_texts(criteria), trim(query), tuple(turns))

    @property
    def pieces(self) -> list[str]:
        """All texts that may be shortened: the query, then every turn."""
        return [self.query, *(one.content for each in self.conversations for one in each)]

    def text(self, pieces: Sequence[str] | None = None) -> str:
        """Return the prompt, perhaps with other texts in the place of ``pieces``."""
        query, *contents = self.pieces if pieces is None else pieces
        texts = iter(contents)
        shown = [[Turn(one.role, next(texts)) for one in each] for each in self.conversations]
        variables: dict[str, Any] = {"criteria": list(self.criteria), "query": query}
        variables |= zip(("response_a", "response_b"), map(transcript, shown), strict=False)
        variables |= zip(("words_a", "words_b"), map(_rounded_words, self.conversations), strict=False)
        whole = ([Turn("user", query), *turns] for turns in shown)
        variables |= zip(_CONVERSATIONS, ([vars(one) for one in turns] for turns in whole), strict=False)
        try:
            return self.template.compiled.render(variables)
        except TemplateError as error:
            raise CRMError(
                f"The prompt template cannot be filled in ({error}): pairwise judges need one that shows "
                "response_a and response_b, pointwise judges one that shows only response_a."
            ) from error


def transcript(turns: Sequence[Turn]) -> str:
    """Return a conversation as one text: a single turn as it is, several each after who wrote it."""
    if len(turns) == 1:
        return turns[0].content
    return "\n\n".join(f"{one.role.capitalize()}: {one.content}" for one in turns)


def _as_turns(response: str | Sequence[Turn]) -> Sequence[Turn]:
    return (Turn("assistant", response),) if isinstance(response, str) else response


@dataclass(frozen=True)
class _TokenizedText:
    """A text that can be cut after any of its tokens."""

    text: str
    ids: list[int]
    tokenizer: Tokenizer

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer) -> _TokenizedText:
        return cls(text, tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], tokenizer)

    def __len__(self) -> int:
        return len(self.ids)

    def cut(self, limit: int) -> str:
        """Return the text, or its beginning and a mark within ``limit`` tokens."""
        if len(self) <= limit:
            return self.text
        mark = len(self.tokenizer(_CUT, add_special_tokens=False)["input_ids"])
        if limit <= mark:
            return ""
        beginning = str(self.tokenizer.decode(self.ids[: limit - mark], skip_special_tokens=True))
        # A cut may go through a character of several tokens, which decodes to a replacement character.
        return beginning.rstrip().rstrip("\ufffd") + _CUT


@dataclass(frozen=True)
class KnownWords:
    """What a judge has learnt to read in criteria beside the wishes themselves.

    Attributes:
        avoid: “Avoid: …” in front of what is not wanted.
        weights: The weight behind each criterion.
    """

    avoid: bool = True
    weights: bool = True

    def asked(self, criteria: CriteriaSet) -> CriteriaSet:
        """Return the criteria as such a judge can be asked by them: all alike where it knows no weights.

        The contrary wish with its verdict turned round is no way out: what makes an answer good under any
        wish would then count against it.

        Raises CriterionError: Something is to be avoided, and the judge knows only wishes.
        """
        if self.avoid and self.weights:
            return criteria
        avoided = next((each for each in criteria if each.polarity is Polarity.AVOID), None)
        if avoided is not None and not self.avoid:
            raise CriterionError(
                f"The judge is not known to have been trained on “{avoided}”: write what you wish instead, "
                'or write "avoid_in_words": true into its crm.json if it was trained on such words.'
            )
        if self.weights:
            return criteria
        return CriteriaSet(tuple(replace(each, weight=Weight.ESSENTIAL) for each in criteria))


def criteria_texts(criteria: CriteriaSet) -> tuple[str, ...]:
    """Return how criteria read in a prompt; weights are named only where they differ."""
    if len({criterion.weight for criterion in criteria}) <= 1:
        return tuple(map(str, criteria))
    return tuple(f"{criterion} ({criterion.weight.value.lower()})" for criterion in criteria)


def _limits(lengths: Sequence[int], room: int) -> list[int]:
    """Tokens for the query and each response, given their lengths and the room for all of them."""
    query, *responses = lengths
    kept = min(query, max(room // _QUERY_SHARE, room - sum(responses)))
    left = room - kept
    limits = dict.fromkeys(range(len(responses)), 0)
    for place, index in enumerate(sorted(limits, key=responses.__getitem__)):
        limits[index] = min(responses[index], left // (len(responses) - place))
        left -= limits[index]
    return [kept, *limits.values()]


def _rounded_words(turns: Sequence[Turn]) -> int:
    """Return how many words the LLM wrote, rounded so that numbers recur: small models read “300” best."""
    words = sum(len(one.content.split()) for one in turns if one.role == "assistant")
    step = 10 if words < 100 else 50 if words < 500 else 100  # noqa: PLR2004
    return words if words < 10 else round(words / step) * step  # noqa: PLR2004
