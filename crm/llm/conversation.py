"""Conversations: prompts as turns in a model's chat template, and texts that must not end their turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crm.errors import UnavailableError
from crm.llm.prompt import TURN, PromptTemplate, Tokenizer, turns_of
from crm.protocol import Question, ShownPrompt, Turn


@dataclass(frozen=True)
class ConversationTokenizer:
    """A tokenizer that reads a prompt as turns and puts the model's chat template around them.

    It is what ``PromptTemplate.fit`` needs to keep the whole conversation within a window. A prompt whose
    template marks no turns is one turn of the user.

    Attributes:
        opens_answer: Whether the model's answer is opened after the last turn.
    """

    tokenizer: Any
    opens_answer: bool = True

    def __call__(self, text: str, *, add_special_tokens: bool = True, **options: Any) -> Any:
        """``input_ids`` of a prompt; without special tokens, of a bare piece of text."""
        shown = self.rendered(text) if add_special_tokens else text
        return self.tokenizer(shown, add_special_tokens=False, **options)

    def rendered(self, text: str) -> str:
        """Return a prompt with the marks of its turns."""
        turns = [vars(one) for one in turns_of(text)]
        return _in_turns(self.tokenizer, turns, opens_answer=self.opens_answer)

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """Return the text of some tokens."""
        return self.tokenizer.decode(token_ids, **options)


def conversation(tokenizer: Any, model: str, *, opens_answer: bool = True) -> ConversationTokenizer:
    """Return a conversation in a model's own chat template.

    Raises:
        UnavailableError: Its tokenizer has none.
    """
    if not getattr(tokenizer, "chat_template", None):
        fix = "a chat model, or write chat = false" if opens_answer else "a model trained on conversations"
        raise UnavailableError(f"The tokenizer of {model} has no chat template: use {fix}.")
    return ConversationTokenizer(tokenizer, opens_answer)


def prompt_tokenizer(
    template: PromptTemplate, tokenizer: Any, model: str, *, chat: bool = False, opens_answer: bool = True
) -> Tokenizer:
    """Return what turns a template's prompts into tokens, in training and when judging.

    It is the model's own tokenizer, or a conversation in it where the template marks turns or the prompt is
    one of the user.

    Args:
        template: Of the prompts.
        tokenizer: The model's.
        model: Its name, for messages.
        chat: Whether a prompt without marked turns is a turn of the user.
        opens_answer: Whether the model's answer is opened after a conversation.

    Raises:
        UnavailableError: A conversation is wanted, and the tokenizer has no chat template.
    """
    if template.has_turns and not getattr(tokenizer, "chat_template", None):
        raise UnavailableError(
            f"The tokenizer of {model} has no chat template: use a chat model, or a prompt without turns."
        )
    if chat or template.has_turns:
        return conversation(tokenizer, model, opens_answer=opens_answer)
    own: Tokenizer = tokenizer
    return own


def special_tokens(tokenizer: Any) -> tuple[str, ...]:
    """Return the texts that a tokenizer reads as marks of its own, such as the end of a turn."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    marks = {str(token) for token in added if token.special}
    marks.update(getattr(tokenizer, "all_special_tokens", ()))
    return tuple(sorted(mark for mark in marks if len(mark) > 1))


def without_marks(question: Question, marks: Sequence[str]) -> Question:
    """Return the question with such marks in its texts broken up: a response cannot end its own turn."""
    pair = question.pair
    texts: dict[str, Any] = {
        field: _broken_up(text, marks)
        for field, text in vars(pair).items()
        if isinstance(text, str) and _has_marks(text, marks)
    }
    for field in ("turns_a", "turns_b"):
        turns: tuple[Turn, ...] = getattr(pair, field)
        if any(_has_marks(one.content, marks) for one in turns):
            texts[field] = tuple(replace(one, content=_broken_up(one.content, marks)) for one in turns)
    return replace(question, pair=replace(pair, **texts)) if texts else question


def _has_marks(text: str, marks: Sequence[str]) -> bool:
    return any(mark in text for mark in (TURN, *marks))


def shown_prompt(tokenizer: Tokenizer, text: str, whole: str) -> ShownPrompt:
    """Return what a model reads of a prompt, of which ``whole`` is the same without anything shortened."""
    rendered = tokenizer.rendered if isinstance(tokenizer, ConversationTokenizer) else str
    tokens, needed = (len(tokenizer(each, verbose=False)["input_ids"]) for each in (text, whole))
    return ShownPrompt(rendered(text), tokens, needed)


def template_doubts(tokenizer: Tokenizer, shown: str, *, trained_on: bool = False) -> tuple[str, ...]:
    """Return what speaks against a prompt being in the model's chat template as it should be.

    Args:
        tokenizer: What the prompt is turned into tokens by.
        shown: The prompt, marks included.
        trained_on: Whether the model was trained on this template, so that it needs no chat template.
    """
    bare = tokenizer.tokenizer if isinstance(tokenizer, ConversationTokenizer) else tokenizer
    opening = _opening_of_a_turn(bare)
    if opening is None:
        return ()
    times = shown.count(opening)
    if times > 1:
        return (
            f"The chat template is applied twice (“{opening}” occurs {times} times in the prompt): write "
            "chat = false, or take the marks out of the template.",
        )
    if not times and not trained_on:
        return (
            f"The model's chat template is not applied (“{opening}” is missing in the prompt): "
            "write chat = true, unless the model was trained without it.",
        )
    return ()


_CONTENT = "\ue002"
"""Stands for what a user says; a private character, which no chat template contains."""


def _opening_of_a_turn(tokenizer: Any) -> str | None:
    """Return what a chat template puts in front of a user's words alone; None where there is no template."""
    if not getattr(tokenizer, "chat_template", None):
        return None
    turns = [{"role": "user", "content": _CONTENT}, {"role": "assistant", "content": ""}]
    rendered = _in_turns(tokenizer, turns, opens_answer=True)
    before = rendered.partition(_CONTENT)[0]
    # From its last mark on, or the one before, if that also opens the turns of others.
    starts = sorted({before.rfind(mark) for mark in special_tokens(tokenizer)} - {-1}, reverse=True)
    openings = (before[start:].strip() for start in starts)
    return next((text for text in openings if rendered.count(text) == 1), before.strip()) or None


def _in_turns(tokenizer: Any, turns: Sequence[Mapping[str, str]], *, opens_answer: bool) -> str:
    rendered: str = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=opens_answer)
    return rendered


def _broken_up(text: str, marks: Sequence[str]) -> str:
    text = text.replace(TURN, " ")
    for mark in marks:
        text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text
