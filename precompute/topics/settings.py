"""How queries are clustered: one TOML file, every key of which has a default."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from crm.config import (
    Count,
    Seconds,
    Settings,
    TableKind,
    Url,
    Variable,
    model_place,
    read_settings,
    read_tables,
    table_error,
)
from crm.data.topic_model import TopicParameters

_TABLES = TableKind("table", "clustering settings", "", "fix the path given as --config")

Share = Annotated[float, Field(ge=0, le=1)]

LARGEST_SEED = 2**31 - 1
"""NumPy takes twice as large ones; those after it must be left for the stability over seeds."""

_ENDPOINT_KEYS = ("url", "api_key_env", "timeout", "retries")
_UNREAD = {
    "minilm": ("model", "revision", "dimensions", "device", "max_length", *_ENDPOINT_KEYS),
    "sentence-transformers": _ENDPOINT_KEYS,
    "openai": ("revision", "device", "max_length"),
}
"""Keys that an encoder does not read; setting one is a mistake, such as a model without its backend."""


class EncoderSettings(Settings):
    """Table ``[encoder]``: what embeds the queries.

    Attributes:
        backend: “minilm” is bundled; “sentence-transformers” takes any of that library's models, such as
            Qwen3-Embedding; “openai” is an endpoint that speaks the protocol of OpenAI's embeddings.
        model: The model's folder or its name on a hub; the model's name at an endpoint.
        revision: Commit or tag of a model on a hub.
        instruction: Put before every query, for models that are told what to embed for.
        dimensions: Dimensions to keep, for models that can be cut.
        device: “cpu”, “cuda”, “mps”; without it a GPU where there is one.
        batch_size: Queries at a time.
        max_length: Tokens of a query that are read, at most what the model reads.
        url: Base address of an endpoint, with ``/v1`` where it has one.
        api_key_env: Environment variable with the API key.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for the moment is sent again.
    """

    backend: Literal["minilm", "sentence-transformers", "openai"] = "minilm"
    model: str | None = None
    revision: str | None = None
    instruction: str = ""
    dimensions: Count | None = None
    device: str | None = None
    batch_size: Count = 32
    max_length: Count | None = None
    url: Url = "https://api.openai.com/v1"
    api_key_env: Variable | None = None
    timeout: Seconds = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 6

    @field_validator("model")
    @classmethod
    def _folder_or_name(cls, model: str | None, info: ValidationInfo) -> str | None:
        is_local = info.data.get("backend") == "sentence-transformers"
        return model_place(model, info) if model is not None and is_local else model

    @model_validator(mode="after")
    def _fits_the_backend(self) -> EncoderSettings:
        if self.backend != "minilm" and not self.model:
            raise ValueError("needs the key 'model'")
        for key in _UNREAD[self.backend]:
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"has the key {key!r}, which the backend {self.backend!r} does not read")
        return self


_FEWEST_IN_A_TOPIC = 5
_OF_THE_ROOT = 0.25


class TemplateSettings(Settings):
    """Table ``[templates]``: prompts that data sets made from templates, and what is done with them.

    Attributes:
        set_aside: Whether topics are looked for without them; they are kept under a heading of their own.
        shared_words: Words in a row that prompts of one template share at least.
        shared_by: Prompts that share them at least.
    """

    set_aside: bool = True
    shared_words: Annotated[int, Field(ge=3)] = 8
    shared_by: Annotated[int, Field(ge=2)] = 5


class TopicSettings(Settings):
    """Table ``[topics]``: parameters of `crm.data.topic_model.TopicParameters`, and the seed of everything.

    Attributes:
        smallest_cluster: Queries in a topic at least; without it the more, the larger the pool is: see
            `smallest_for`.
        damp_frequent: Whether words that are frequent in all topics count less among the keywords. Where
            outliers go is decided without: topics of other seeds agree better then.
        by_distributions: The paper's step; off, as what queries mean places them better than their words do
            (docs/topics.md).
        guided: How much the list of topics that names come from counts when topics are found, beside the
            embeddings; 0 for not at all. What it knows nothing of is found by its embedding alone.
    """

    neighbours: Annotated[int, Field(ge=2)] = 15
    dimensions: Annotated[int, Field(ge=2)] = 5
    min_distance: Annotated[float, Field(ge=0, lt=1)] = 0.0
    smallest_cluster: Annotated[int, Field(ge=2)] | None = None
    density_neighbours: Count = 2
    method: Literal["eom", "leaf"] = "eom"
    careful: Share = 0.1
    by_distributions: bool = False
    guided: Share = 0.5
    by_embeddings: bool = True
    keywords: Annotated[int, Field(ge=3, le=50)] = 10
    damp_frequent: bool = True
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0

    def smallest_for(self, n_queries: int) -> int:
        """Return how many queries a topic has at least in a pool of so many: a quarter of their square root.

        DailyBench's 522 queries, 1,200 and 2,428 of the public prompts agree best with what people sorted
        them into at 5 to 6, 8, and 12 to 15 (docs/topics.md).
        """
        if self.smallest_cluster is not None:
            return self.smallest_cluster
        return max(_FEWEST_IN_A_TOPIC, int(_OF_THE_ROOT * math.sqrt(n_queries)))

    def parameters(self, n_queries: int) -> TopicParameters:
        """Return the same as what the pipeline takes, for a pool of so many queries."""
        given = self.model_dump(exclude={"damp_frequent", "guided", "smallest_cluster"})
        return TopicParameters(**given, smallest_cluster=self.smallest_for(n_queries))


class PartSettings(Settings):
    """Table ``[parts]``: the pipeline applied again inside large topics.

    Attributes:
        above: Topics of more queries are looked into; 0 looks into none.
        levels: How often: 1 finds parts, 2 parts of parts.
    """

    above: Annotated[int, Field(ge=0)] = 100
    levels: Annotated[int, Field(ge=0, le=5)] = 1


class GrowthSettings(Settings):
    """Table ``[growth]``: what is done with queries that are added to curated topics.

    Attributes:
        fits: Confidence from which a query is put into the nearest topic; 0 puts every query into one.
    """

    fits: Share = 0.5


class CategorySettings(Settings):
    """Table ``[categories]``: what topics stand under.

    Attributes:
        how: “list” gives a topic the category of the list that it is named from; “grouped” joins the topics
            that mean most alike into as many categories as ``count`` says; “dailybench” gives a topic the
            nearest of DailyBench's 12 categories, or “Other”.
        count: Number of categories that are made by grouping; the paper has 12.
    """

    how: Literal["list", "grouped", "dailybench"] = "list"
    count: Annotated[int, Field(ge=2)] = 12


class NameSettings(Settings):
    """Table ``[names]``: how topics get a name and a summary.

    Attributes:
        llm: An LLM of ``llms.toml``, which names topics and categories but for DailyBench's; without it they
            are named from a list of topics, or by a phrase of their queries.
        queries: Representative queries that the LLM is shown.
        characters: Of each query at most.
    """

    llm: str | None = None
    queries: Annotated[int, Field(ge=1, le=100)] = 12
    characters: Annotated[int, Field(ge=40)] = 400


class QualitySettings(Settings):
    """Table ``[quality]``.

    Attributes:
        seeds: Further seeds with which topics are found again, to see how stable they are; 0 for none.
    """

    seeds: Annotated[int, Field(ge=0, le=20)] = 2


class ClusteringSettings(Settings):
    """The whole file; docs/topics.md says where the defaults are not the paper's."""

    encoder: EncoderSettings = EncoderSettings()
    templates: TemplateSettings = TemplateSettings()
    topics: TopicSettings = TopicSettings()
    parts: PartSettings = PartSettings()
    categories: CategorySettings = CategorySettings()
    names: NameSettings = NameSettings()
    quality: QualitySettings = QualitySettings()
    growth: GrowthSettings = GrowthSettings()

    def with_options(self, seed: int | None, llm: str | None) -> ClusteringSettings:
        """Return the same with another seed and another LLM that names topics, where they are given."""
        topics = self.topics if seed is None else self.topics.model_copy(update={"seed": seed})
        names = self.names if llm is None else self.names.model_copy(update={"llm": llm})
        return self.model_copy(update={"topics": topics, "names": names})


def read_clustering_settings(file: Path | None) -> ClusteringSettings:
    """Return the settings in a file; without one, the defaults.

    Raises:
        ConfigError: The file cannot be read, or a table or key is wrong.
    """
    if file is None:
        return ClusteringSettings()
    known: dict[str, type[Settings]] = {
        name: type(field.default) for name, field in ClusteringSettings.model_fields.items()
    }
    tables: dict[str, Any] = {}
    for name, values in read_tables(file, _TABLES).items():
        kind = known.get(name)
        if kind is None:
            problem = f"there is no such table: choose from {', '.join(known)}"
            raise table_error(problem, name=name, file=file, kind=_TABLES)
        tables[name] = read_settings(kind, values, name=name, file=file, kind=_TABLES)
    return ClusteringSettings(**tables)
