"""The contents of a bundle in memory, the names of its members, and what must hold between its parts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from db.errors import BundleError, DatabaseError
from db.records import (
    BenchmarkInfo,
    CategoryTree,
    LLMRecord,
    QuerySource,
    SampleRecord,
    ScoreKey,
    ScoreRow,
    WinRateRecord,
)
from db.serialization import pack, text_sha256, unpack

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
QUERIES = "queries.jsonl"
SCORES = "scores.jsonl"
SAMPLE = "sample.json"


@dataclass(frozen=True, slots=True)
class BundledScores:
    """A score matrix, whole or in part, and the win rates it comes to.

    `criteria` is the criteria set as a JSON list, `payload` the bytes of `pack_rows`; there are no win rates
    of a matrix in part.
    """

    key: ScoreKey
    criteria: tuple[object, ...]
    payload: bytes
    win_rates: tuple[WinRateRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A benchmark as one value.

    `queries` is in position order, the row order of every payload. `responses` maps LLM names to {query id:
    text}. `representations` maps representation names to {LLM name: payload}, `query_representations` to the
    payload of the queries themselves; payloads are the bytes of `db.serialization.pack`. `sample` says how a
    frozen benchmark was sampled, without the time; None of one that is not frozen.
    """

    info: BenchmarkInfo
    baseline: str | None
    categories: tuple[CategoryTree, ...]
    llms: tuple[LLMRecord, ...]
    queries: tuple[QuerySource, ...]
    responses: Mapping[str, Mapping[str, str]]
    representations: Mapping[str, Mapping[str, bytes]]
    query_representations: Mapping[str, bytes]
    scores: tuple[BundledScores, ...] = ()
    sample: SampleRecord | None = None


def responses_member(index: int) -> str:
    """Return the name of the member with the responses of the LLM of this index."""
    return f"responses/{index}.jsonl"


def representation_member(name: str, index: int | None) -> str:
    """Return the name of the member with the arrays of the LLM of this index, or of the queries (None)."""
    return f"representations/{name}/{'queries' if index is None else index}.npz"


def scores_member(index: int) -> str:
    """Return the name of the member with the score matrix in this line of `scores.jsonl`."""
    return f"scores/{index}.npz"


def win_rates_member(index: int) -> str:
    """Return the name of the member with the win rates of that score matrix."""
    return f"win_rates/{index}.jsonl"


_MATRIX = 2


def pack_rows(llms: Sequence[str], rows: Mapping[str, ScoreRow]) -> bytes:
    """Pack rows of equal length as `llms` [R], places among the LLMs, `prob` [R, Q] and `judged` [R, Q]."""
    places = [place for place, llm in enumerate(llms) if llm in rows]
    chosen = [rows[llms[place]] for place in places]
    return pack(
        {
            "llms": np.array(places, dtype=np.int32),
            "prob": np.stack([row.prob for row in chosen]).astype(np.float32),
            "judged": np.stack([row.judged for row in chosen]).astype(np.bool_),
        }
    )


def unpack_rows(llms: Sequence[str], payload: bytes, n_queries: int) -> dict[str, ScoreRow]:
    """Return the rows of `pack_rows` by LLM.

    Raises:
        DatabaseError: the bytes are damaged or no scores of these LLMs on so many queries.
    """
    arrays = unpack(payload)
    if arrays.keys() != {"llms", "prob", "judged"}:
        raise DatabaseError("The stored arrays are no scores.")
    places, prob, judged = arrays["llms"], arrays["prob"], arrays["judged"]
    if prob.dtype != np.float32 or judged.dtype != np.bool_ or places.dtype.kind != "i":
        raise DatabaseError("The scores are of other types than single precision and truth values.")
    if places.ndim != 1 or prob.shape != (len(places), n_queries) or judged.shape != prob.shape:
        raise DatabaseError(f"The scores are {prob.shape}, but there are {n_queries} queries.")
    if len(np.unique(places)) < len(places) or np.any((places < 0) | (places >= len(llms))):
        raise DatabaseError("The scores are of LLMs that are not there, or of one twice.")
    if np.any((prob < 0) | (prob > 1)) or np.any(np.isfinite(prob) & ~judged):
        raise DatabaseError("The scores are no probabilities of pairs that were judged.")
    return {llms[place]: ScoreRow(prob[row], judged[row]) for row, place in enumerate(places.tolist())}


_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPRESENTATION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_bundle(bundle: Bundle) -> None:
    """Check that every name refers to something in the bundle, hashes fit and payloads can be unpacked.

    Raises BundleError: the first thing that does not hold, with the member it is in.
    """
    _check_manifest(bundle)
    _check_queries(bundle)
    _check_responses(bundle)
    _check_representations(bundle)
    _check_scores(bundle)


def _check_manifest(bundle: Bundle) -> None:
    if not bundle.info.slug:
        raise BundleError(f"{MANIFEST}: the slug is empty.")
    names = [llm.name for llm in bundle.llms]
    _check_distinct(MANIFEST, "LLM", names)
    _check_distinct(MANIFEST, "category", [category.name for category in bundle.categories])
    for category in bundle.categories:
        _check_distinct(MANIFEST, f"topic of {category.name!r}", category.topics)
    if bundle.baseline is not None and bundle.baseline not in names:
        raise BundleError(f"{MANIFEST}: the baseline {bundle.baseline!r} is none of its LLMs.")


def _check_queries(bundle: Bundle) -> None:
    _check_distinct(QUERIES, "query", [query.external_id for query in bundle.queries])
    topics = {category.name: frozenset(category.topics) for category in bundle.categories}
    for query in bundle.queries:
        where = f"{QUERIES}: query {query.external_id!r}"
        if query.category not in topics:
            raise BundleError(
                f"{where} is of the category {query.category!r}, which {MANIFEST} does not list."
            )
        if query.topic not in topics[query.category]:
            raise BundleError(
                f"{where} is of the topic {query.topic!r}, "
                f"which {MANIFEST} does not list under {query.category!r}."
            )
        if not _SHA256.fullmatch(query.sha256):
            raise BundleError(f"{where} has no SHA-256 of 64 lower-case hex digits.")
        if query.text is not None and text_sha256(query.text) != query.sha256:
            raise BundleError(f"{where} has a text that does not fit its SHA-256.")


def _check_responses(bundle: Bundle) -> None:
    index = {llm.name: place for place, llm in enumerate(bundle.llms)}
    queries = {query.external_id for query in bundle.queries}
    for llm, texts in bundle.responses.items():
        if llm not in index:
            raise BundleError(f"responses: the LLM {llm!r} is not in {MANIFEST}.")
        unknown = next((query for query in texts if query not in queries), None)
        if unknown is not None:
            raise BundleError(f"{responses_member(index[llm])}: there is no query {unknown!r} in {QUERIES}.")


def _check_representations(bundle: Bundle) -> None:
    index = {llm.name: place for place, llm in enumerate(bundle.llms)}
    for name, payloads in bundle.representations.items():
        _check_representation_name(name)
        for llm, payload in payloads.items():
            if llm not in index:
                raise BundleError(f"representations/{name}: the LLM {llm!r} is not in {MANIFEST}.")
            _check_payload(representation_member(name, index[llm]), payload)
    for name, payload in bundle.query_representations.items():
        _check_representation_name(name)
        _check_payload(representation_member(name, None), payload)


def _check_scores(bundle: Bundle) -> None:
    llms = [llm.name for llm in bundle.llms]
    keys = [f"{scores.key.crm}, {scores.key.crm_version}, {scores.key.criteria}" for scores in bundle.scores]
    _check_distinct(SCORES, "score matrix", keys)
    for index, scores in enumerate(bundle.scores):
        if not _SHA256.fullmatch(scores.key.criteria):
            raise BundleError(f'{SCORES}: a "criteria_key" is no SHA-256 of 64 lower-case hex digits.')
        try:
            unpack_rows(llms, scores.payload, len(bundle.queries))
        except DatabaseError as error:
            raise BundleError(f"{scores_member(index)}: {error}") from error
        check_win_rates(bundle, win_rates_member(index), scores.win_rates)


def check_win_rates(bundle: Bundle, member: str, rates: tuple[WinRateRecord, ...]) -> None:
    """Check that win rates are of the bundle's LLMs and categories. Raises BundleError: one is not."""
    llms = {llm.name for llm in bundle.llms}
    categories = {"", *(category.name for category in bundle.categories)}
    _check_distinct(member, "win rate", [f"{rate.llm}, {rate.category}" for rate in rates])
    for rate in rates:
        if rate.llm not in llms:
            raise BundleError(f"{member}: the LLM {rate.llm!r} is not in {MANIFEST}.")
        if rate.category not in categories:
            raise BundleError(f"{member}: the category {rate.category!r} is not in {MANIFEST}.")
        shares = (rate.hard, rate.soft, rate.ci_low, rate.ci_high)
        # Written so that NaN, which is between no two numbers, is refused too.
        if not all(0 <= share <= 1 for share in shares) or not 1 <= rate.n_queries <= len(bundle.queries):
            raise BundleError(f"{member}: a win rate of {rate.llm!r} is out of range.")


def _check_representation_name(name: str) -> None:
    if not _REPRESENTATION_NAME.fullmatch(name):
        raise BundleError(
            f"representations: {name!r} is no name of letters, digits, dots, dashes and underscores."
        )


def _check_payload(member: str, payload: bytes) -> None:
    try:
        unpack(payload)
    except DatabaseError as error:
        raise BundleError(f"{member}: {error}") from error


def _check_distinct(member: str, kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BundleError(f"{member}: the {kind} {name!r} occurs twice.")
        seen.add(name)
