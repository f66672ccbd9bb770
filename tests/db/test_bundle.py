import json
import zipfile
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.bundle import (
    Bundle,
    BundledScores,
    bundle_digest,
    bundle_slug,
    pack_rows,
    read_bundle,
    unpack_rows,
    write_bundle,
)
from db.errors import BundleError
from db.records import (
    BenchmarkInfo,
    CategoryTree,
    LLMRecord,
    QuerySource,
    SampleRecord,
    ScoreKey,
    StepCount,
    WinRateRecord,
)
from db.serialization import pack, text_sha256
from tests.db import samples

NAMES = st.text(min_size=1, max_size=6)
PAYLOADS = st.integers(0, 255).map(lambda number: pack({"phi": np.full(2, number, dtype=np.uint8)}))


@st.composite
def scores_of(draw, llms, categories, n_queries):
    keys = st.builds(ScoreKey, NAMES, NAMES, st.sampled_from("abc").map(lambda digit: digit * 64))
    found = []
    for key in draw(st.lists(keys, max_size=2, unique=True)):
        scored = draw(st.lists(st.sampled_from(llms), min_size=1, unique=True))
        shares = st.floats(0, 1)
        rates = draw(
            st.lists(
                st.builds(
                    WinRateRecord,
                    st.sampled_from(llms),
                    st.sampled_from(["", *categories]),
                    *[shares] * 4,
                    n_queries=st.integers(1, n_queries),
                ),
                unique_by=lambda rate: (rate.llm, rate.category),
                max_size=3,
            )
        )
        probs = st.lists(st.none() | st.floats(0, 1, width=32), min_size=n_queries, max_size=n_queries)
        rows = {llm: samples.score_row(*draw(probs)) for llm in scored}
        found.append(BundledScores(key, ("text", {"text": "t"}), pack_rows(llms, rows), tuple(rates)))
    return tuple(found)


SAMPLES = st.builds(
    SampleRecord,
    family=NAMES,
    version=st.integers(1, 9),
    digest=st.just("a" * 64),
    settings=st.dictionaries(NAMES, st.integers()),
    counts=st.lists(st.builds(StepCount, NAMES, st.integers(0, 9)), max_size=3).map(tuple),
)


@st.composite
def bundles(draw):
    tree = draw(
        st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=2, unique=True), min_size=1, max_size=2)
    )
    places = [(category, topic) for category, topics in tree.items() for topic in topics]
    llms = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    ids = draw(st.lists(NAMES, max_size=4, unique=True))
    texts = [draw(st.text(max_size=9)) for _ in ids]
    shipped = [draw(st.booleans()) for _ in ids]
    of_llms = st.dictionaries(st.sampled_from(llms), PAYLOADS, min_size=1)
    names = st.sampled_from(["style-1", "minilm.v2"])
    answers = st.dictionaries(st.sampled_from(ids), st.text(max_size=9)) if ids else st.just({})
    return Bundle(
        info=BenchmarkInfo(
            draw(NAMES), *(draw(st.text(max_size=5)) for _ in range(6)), draw(st.none() | st.text())
        ),
        baseline=draw(st.none() | st.sampled_from(llms)),
        categories=tuple(CategoryTree(category, tuple(topics)) for category, topics in tree.items()),
        llms=tuple(LLMRecord(name, draw(st.text(max_size=5)), draw(st.text(max_size=5))) for name in llms),
        queries=tuple(
            QuerySource(name, *draw(st.sampled_from(places)), text_sha256(text), text if with_text else None)
            for name, text, with_text in zip(ids, texts, shipped, strict=True)
        ),
        responses=draw(st.dictionaries(st.sampled_from(llms), answers)),
        representations=draw(st.dictionaries(names, of_llms)),
        query_representations=draw(st.dictionaries(names, PAYLOADS)),
        scores=draw(scores_of(llms, tuple(tree), len(ids))) if ids else (),
        sample=draw(st.none() | SAMPLES),
    )


@given(bundles())
def test_a_bundle_is_read_as_it_was_written(tmp_path_factory, bundle):
    path = tmp_path_factory.getbasetemp() / "property.usl.zip"
    write_bundle(path, bundle)
    assert read_bundle(path) == bundle
    assert bundle_slug(path) == bundle.info.slug


def test_scores_are_unpacked_as_they_were_packed():
    rows = {"zeta": samples.score_row(0.1, None, 0.3), "base": samples.score_row(None, None, 1)}
    unpacked = unpack_rows(["base", "zeta"], pack_rows(["base", "zeta"], rows), 3)
    assert list(unpacked) == ["base", "zeta"]
    for llm, row in rows.items():
        np.testing.assert_array_equal(unpacked[llm].prob, row.prob)
        np.testing.assert_array_equal(unpacked[llm].judged, row.judged)


def scored_bundle():
    rows = {"zeta": samples.score_row(0.1, 0.2, 0.3), "alpha": samples.score_row(0.4, 0.5, 0.6)}
    rates = tuple(WinRateRecord(llm, "Home", 0.5, 0.5, 0.25, 0.75, 2) for llm in rows)
    names = [llm.name for llm in samples.LLMS]
    scores = BundledScores(samples.KEY, ({"text": "short"},), pack_rows(names, rows), rates)
    sample = SampleRecord("tiny", 1, "a" * 64, {"seed": 0}, (StepCount("drawn", 3),))
    return replace(samples.bundle(), scores=(scores,), sample=sample)


def packed(llms, prob, judged=True):
    prob = np.array(prob, dtype=np.float32)
    return lambda _: pack(
        {"llms": np.array(llms), "prob": prob, "judged": np.full(prob.shape, judged, dtype=bool)}
    )


@pytest.mark.parametrize(
    ("member", "change", "message"),
    [
        ("scores.jsonl", lambda data: data * 2, r"scores/1\.npz is missing"),
        ("scores.jsonl", ('"crm"', '"judge"'), r'scores\.jsonl: "crm" is missing'),
        ("scores.jsonl", ("cccc", "CCCC"), r"scores\.jsonl: a \"criteria_key\" is no SHA-256"),
        (
            "scores.jsonl",
            ('[{"text": "short"}]', '"short"'),
            r'scores\.jsonl: "criteria" is missing or no list',
        ),
        ("scores/0.npz", lambda _: None, r"scores/0\.npz is missing"),
        ("scores/0.npz", lambda data: data[:-30], r"scores/0\.npz: The .* are not a readable set of arrays"),
        (
            "scores/0.npz",
            lambda _: pack({"phi": np.ones(3)}),
            r"scores/0\.npz: The stored arrays are no scores",
        ),
        (
            "scores/0.npz",
            packed([1], [[0.5, 0.5]]),
            r"scores/0\.npz: The scores are \(1, 2\), but there are 3",
        ),
        (
            "scores/0.npz",
            packed([3], [[0.5] * 3]),
            r"scores/0\.npz: The scores are of LLMs that are not there",
        ),
        ("scores/0.npz", packed([1, 1], [[0.5] * 3] * 2), r"scores/0\.npz: .* or of one twice"),
        ("scores/0.npz", packed([1], [[0.5, 1.5, 0]]), r"scores/0\.npz: The scores are no probabilities"),
        ("scores/0.npz", packed([1], [[0.5] * 3], False), r"scores/0\.npz: .* of pairs that were judged"),
        ("win_rates/0.jsonl", ('"zeta"', '"omega"'), r"win_rates/0\.jsonl: the LLM 'omega' is not in"),
        ("win_rates/0.jsonl", ('"Home"', '"Moon"'), r"win_rates/0\.jsonl: the category 'Moon' is not in"),
        ("win_rates/0.jsonl", ("0.75", "1.75"), r"win_rates/0\.jsonl: a win rate of 'zeta' is out of range"),
        ("win_rates/0.jsonl", ("0.75", "NaN"), r"win_rates/0\.jsonl: a win rate of 'zeta' is out of range"),
        ("win_rates/0.jsonl", ('"n_queries": 2', '"n_queries": 4'), r"win_rates/0\.jsonl: .* out of range"),
        ("win_rates/0.jsonl", ('"n_queries": 2', '"n_queries": 2.5'), r'"n_queries" is missing or no whole'),
        ("win_rates/0.jsonl", ("0.75", '"most"'), r'win_rates/0\.jsonl: "ci_high" is missing or no number'),
        ("win_rates/0.jsonl", ('"alpha"', '"zeta"'), r"the win rate 'zeta, Home' occurs twice"),
        ("sample.json", lambda _: b"{", r"sample\.json is not valid JSON"),
        (
            "sample.json",
            ('"version": 1', '"version": "1"'),
            r'sample\.json: "version" is missing or no whole',
        ),
        (
            "sample.json",
            ('"step"', '"stop"'),
            r'sample\.json: "step" is missing or no text in entry 1 of "counts"',
        ),
        (
            "sample.json",
            ('"settings"', '"setting"'),
            r"sample\.json holds something else where a JSON object belongs",
        ),
        ("win_rates/0.jsonl", ("0.75", "true"), r'win_rates/0\.jsonl: "ci_high" is missing or no number'),
    ],
)
def test_malformed_scores_are_refused_naming_the_member(tmp_path, member, change, message):
    source = tmp_path / "source.usl.zip"
    write_bundle(source, scored_bundle())
    path = rewritten(tmp_path, member, substituted(*change) if isinstance(change, tuple) else change, source)
    with pytest.raises(BundleError, match=message) as error:
        read_bundle(path)
    assert str(error.value).startswith(f"The bundle {path} is malformed: ")


def test_equal_bundles_give_equal_files(tmp_path):
    bundle = samples.bundle()
    shuffled = replace(
        bundle,
        responses=dict(reversed(bundle.responses.items())),
        representations={
            name: dict(reversed(payloads.items())) for name, payloads in bundle.representations.items()
        },
    )
    write_bundle(tmp_path / "a.usl.zip", bundle)
    write_bundle(tmp_path / "b.usl.zip", shuffled)
    assert (tmp_path / "a.usl.zip").read_bytes() == (tmp_path / "b.usl.zip").read_bytes()
    assert bundle_digest(tmp_path / "a.usl.zip") == bundle_digest(tmp_path / "b.usl.zip")
    write_bundle(tmp_path / "b.usl.zip", samples.bundle(with_texts=False))
    assert bundle_digest(tmp_path / "a.usl.zip") != bundle_digest(tmp_path / "b.usl.zip")


def test_arrays_that_the_database_does_not_compress_are_compressed_in_the_file(tmp_path):
    noise = np.random.default_rng(0).integers(-50, 50, (5_000, 120), dtype=np.int8)
    payload = pack({"noise": noise})
    bundle = replace(samples.bundle(), representations={"style-1": {"zeta": payload}})
    write_bundle(tmp_path / "tiny.usl.zip", bundle)
    assert (tmp_path / "tiny.usl.zip").stat().st_size < 0.95 * len(payload)
    assert read_bundle(tmp_path / "tiny.usl.zip") == bundle


def test_an_inconsistent_bundle_is_not_written(tmp_path):
    path = tmp_path / "a.usl.zip"
    write_bundle(path, samples.bundle())
    before = path.read_bytes()
    with pytest.raises(BundleError, match=r"manifest\.json: the baseline 'nobody' is none of its LLMs"):
        write_bundle(path, replace(samples.bundle(), baseline="nobody"))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_no_partial_file(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(OSError, match="disk full"):
        write_bundle(tmp_path / "a.usl.zip", samples.bundle())
    assert list(tmp_path.iterdir()) == []


def test_line_separators_inside_texts_end_no_line(tmp_path):
    text = "one\u2028two\u0085three\x0cfour"
    record = {"id": "q2", "category": "Home", "topic": "Cooking", "text": text, "sha256": text_sha256(text)}
    path = rewritten(
        tmp_path, "queries.jsonl", lambda _: json.dumps(record, ensure_ascii=False).encode() + b"\n"
    )
    assert "\u2028" in zipfile.ZipFile(path).read("queries.jsonl").decode()
    rewritten_again = rewritten(tmp_path, "responses/0.jsonl", lambda _: None, path)
    for index in (1, 2):
        rewritten_again = rewritten(tmp_path, f"responses/{index}.jsonl", lambda _: None, rewritten_again)
    assert [query.text for query in read_bundle(rewritten_again).queries] == [text]


def rewritten(folder, member: str, change: Callable[[bytes], bytes | None], source=None):
    """Writes a bundle with one member changed, added, or left out if the change returns None."""
    if source is None:
        source = folder / "source.usl.zip"
        write_bundle(source, samples.bundle())
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    changed = change(members.pop(member, b""))
    if changed is not None:
        members[member] = changed
    path = folder / "changed.usl.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def edited(**fields):
    return lambda data: json.dumps(json.loads(data) | fields).encode()


def substituted(old: str, new: str):
    return lambda data: data.replace(old.encode(), new.encode(), 1)


MALFORMED = {
    "no manifest": ("manifest.json", lambda _: None, "manifest.json is missing"),
    "no queries": ("queries.jsonl", lambda _: None, "queries.jsonl is missing"),
    "bad JSON": ("manifest.json", lambda _: b"{", "manifest.json is not valid JSON"),
    "not UTF-8": ("manifest.json", lambda _: b"\xff\xfe\xfd", "manifest.json is not valid JSON"),
    "list for object": ("manifest.json", lambda _: b"[]", "manifest.json holds something else"),
    "wrong version": ("manifest.json", edited(format_version=2), "manifest.json: the format version is 2"),
    "empty slug": ("manifest.json", edited(slug=""), "manifest.json: the slug is empty"),
    "no title": ("manifest.json", edited(title=None), 'manifest.json: "title" is missing or no text'),
    "LLMs no list": ("manifest.json", edited(llms={}), 'manifest.json: "llms" is missing or no list'),
    "topics no list": (
        "manifest.json",
        edited(categories=[{"name": "A", "topics": 1}]),
        'manifest.json: "topics" is missing or no list in entry 1 of "categories"',
    ),
    "topic no text": (
        "manifest.json",
        edited(categories=[{"name": "A", "topics": ["B", 1]}]),
        'manifest.json: entry 2 of "topics" is no text in entry 1 of "categories"',
    ),
    "LLM no object": ("manifest.json", edited(llms=["a"]), "manifest.json holds something else where a JSON"),
    "line no object": ("queries.jsonl", lambda data: data + b"[]", "a JSON object belongs in line 4"),
    "fewer LLMs": (
        "manifest.json",
        edited(llms=[], baseline=None),
        "responses/0.jsonl: manifest.json has only 0",
    ),
    "LLM twice": ("manifest.json", substituted('"zeta"', '"alpha"'), "the LLM 'alpha' occurs twice"),
    "topic twice": (
        "manifest.json",
        substituted('"Garden"', '"Cooking"'),
        "the topic of 'Home' 'Cooking' occurs",
    ),
    "unknown baseline": ("manifest.json", edited(baseline="x"), "the baseline 'x' is none of its LLMs"),
    "unknown category": (
        "queries.jsonl",
        substituted('"Home"', '"Moon"'),
        "query 'q2' is of the category 'Moon'",
    ),
    "unknown topic": (
        "queries.jsonl",
        substituted('"Cooking"', '"Mail"'),
        "query 'q2' is of the topic 'Mail'",
    ),
    "query twice": (
        "queries.jsonl",
        substituted('"q1"', '"q2"'),
        "queries.jsonl: the query 'q2' occurs twice",
    ),
    "no id": (
        "queries.jsonl",
        substituted('"id"', '"uid"'),
        'queries.jsonl: "id" is missing or no text in line 1',
    ),
    "other text": ("queries.jsonl", substituted("boil", "fry"), "query 'q2' has a text that does not fit"),
    "short hash": (
        "queries.jsonl",
        substituted('"sha256": "', '"sha256": "z'),
        "query 'q2' has no SHA-256 of 64",
    ),
    "unknown query": (
        "responses/1.jsonl",
        substituted('"q1"', '"q9"'),
        "responses/1.jsonl: there is no query 'q9'",
    ),
    "LLM out of range": (
        "responses/3.jsonl",
        lambda _: b"",
        "responses/3.jsonl: manifest.json has only 3 LLMs",
    ),
    "arrays out of range": (
        "representations/style-1/7.npz",
        lambda _: pack({}),
        "representations/style-1/7.npz: manifest.json has only 3 LLMs",
    ),
    "damaged arrays": (
        "representations/style-1/1.npz",
        lambda data: data[:-30],
        "representations/style-1/1.npz: The .* stored bytes are not a readable set of arrays",
    ),
    "odd name": (
        "representations/a b/0.npz",
        lambda _: pack({}),
        "representations: 'a b' is no name of letters",
    ),
}


@pytest.mark.parametrize(("member", "change", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_bundle_is_refused_naming_the_member(tmp_path, member, change, message):
    path = rewritten(tmp_path, member, change)
    with pytest.raises(BundleError, match=message) as error:
        read_bundle(path)
    assert str(error.value).startswith(f"The bundle {path} is malformed: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"version": 1', f'"version": {10**30}'), '"version" is missing or no whole number that can be'),
        (('"kept": ', '"kept": -'), '"kept" is missing or no whole number that can be stored'),
        (('"settings": {', '"settings": {"a": 1e999, '), "a number that is infinite, or too large"),
        (('"settings": {', '"settings": {"a": NaN, '), "a number that is infinite, or too large"),
        (('"settings": {', f'"settings": {{"a": {"9" * 4000}, '), "a number of more than 300 digits"),
        (('"settings": {', f'"settings": {{"a": {"[" * 150 + "]" * 150}, '), "nested too deeply"),
    ],
)
def test_numbers_that_cannot_be_stored_are_refused(tmp_path, change, message):
    write_bundle(tmp_path / "source.usl.zip", scored_bundle())
    path = rewritten(tmp_path, "sample.json", substituted(*change), tmp_path / "source.usl.zip")
    with pytest.raises(BundleError, match=rf"sample\.json: {message}"):
        read_bundle(path)


def test_a_member_with_a_number_of_thousands_of_digits_is_left_alone(tmp_path):
    path = rewritten(tmp_path, f"responses/{'9' * 5000}.jsonl", lambda _: b"")
    assert read_bundle(path) == samples.bundle()


@pytest.mark.parametrize("read", [read_bundle, bundle_slug])
def test_a_bundle_that_unpacks_without_end_is_refused_unread(tmp_path, read):
    path = tmp_path / "a.usl.zip"
    write_bundle(path, samples.bundle())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("bomb", "w") as member:
        for _ in range(65):
            member.write(bytes(2**20))
    with pytest.raises(BundleError, match="unpacks to more than 64 MB, or is packed suspiciously well"):
        read(path)


def test_unknown_members_are_left_alone(tmp_path):
    path = rewritten(tmp_path, "scores/0.npz", lambda _: b"of a later version")
    assert read_bundle(path) == samples.bundle()


def test_a_damaged_member_is_named(tmp_path):
    path = tmp_path / "a.usl.zip"
    write_bundle(path, samples.bundle())
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        data[archive.getinfo("queries.jsonl").header_offset + 60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(BundleError, match=r"queries\.jsonl is damaged"):
        read_bundle(path)


@pytest.mark.parametrize("read", [read_bundle, bundle_slug])
def test_other_files_are_refused(tmp_path, read):
    (tmp_path / "text").write_text("no zip")
    with pytest.raises(BundleError, match="is not a zip file"):
        read(tmp_path / "text")
    with pytest.raises(BundleError, match=r"Cannot read the bundle .*: No such file"):
        read(tmp_path / "absent")


def test_the_digest_of_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BundleError, match=r"Cannot read the bundle .*: No such file"):
        bundle_digest(tmp_path / "absent")
