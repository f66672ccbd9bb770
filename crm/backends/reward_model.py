"""Backend ``reward-model``: a scalar reward model of general preference, for the default ranking ∅.

Of two responses the one with the higher reward is preferred, with the probability of Bradley and Terry: the
logistic function of the difference (Ouyang et al. 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from crm.backends._classifier import ClassifierCRM, PromptedClassifier, SequenceClassifier
from crm.backends._text_judge import CheckpointSettings, ServerSettings, TextJudgeSettings, VLLMJudgeSettings
from crm.config import JudgeTable, Model, Settings, TokenLimit, TransformersSettings
from crm.errors import CriterionError
from crm.llm.conversation import conversation
from crm.llm.prompt import PromptTemplate
from crm.protocol import Question, Verdict
from crm.version import version_of

_TEMPLATE = PromptTemplate(
    "{{ turn('user') }}{{ conversation_a[0].content | trim }}"
    "{% if criteria %}"
    "{{ '\\n\\n' }}What I like in an answer:"
    "{% for criterion in criteria %}{{ '\\n' }}- {{ criterion }}{% endfor %}"
    "{% endif %}"
    "{% for one in conversation_a[1:] %}{{ turn(one.role) }}{{ one.content | trim }}{% endfor %}"
)
_TEMPLATE_IN_WORDS = "the query as a user's turn, the response as the assistant's"


class RewardSettings(Settings):
    """Keys of every reward model.

    Attributes:
        criteria_in_prompt: Add criteria to the query; without it they are refused.
    """

    criteria_in_prompt: bool = False


class TransformersRewardSettings(RewardSettings, TransformersSettings, CheckpointSettings):
    """Keys with ``provider = "transformers"``."""

    provider: Literal["transformers"] = "transformers"


class VLLMRewardSettings(RewardSettings, VLLMJudgeSettings, CheckpointSettings):
    """Keys with ``provider = "vllm"``."""

    provider: Literal["vllm"]


class ServerRewardSettings(RewardSettings, ServerSettings, TextJudgeSettings):
    """Keys with ``provider = "vllm-server"``.

    Attributes:
        model: The model's name on the server, as ``/v1/models`` lists it.
        tokenizer: The model's folder, or its name on a hub: its chat template is needed.
        max_length: Longest conversation in tokens, at most what the server's model reads.
        revision: Any text; change it when the server gets another model under the same name.
    """

    provider: Literal["vllm-server"]
    model: str
    tokenizer: Model
    max_length: TokenLimit | None = None
    revision: str | None = None


AnySettings = TransformersRewardSettings | VLLMRewardSettings | ServerRewardSettings
_PROVIDERS: dict[str, type[AnySettings]] = {
    "transformers": TransformersRewardSettings,
    "vllm": VLLMRewardSettings,
    "vllm-server": ServerRewardSettings,
}


class RewardModelCRM(ClassifierCRM):
    """A judge of general preference; may be shared between threads."""

    reads_criteria: bool = False

    def judge(self, questions: Sequence[Question]) -> list[Verdict]:
        """Judge pairs of texts.

        Raises:
            CriterionError: A question has criteria, and the judge is not configured to read them.
        """
        if not self.reads_criteria and any(question.criteria for question in questions):
            raise CriterionError(
                f"The judge {self.name!r} knows what people prefer on average and reads no criteria: choose "
                "another judge, or write criteria_in_prompt = true in its table of crms.toml."
            )
        return super().judge(questions)


def make(table: JudgeTable) -> RewardModelCRM:
    """Return the judge that a table describes."""
    provider = table.values.get("provider", "transformers")
    if not isinstance(provider, str) or provider not in _PROVIDERS:
        raise table.error(f"the key 'provider' must be one of {', '.join(_PROVIDERS)}")
    settings: AnySettings = table.read(_PROVIDERS[provider])

    def load() -> PromptedClassifier:
        engine = _start(table.name, settings)
        name = settings.tokenizer if isinstance(settings, ServerRewardSettings) else settings.model
        turns = conversation(engine.tokenizer, name, opens_answer=False)
        return PromptedClassifier(engine, _TEMPLATE, turns, settings.max_length, _TEMPLATE_IN_WORDS)

    judge = RewardModelCRM(table.name, version_of(table.backend, settings.identity()), settings, load)
    judge.reads_criteria = settings.criteria_in_prompt
    return judge


def _start(judge: str, settings: AnySettings) -> SequenceClassifier:
    """Return the running model; every provider's packages are imported only where they are used."""
    if isinstance(settings, ServerRewardSettings):
        from crm.backends.vllm_server import connect  # noqa: PLC0415

        return connect(judge, settings.model, settings, tokenizer=settings.tokenizer, labels=1)
    if isinstance(settings, VLLMRewardSettings):
        from crm.backends.vllm_in_process import start_vllm  # noqa: PLC0415

        limit = settings.max_length
        return start_vllm(settings.model, settings.revision, settings, labels=1, max_length=limit)
    from crm.backends.transformers_classifier import load_transformers_classifier  # noqa: PLC0415

    return load_transformers_classifier(settings.model, settings.revision, settings, labels=1)
