"""Embeddings of a pool's queries, by the bundled encoder, a model of sentence-transformers or an endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from crm.embedded.encoder import sentence_encoder
from crm.errors import UnavailableError
from crm.llm.chat_model import FailureKind
from crm.llm.client import Endpoint, LLMClient, RequestError
from crm.version import model_identity
from db import Database
from db.database import exclusive
from db.repositories.representations import known_embeddings, put_embeddings
from db.source_records import PoolQueryRecord
from precompute.topics.settings import EncoderSettings

Vectors = NDArray[np.float32]


class Encoder(Protocol):
    """Embeds texts.

    Attributes:
        name: Changes with whatever can change an embedding; embeddings are stored under it.
        batch_size: Texts that are best embedded at a time.
    """

    name: str
    batch_size: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeddings ``[N, d]`` of N texts, not necessarily of unit length.

        Raises:
            CRMError: The model or the endpoint fails.
        """


def make_encoder(settings: EncoderSettings) -> Encoder:
    """Return the encoder that the settings describe; its model is loaded when it is first used.

    Raises ConfigError: An API key is not there.
    """
    match settings.backend:
        case "minilm":
            return MiniLMEncoder(settings)
        case "sentence-transformers":
            return SentenceTransformersEncoder(settings)
        case "openai":
            return EndpointEncoder(settings)


class MiniLMEncoder:
    """The bundled all-MiniLM-L6-v2, 384 dimensions.

    Texts are read one by one: on a CPU as quick as in batches, and an embedding then depends on nothing but
    its text, to the last bit.
    """

    def __init__(self, settings: EncoderSettings) -> None:
        """Describe the encoder."""
        self.name = _encoder_name("all-MiniLM-L6-v2", settings)
        self.batch_size = settings.batch_size
        self._instruction = settings.instruction

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeddings ``[N, 384]`` of N texts."""
        encoder = sentence_encoder()
        return np.concatenate([encoder.encode([self._instruction + text]).embedding for text in texts])


class SentenceTransformersEncoder:
    """A model of the library sentence-transformers, from a folder or a hub."""

    def __init__(self, settings: EncoderSettings) -> None:
        """Describe the encoder; its model is loaded when it is first used."""
        assert settings.model is not None
        identity = model_identity(settings.model) + (f"@{settings.revision}" if settings.revision else "")
        self.name = _encoder_name(identity, settings)
        self.batch_size = settings.batch_size
        self._settings = settings
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeddings ``[N, d]`` of N texts."""
        if self._model is None:
            self._model = self._load()
        vectors: Vectors = self._model.encode(
            [self._settings.instruction + text for text in texts],
            batch_size=self._settings.batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
            truncate_dim=self._settings.dimensions,
        )
        return vectors.astype(np.float32)

    def _load(self) -> Any:
        settings = self._settings
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415
        except ImportError as error:
            raise UnavailableError(
                "Models of sentence-transformers need that package: pip install sentence-transformers."
            ) from error
        try:
            model = SentenceTransformer(settings.model, revision=settings.revision, device=settings.device)
        except (OSError, ValueError, RuntimeError) as error:
            raise UnavailableError(
                f"The encoder {settings.model!r} cannot be loaded ({type(error).__name__}): give a folder of "
                "sentence-transformers, or a name on the hub and a network to fetch it."
            ) from error
        if settings.max_length is not None:
            model.max_seq_length = min(settings.max_length, model.max_seq_length or settings.max_length)
        return model


class EndpointEncoder:
    """An endpoint that speaks the protocol of OpenAI's embeddings."""

    def __init__(self, settings: EncoderSettings) -> None:
        """Describe the encoder. Raises ConfigError: The API key is not there."""
        where = urlsplit(settings.url).netloc
        self.name = _encoder_name(f"{settings.model} at {where}", settings)
        self.batch_size = settings.batch_size
        self._settings = settings
        self._the_endpoint = f"The endpoint {where}"
        self._client = LLMClient(
            Endpoint(
                url=settings.url,
                model=settings.model or "",
                name="encoder",
                file="the settings",
                owner="table",
                api_key_env=settings.api_key_env,
                timeout=settings.timeout,
                retries=settings.retries,
            )
        )
        self._client.connect()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeddings ``[N, d]`` of N texts."""
        body: dict[str, Any] = {
            "model": self._settings.model,
            "input": [self._settings.instruction + text for text in texts],
            "encoding_format": "float",
        }
        if self._settings.dimensions is not None:
            body["dimensions"] = self._settings.dimensions
        try:
            reply = self._client.post(_EMBEDDINGS, body)
        except RequestError as error:
            # What the server says is not shown: it may repeat the key.
            raise UnavailableError(f"{self._the_endpoint} {_in_words(error)}.") from None
        try:
            rows = sorted(reply["data"], key=lambda row: row["index"])
            numbered = [row["index"] for row in rows]
            numbers = np.array([row["embedding"] for row in rows])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UnavailableError(f"{self._the_endpoint} {_NO_EMBEDDINGS}.") from None
        if numbers.size and numbers.dtype.kind not in _NUMBERS:
            raise UnavailableError(f"{self._the_endpoint} {_NO_EMBEDDINGS}.")
        with np.errstate(over="ignore"):  # what is too large is refused below
            vectors: Vectors = numbers.astype(np.float32)
            lengths = np.linalg.norm(vectors, axis=-1)
        whole = numbered == list(range(len(texts))) and vectors.ndim == _DIMENSIONS and vectors.size
        if not whole or not (np.isfinite(lengths) & (lengths > 0)).all():
            raise UnavailableError(f"{self._the_endpoint} answers no embedding for each text: check 'model'.")
        return vectors


_EMBEDDINGS = "embeddings"
_NO_EMBEDDINGS = "answers no embeddings: check 'url'"
_DIMENSIONS = 2
_NUMBERS = "iuf"
"""Kinds of NumPy's types that are numbers: texts and truths are no embeddings, though they can be read so."""


def _in_words(error: RequestError) -> str:
    """Return what an endpoint does instead of embedding, and how to mend it, without a full stop."""
    if error.status is not None:
        return (
            f"refuses to embed (status {error.status}): check 'model', 'url' and the environment variable of "
            "the API key, or try again later"
        )
    if error.kind is FailureKind.TOO_LARGE:
        return "answers more than is read of a reply: lower 'batch_size', or check 'url'"
    if error.kind is FailureKind.NO_JSON:
        return _NO_EMBEDDINGS
    return f"cannot be reached ({error.kind}): check 'url' and run again"


def _encoder_name(model: str, settings: EncoderSettings) -> str:
    """Return the model, and whatever else changes an embedding."""
    changed = {
        "cut to": settings.dimensions,
        "tokens": settings.max_length,
        "after": repr(settings.instruction) if settings.instruction else None,
    }
    return " ".join([model, *(f"{key} {value}" for key, value in changed.items() if value is not None)])


@dataclass(frozen=True, eq=False)
class EmbeddedQueries:
    """The queries of a pool with what topics are found in.

    Attributes:
        vectors: Their embeddings ``[Q, d]``, of unit length.
    """

    queries: tuple[PoolQueryRecord, ...]
    vectors: Vectors

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The distinct words of each query ``[Q]``."""
        return tuple(distinct_words(query.text) for query in self.queries)


def embed_queries(
    database: Database,
    queries: tuple[PoolQueryRecord, ...],
    encoder: Encoder,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> EmbeddedQueries:
    """Return queries with their embeddings, embedding what is not stored.

    Batches are cut by place in the pool, not by what is missing, and stored whole: an interrupted run that
    goes on asks the encoder for the same batches as one that was left alone. Raises CRMError: the encoder
    fails; what it embedded is stored.
    """
    with database.session() as session:
        known = known_embeddings(session, encoder.name, (query.sha256 for query in queries))
    for start in range(0, len(queries), encoder.batch_size):
        progress(start, len(queries))
        batch = queries[start : start + encoder.batch_size]
        if all(query.sha256 in known for query in batch):
            continue
        vectors = encoder.embed([query.text for query in batch])
        fresh = {query.sha256: vector for query, vector in zip(batch, vectors, strict=True)}
        with exclusive(database.engine), database.session() as session:
            put_embeddings(session, encoder.name, fresh)
        known = fresh | known
    progress(len(queries), len(queries))
    return EmbeddedQueries(queries, _normalised([known[query.sha256] for query in queries]))


def _normalised(vectors: Sequence[Vectors]) -> Vectors:
    if len({len(vector) for vector in vectors}) > 1:
        raise UnavailableError(
            "The encoder gives embeddings of different lengths: name another model, or a revision of it."
        )
    stacked = np.array(vectors, dtype=np.float32)
    unit: Vectors = stacked / np.maximum(np.linalg.norm(stacked, axis=1, keepdims=True), 1e-12)
    return unit


_UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
"""Chinese characters and Japanese syllables: longer rows of them than four are no words but sentences."""
_ROW = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"\b(?!(\w)\1+\b)(?:[^\W\d_{_UNSPACED}]{{3,20}}|[{_UNSPACED}]{{2,4}})\b")
"""Longer ones are no words but code, and a letter again and again is a drawing."""
_ESCAPED = re.compile(r"\\[nrt]")
"""Escapes that some data sets hold as they stand in JSON; read as letters they make words of their own."""
_NONE = "none"


def distinct_words(text: str) -> str:
    """Return the words of a text, each once.

    Class-based TF-IDF counts words over all queries of a topic together: one long query about dragons would
    make dragons of the topic. Counted once a query, words stand for how many queries have them.
    """
    spaced = _ROW.sub(r" \g<0> ", _ESCAPED.sub(" ", text))
    found = (match[0] for match in _WORD.finditer(spaced.lower()))
    return " ".join(dict.fromkeys(found)) or _NONE
