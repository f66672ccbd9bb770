from db import QueryRecord, text_sha256
from precompute.importers import ImportedQuery
from precompute.matching import derived_id, external_ids


def stored(external_id: str, text: str) -> QueryRecord:
    return QueryRecord(external_id, "c", "t", text_sha256(text), has_text=False)


def test_a_query_without_id_gets_one_from_its_text() -> None:
    assert external_ids([ImportedQuery("soup?")], []) == [text_sha256("soup?")[:16]]


def test_a_query_keeps_its_own_id() -> None:
    assert external_ids([ImportedQuery("soup?", "7")], [stored("8", "roses?")]) == ["7"]
    assert external_ids([ImportedQuery("soup?", "7")], [stored("7", "roses?"), stored("8", "soup?")]) == ["7"]


def test_a_stored_query_of_the_same_text_is_the_same_query() -> None:
    assert external_ids([ImportedQuery("soup?")], [stored("8", "soup?")]) == ["8"]
    assert external_ids([ImportedQuery("soup?", "7")], [stored("8", "soup?")]) == ["8"]


def test_two_queries_of_one_text_stay_two() -> None:
    twins = [ImportedQuery("soup?", "7"), ImportedQuery("soup?", "8"), ImportedQuery("soup?", "9")]
    assert external_ids(twins, []) == ["7", "8", "9"]
    assert external_ids(twins, [stored("a", "soup?"), stored("8", "soup?")]) == ["a", "8", "9"]
    derived = derived_id(text_sha256("soup?"))
    assert external_ids([ImportedQuery("soup?")], [stored(derived, "soup?"), stored("a", "soup?")]) == [
        derived
    ]
