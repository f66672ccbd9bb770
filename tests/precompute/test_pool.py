import json
from pathlib import Path

import pytest

from db import Database
from db.errors import NotFoundError
from db.repositories.pools import find_pool, get_pool, pool_queries
from precompute.errors import PrecomputeError
from precompute.importers import PreferenceFilter
from precompute.load import import_benchmark
from precompute.pool import gather
from precompute.preferences import ParquetFiles, import_preferences
from tests.precompute import samples
from tests.precompute.arena_samples import sample_rows, write_samples

QUERIES = [{"id": "a", "query": "soup?"}, {"id": "b", "query": "roses?"}, {"id": "c", "query": "soup?"}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return samples.write_json_lines(tmp_path / "mine.jsonl", QUERIES)


def texts(database: Database, slug: str = "mine") -> list[tuple[str, str]]:
    with database.session() as session:
        return [(query.text, query.origin) for query in pool_queries(session, find_pool(session, slug))]


def test_every_text_is_kept_once_with_where_it_comes_from(database: Database, file: Path) -> None:
    summary = gather(database, "mine", files=[file], title="My queries")
    assert (summary.n_read, summary.n_added, summary.n_queries) == ({str(file): 3}, 2, 2)
    assert texts(database) == [("soup?", "mine.jsonl:a"), ("roses?", "mine.jsonl:b")]
    with database.session() as session:
        assert get_pool(session, find_pool(session, "mine")).title == "My queries"


def test_more_is_added_behind_what_is_there(database: Database, file: Path, tmp_path: Path) -> None:
    gather(database, "mine", files=[file])
    more = tmp_path / "more.json"
    more.write_text(json.dumps([{"instruction": "bread?"}, {"instruction": "soup?"}]))
    assert gather(database, "mine", files=[file]).n_added == 0
    summary = gather(database, "mine", files=[more])
    assert (summary.n_added, summary.n_queries) == (1, 3)
    assert texts(database)[2] == ("bread?", "more.json:1")


def test_benchmarks_and_preferences_of_one_name_are_both_read(
    database: Database,
    file: Path,
    tmp_path: Path,
    fitted: samples.RecordingRepresentation,
    embed: samples.WordEmbedding,
) -> None:
    import_benchmark(database, samples.imported(slug="tiny"), fitted=fitted, embed=embed)
    rows = write_samples(tmp_path / "arena.parquet", sample_rows(20))
    everything = PreferenceFilter(None, keep_both_bad=True, all_criteria=True)
    import_preferences(database, ParquetFiles((rows,), "arena.parquet"), "tiny", everything)
    summary = gather(database, "mine", files=[file], benchmarks=["tiny"], preferences=["tiny"])
    assert list(summary.n_read) == [str(file), "benchmark tiny", "preferences tiny"]
    assert all(summary.n_read.values())
    assert texts(database)[2][0] == "soup or bread?"
    assert len(texts(database)) == summary.n_queries


def test_nothing_is_kept_where_one_source_cannot_be_read(
    database: Database, file: Path, tmp_path: Path
) -> None:
    broken = samples.write_json_lines(tmp_path / "broken.jsonl", [{"query": "bread?"}, {"query": 3}])
    with pytest.raises(PrecomputeError, match="row 2"):
        gather(database, "mine", files=[file, broken])
    with pytest.raises(NotFoundError, match="no query pool 'mine'"):
        texts(database)


def test_sources_without_queries_are_told(database: Database, tmp_path: Path) -> None:
    empty = samples.write_json_lines(tmp_path / "empty.jsonl", [{"query": " "}])
    with pytest.raises(PrecomputeError, match=r"empty\.jsonl"):
        gather(database, "mine", files=[empty])
    with pytest.raises(PrecomputeError, match="--benchmark"):
        gather(database, "mine")
    with pytest.raises(PrecomputeError, match="is no slug"):
        gather(database, "not a slug", files=[empty])
    with pytest.raises(NotFoundError, match="no query pool 'mine'"):
        texts(database)
