"""Benchmarks from one database to another, as one file."""

import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crm.criteria import CriteriaSet
from crm.embedded.representation import NAME
from crm.registry import get_crm
from db import Database
from db.bundle import read_bundle, write_bundle
from db.errors import BundleError, DatabaseError
from db.records import BenchmarkInfo
from db.repositories import benchmarks, bundles, scores
from leaderboard.service import Service
from leaderboard.view import View
from precompute.bundles import described, load_bundle, redistributable_as, save_bundle
from precompute.errors import PrecomputeError
from precompute.score import score_benchmark
from tests.db import samples
from tests.db.conftest import empty_url, postgres

__all__ = ["empty_url", "postgres"]  # fixtures

CRITERIA = (CriteriaSet(), CriteriaSet.of(["concise"], ["emojis"]), CriteriaSet.of(["warm"]))
JUDGES = ("embedded", "longer")


@pytest.fixture(scope="module")
def origin(filled_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """DailyBench, scored by two judges; only to be read."""
    path = tmp_path_factory.mktemp("origin") / "usl.sqlite3"
    path.write_bytes(filled_file.read_bytes())
    service = Service.open(f"sqlite:///{path}")
    score_benchmark(service.database, "dailybench", [get_crm(judge) for judge in JUDGES], CRITERIA)
    yield service
    service.close()


@pytest.fixture
def target(empty_url: str) -> Iterator[Database]:
    """Another database, empty."""
    opened = Database.open(empty_url)
    yield opened
    opened.close()


def ranked(service: Service, slug: str, judge: str, criteria: CriteriaSet) -> dict[str, list[object]]:
    ranking = service.leaderboard(View(slug, criteria=criteria, crm=judge), subscriber=None).ranking
    columns = ("rank", "win_rate", "ci_low", "ci_high", "rank_low", "rank_high", "category_win_rate")
    return {"llms": list(ranking.llms)} | {name: getattr(ranking, name).tolist() for name in columns}


def test_another_database_ranks_and_scores_alike(origin: Service, target: Database, tmp_path: Path) -> None:
    path = tmp_path / "daily.usl.zip"
    saved = save_bundle(origin.database, "dailybench", path)
    assert saved.note is None
    assert str(saved).startswith(
        "522 queries and 8 LLMs with texts, 3 criteria lists scored by embedded, "
        "3 criteria lists scored by longer ("
    )
    loaded = load_bundle(target, path, "theirs")
    assert (loaded.created, loaded.embedded.computed, loaded.embedded.current) == (True, 0, 522 * 8)
    assert not load_bundle(target, path, "theirs").created

    with target.session() as session:
        benchmark = benchmarks.find_benchmark(session, "theirs")
        again = bundles.export_bundle(session, benchmark, with_texts=True)
        assert benchmarks.get_benchmark(session, benchmark).bundle_digest is None
    assert replace(again, info=saved.bundle.info) == saved.bundle
    assert all(len(item.win_rates) == 7 * 13 for item in again.scores)
    theirs = Service(target)
    for judge in JUDGES:
        for criteria in CRITERIA:
            assert ranked(theirs, "theirs", judge, criteria) == ranked(origin, "dailybench", judge, criteria)


def test_scores_are_added_to_the_same_benchmark(
    origin: Service, own_service: Service, tmp_path: Path
) -> None:
    path = tmp_path / "daily.usl.zip"
    save_bundle(origin.database, "dailybench", path, with_texts=False, crms=["longer"])
    loaded = load_bundle(own_service.database, path)
    assert not loaded.created
    with own_service.database.session() as session:
        benchmark = benchmarks.find_benchmark(session, "dailybench")
        assert {stored.key.crm for stored in scores.list_scores(session, benchmark)} == {"longer"}
        assert benchmarks.get_benchmark(session, benchmark).bundle_digest is not None
    [summary] = score_benchmark(own_service.database, "dailybench", [get_crm("longer")], CRITERIA)
    assert (summary.judged, summary.stored) == (0, 3 * 522 * 7)


def test_another_benchmark_is_left_alone(origin: Service, target: Database, tmp_path: Path) -> None:
    path = tmp_path / "daily.usl.zip"
    save_bundle(origin.database, "dailybench", path)
    with target.session() as session:
        samples.store(session)
        before = samples.all_rows(session)
    with pytest.raises(DatabaseError, match="choose another slug with --benchmark"):
        load_bundle(target, path, samples.SLUG)
    with pytest.raises(PrecomputeError, match="is no slug"):
        load_bundle(target, path, "No Slug")
    with target.session() as session:
        assert samples.all_rows(session) == before


def test_what_is_left_out_is_left_out(origin: Service, tmp_path: Path) -> None:
    path = tmp_path / "daily.usl.zip"
    bare = save_bundle(origin.database, "dailybench", path, with_texts=False, crms=())
    assert str(bare).startswith("522 queries and 8 LLMs without texts (")
    assert not [name for name in zipfile.ZipFile(path).namelist() if "scores" in name or "win_rates" in name]
    some = save_bundle(origin.database, "dailybench", path, crms=["longer"])
    assert {item.key.crm for item in some.bundle.scores} == {"longer"}
    with pytest.raises(PrecomputeError, match=r"no scores of 'dailybench' by 'slow'; stored are those by"):
        save_bundle(origin.database, "dailybench", path, crms=["slow"])


@pytest.mark.parametrize(
    ("licence", "with_texts", "expected"),
    [
        ("MIT", None, (True, "")),
        ("MIT", False, (False, "")),
        ("CC BY-NC 4.0", None, (False, "texts are left out, as the licence 'CC BY-NC 4.0' is not known")),
        ("CC BY-NC 4.0", True, (True, "the licence 'CC BY-NC 4.0' is not known to allow passing the texts")),
        ("CC BY-NC 4.0", False, (False, "")),
    ],
)
def test_texts_go_where_the_licence_lets_them(
    database: Database, tmp_path: Path, licence: str, with_texts: bool | None, expected: tuple[bool, str]
) -> None:
    shipped, note = expected
    with database.session() as session:
        samples.store(session)
        benchmarks.upsert_benchmark(session, BenchmarkInfo("tiny", "Tiny", licence=licence))
    saved = save_bundle(database, "tiny", tmp_path / "tiny.usl.zip", with_texts=with_texts)
    bundle = read_bundle(tmp_path / "tiny.usl.zip")
    assert bool(bundle.responses) == any(query.text for query in bundle.queries) == shipped
    assert (saved.note or "").startswith(note)
    assert bool(saved.note) == bool(note)


def test_the_licence_that_a_file_gives_counts(database: Database, tmp_path: Path) -> None:
    with database.session() as session:
        samples.store(session)
    about = tmp_path / "about.json"
    about.write_text('{"licence": "all rights reserved"}')
    saved = save_bundle(database, "tiny", tmp_path / "tiny.usl.zip", about=about)
    assert saved.note is not None
    assert not saved.bundle.responses


@pytest.mark.parametrize("target", [Path(), Path("..")])
def test_a_folder_is_no_bundle_to_be_written(database: Database, target: Path) -> None:
    with pytest.raises(PrecomputeError, match=r"a folder: name a file, such as tiny\.usl\.zip"):
        save_bundle(database, "tiny", target)


def other_criteria(data: bytes) -> bytes:
    lines = [json.loads(line) for line in data.splitlines()]
    return b"".join(json.dumps(line | {"criteria": ["quite another"]}).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_criteria, r"scores\.jsonl: the key .*… is not that of its criteria"),
        (lambda data: data.replace(b'"text"', b'"txt"'), r"scores\.jsonl: A criterion is a text"),
    ],
)
def test_scores_of_other_criteria_are_refused(
    origin: Service,
    database: Database,
    tmp_path: Path,
    change: Callable[[bytes], bytes],
    message: str,
) -> None:
    path, changed = tmp_path / "daily.usl.zip", tmp_path / "changed.usl.zip"
    save_bundle(origin.database, "dailybench", path, with_texts=False)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(changed, "w") as archive:
        for name in source.namelist():
            data = source.read(name)
            archive.writestr(name, change(data) if name == "scores.jsonl" else data)
    with pytest.raises(BundleError, match=message):
        load_bundle(database, changed, "mine")
    with database.session() as session:
        assert samples.row_counts(session)["benchmark"] == 0


def test_a_bundle_of_an_older_representation_is_embedded_where_there_are_texts(
    database: Database, origin: Service, tmp_path: Path
) -> None:
    path = tmp_path / "daily.usl.zip"
    bundle = save_bundle(origin.database, "dailybench", path, crms=()).bundle
    few = bundle.queries[:2]
    ids = {query.external_id for query in few}
    write_bundle(
        path,
        replace(
            bundle,
            queries=few,
            representations={},
            query_representations={},
            responses={
                llm: {name: text for name, text in texts.items() if name in ids}
                for llm, texts in bundle.responses.items()
            },
        ),
    )
    assert load_bundle(database, path, "few").embedded.computed == 2 * 8
    with database.session() as session:
        assert (
            NAME
            in bundles.export_bundle(
                session, benchmarks.find_benchmark(session, "few"), with_texts=False
            ).representations
        )


ABOUT = Path(__file__).resolve().parents[2] / "bundled" / "about"


def write(folder: Path, about: object) -> Path:
    path = folder / "about.json"
    path.write_text(json.dumps(about))
    return path


def test_a_bundle_takes_over_what_the_file_says(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"title": "Small", "licence": "MIT", "titles": {"zeta": "Zeta 2", "base": "The base"}}
    )
    bundle = described(samples.bundle(), path)

    assert bundle.info == replace(samples.INFO, title="Small", licence="MIT")
    assert {llm.name: llm.title for llm in bundle.llms} == {
        "base": "The base",
        "zeta": "Zeta 2",
        "alpha": "Alpha",
    }
    assert [llm.note for llm in bundle.llms] == [llm.note for llm in samples.LLMS]
    assert bundle.queries == samples.bundle().queries


def test_an_empty_description_changes_nothing(tmp_path: Path) -> None:
    bundle = samples.bundle()
    unchanged = described(bundle, write(tmp_path, {}))

    assert (unchanged.info, unchanged.llms) == (bundle.info, bundle.llms)


def test_all_texts_of_a_benchmark_can_be_shipped_so_no_command_imports_them(tmp_path: Path) -> None:
    assert (
        described(samples.bundle(), write(tmp_path, {"text_import_command": None})).info.text_import_command
        is None
    )


@pytest.mark.parametrize("slug", ["dailybench", "alpaca-eval"])
def test_the_bundled_descriptions_name_licence_and_source(slug: str) -> None:
    about = json.loads((ABOUT / f"{slug}.json").read_text(encoding="utf-8"))

    assert about["title"]
    assert about["licence"]
    assert about["attribution"]


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ([], "not a JSON object"),
        ({"titles": ["Zeta"]}, "not a JSON object with titles by LLM"),
        ({"slug": "other"}, "the field 'slug' is none of title, description"),
        ({"license": "MIT"}, "the field 'license' is none of"),
        ({"titles": {"omega": "Omega"}}, "there is no LLM 'omega' in tiny"),
        ({"title": 5}, "title"),
        ({"licence": None}, "licence"),
        ({"titles": {"zeta": 5}}, "zeta"),
    ],
)
def test_anything_else_is_refused_with_file_and_reason(tmp_path: Path, about: object, reason: str) -> None:
    with pytest.raises(PrecomputeError, match=rf"about\.json.*{reason}"):
        described(samples.bundle(), write(tmp_path, about))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrecomputeError, match="cannot be read"):
        described(samples.bundle(), tmp_path / "absent.json")
    (tmp_path / "about.json").write_bytes(b'{"title": "\xff"}')
    with pytest.raises(PrecomputeError, match="not JSON"):
        described(samples.bundle(), tmp_path / "about.json")


@pytest.mark.parametrize(
    ("licence", "name"),
    [
        ("Apache License 2.0, like this project.", "Apache 2.0"),
        ("Apache-2.0", "Apache 2.0"),
        ("The Apache License, Version 2.0", "Apache 2.0"),
        ("CC BY 4.0", "CC BY"),
        ("CC-BY-SA-4.0", "CC BY-SA"),
        ("Creative Commons Attribution 4.0 International (CC BY 4.0)", "CC BY"),
        ("CC0", "CC0 1.0"),
        ("MIT", "MIT"),
        ("ODC-BY 1.0", "ODC-BY"),
    ],
)
def test_open_licences_are_known_by_how_they_begin(licence: str, name: str) -> None:
    assert redistributable_as(licence) == name


@pytest.mark.parametrize(
    "licence",
    [
        "",
        "all rights reserved",
        "CC BY-NC 4.0",
        "CC-BY-ND",
        "Creative Commons Attribution-NonCommercial 4.0 International (CC BY-NC 4.0), as its source.",
        "Creative Commons Attribution-NoDerivatives 4.0",
        "Apache License 1.1",
        "MITRE terms",
        "our own, similar to MIT",
    ],
)
def test_others_are_not(licence: str) -> None:
    assert redistributable_as(licence) is None
