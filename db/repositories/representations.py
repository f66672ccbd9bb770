"""What embedded CRMs store of responses and of queries, so that scoring needs no text."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import LLM, QueryRepresentation, Representation, now
from db.payload import pack, unpack
from db.repositories import _lookup
from db.repositories._upsert import upsert
from db.repositories.scores import delete_scores


def put_representation(
    session: Session, slug: str, llm: str, name: str, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Stores the arrays of the LLM's responses, by convention with one row a query in position order.

    Arrays that differ from stored ones make the stored scores of the benchmark void.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        LLMNotFoundError: the benchmark has no such LLM.
        PayloadError: an array holds Python objects.
    """
    put_payload(session, slug, llm, name, pack(arrays))


def put_query_representation(
    session: Session, slug: str, name: str, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Stores the arrays of the queries, by convention with one row a query in position order.

    Arrays that differ from stored ones make the stored scores of the benchmark void.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        PayloadError: an array holds Python objects.
    """
    put_payload(session, slug, None, name, pack(arrays))


def get_representation(session: Session, slug: str, llm: str, name: str) -> dict[str, NDArray[Any]] | None:
    """Returns the stored arrays of one LLM, None if it has no such representation.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        LLMNotFoundError: the benchmark has no such LLM.
        PayloadError: the stored bytes are damaged.
    """
    benchmark = _lookup.benchmark_id(session, slug)
    payload = _stored(session, benchmark, _lookup.llm_id(session, benchmark, slug, llm), name)
    return None if payload is None else unpack(payload)


def get_representations(session: Session, slug: str, name: str) -> dict[str, dict[str, NDArray[Any]]]:
    """Returns the stored arrays of every LLM that has this representation, in LLM order.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        PayloadError: the stored bytes are damaged.
    """
    return {llm: unpack(payload) for llm, payload in payloads_by_llm(session, slug, name).items()}


def get_query_representation(session: Session, slug: str, name: str) -> dict[str, NDArray[Any]] | None:
    """Returns the stored arrays of the queries, None if they have no such representation.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        PayloadError: the stored bytes are damaged.
    """
    payload = _stored(session, _lookup.benchmark_id(session, slug), None, name)
    return None if payload is None else unpack(payload)


def list_representations(session: Session, slug: str) -> dict[str, tuple[str, ...]]:
    """Returns the LLMs, in LLM order, that have each representation; names are in alphabetical order.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
    """
    rows = session.execute(
        select(Representation.name, LLM.name)
        .join(LLM, LLM.id == Representation.llm_id)
        .where(Representation.benchmark_id == _lookup.benchmark_id(session, slug))
        .order_by(Representation.name, LLM.position, LLM.id)
    )
    found: dict[str, tuple[str, ...]] = {}
    for name, llm in rows:
        found[name] = (*found.get(name, ()), llm)
    return found


def put_payload(session: Session, slug: str, llm: str | None, name: str, payload: bytes) -> None:
    """Stores packed arrays of an LLM, or of the queries (None); `put_representation` without the packing.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
        LLMNotFoundError: the benchmark has no such LLM.
    """
    benchmark = _lookup.benchmark_id(session, slug)
    llm_id = None if llm is None else _lookup.llm_id(session, benchmark, slug, llm)
    stored = _stored(session, benchmark, llm_id, name)
    if stored == payload:
        return
    row = {"benchmark_id": benchmark, "name": name, "payload": payload, "updated_at": now()}
    changed = ("payload", "updated_at")
    if llm_id is None:
        upsert(session, QueryRepresentation, [row], key=("benchmark_id", "name"), update=changed)
    else:
        upsert(session, Representation, [row | {"llm_id": llm_id}], key=("llm_id", "name"), update=changed)
    if stored is not None:
        delete_scores(session, slug)
    _lookup.touch(session, benchmark)


def payloads_by_llm(session: Session, slug: str, name: str) -> dict[str, bytes]:
    """Returns the packed arrays of every LLM that has this representation, in LLM order.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
    """
    rows = session.execute(
        select(LLM.name, Representation.payload)
        .join(LLM, LLM.id == Representation.llm_id)
        .where(
            Representation.benchmark_id == _lookup.benchmark_id(session, slug), Representation.name == name
        )
        .order_by(LLM.position, LLM.id)
    )
    return dict(rows.all())


def query_payloads(session: Session, slug: str) -> dict[str, bytes]:
    """Returns the packed arrays of the queries by name of the representation.

    Raises:
        BenchmarkNotFoundError: no benchmark has this slug.
    """
    rows = session.execute(
        select(QueryRepresentation.name, QueryRepresentation.payload)
        .where(QueryRepresentation.benchmark_id == _lookup.benchmark_id(session, slug))
        .order_by(QueryRepresentation.name)
    )
    return dict(rows.all())


def _stored(session: Session, benchmark: int, llm: int | None, name: str) -> bytes | None:
    if llm is None:
        return session.scalar(
            select(QueryRepresentation.payload).where(
                QueryRepresentation.benchmark_id == benchmark, QueryRepresentation.name == name
            )
        )
    return session.scalar(
        select(Representation.payload).where(Representation.llm_id == llm, Representation.name == name)
    )
