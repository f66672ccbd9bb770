"""Profiles as files, and under private links."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.criteria import MAX_CRITERIA, MAX_LENGTH, CriteriaSet, Criterion, Polarity, Weight
from db import Database
from db.serialization import storable_text
from leaderboard.__main__ import main
from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.statistics.style_control import Control
from leaderboard.user_data import profiles
from leaderboard.user_data.profiles import FORMAT, Profile, ProfileStore
from leaderboard.view import TopicWeight, View, read_interests
from tests.conftest import Run
from tests.db.conftest import database, postgres, postgres_template, sqlite_template

__all__ = ["database", "postgres", "postgres_template", "sqlite_template"]

VIEW = View(
    "dailybench",
    ("Arts & Culture",),
    CriteriaSet((Criterion("Warm", Weight.OPTIONAL), Criterion("marketing|words", polarity=Polarity.AVOID))),
    soft=True,
)
CRITERIA = st.lists(
    st.builds(
        Criterion,
        st.text(min_size=1, max_size=30).map(lambda text: f"a{text}"),
        st.sampled_from(Weight),
        st.sampled_from(Polarity),
    ),
    max_size=4,
).map(lambda criteria: CriteriaSet(tuple(criteria)))
VIEWS = st.builds(
    View,
    benchmark=st.text(min_size=1, max_size=9).map(storable_text),
    topics=st.lists(st.text(min_size=1, max_size=9).map(storable_text), max_size=3, unique=True).map(tuple),
    criteria=CRITERIA,
    soft=st.booleans(),
    control=st.sampled_from(Control),
    topic_weights=st.dictionaries(
        st.text("abc =é", min_size=1, max_size=5).filter(lambda name: name == name.strip()),
        st.floats(0, 100),
        max_size=3,
    ).map(lambda weights: tuple(TopicWeight(name, weight) for name, weight in weights.items())),
    interests=st.lists(st.text("abc ,", min_size=1, max_size=9), max_size=3).map(read_interests),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abc"), inner, max_size=2),
    max_leaves=5,
)


def written(payload: object) -> bytes:
    return json.dumps(payload).encode()


def test_a_profile_is_a_readable_file() -> None:
    assert json.loads(Profile.of(VIEW).to_text()) == {
        "format": "usl-profile",
        "version": 1,
        "benchmark": "dailybench",
        "topics": ["Arts & Culture"],
        "criteria": [
            {"text": "Warm", "weight": "Optional", "polarity": "want"},
            {"text": "marketing|words", "weight": "Essential", "polarity": "avoid"},
        ],
        "settings": {"soft": ["1"]},
    }


@given(VIEWS)
def test_a_view_comes_back_from_its_file(view: View) -> None:
    profile = Profile.of(view)
    assert profile.view == view
    assert Profile.read(profile.to_text().encode(), "p.json") == profile


@given(VIEWS, st.dictionaries(st.sampled_from(["learnt", "topic_weights", "x"]), JSON))
def test_unknown_keys_stay_through_changes_and_files(view: View, unknown: dict[str, object]) -> None:
    payload = {**Profile.of(VIEW).payload, **unknown}
    payload["settings"] = {"soft": ["1"], "later": ["a", "b"], "odd": 3}
    payload["criteria"] = [{"text": "Warm", "learnt": 0.25}]
    changed = Profile.read(written(payload), "p.json").with_view(view)
    again = Profile.read(changed.to_text().encode(), "p.json")

    assert again.view == view
    assert {key: again.payload[key] for key in unknown} == unknown
    assert again.payload["settings"]["later"] == ["a", "b"]
    assert again.payload["settings"]["odd"] == 3
    assert ("soft" in again.payload["settings"]) == view.soft


def test_what_is_known_of_a_criterion_goes_with_it() -> None:
    payload = {**Profile.of(VIEW).payload, "criteria": [{"text": "Warm", "learnt": 0.25}, "Avoid marketing"]}
    weighted = CriteriaSet((Criterion("Warm", Weight.IMPORTANT), Criterion("New")))
    changed = Profile.from_json(payload).with_view(replace(VIEW, criteria=weighted))
    assert changed.payload["criteria"] == [
        {"text": "Warm", "learnt": 0.25, "weight": "Important", "polarity": "want"},
        {"text": "New", "weight": "Essential", "polarity": "want"},
    ]


def test_the_largest_criteria_fit() -> None:
    texts = [f"{number:03}{'語' * (MAX_LENGTH - 3)}" for number in range(MAX_CRITERIA)]
    profile = Profile.of(View(criteria=CriteriaSet.of(texts)))
    assert Profile.read(profile.to_text().encode(), "p.json").view.criteria == CriteriaSet.of(texts)


HEAD = {"format": FORMAT, "version": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG", "p.json: this is not valid JSON in UTF-8"),
        (b"[" * 9999, "not valid JSON"),
        (b'{"format": "usl-profile", "version": 1, "x": NaN}', "not valid JSON"),
        (b'{"format": "usl-profile", "version": 1, "x": 1e999}', "not valid JSON"),
        (b'{"format": "usl-profile", "version": 1, "x": "\\ud800"}', "not valid JSON"),
        (b" " * (512 * 1024 + 1), "larger than 512 kB"),
        (b"[]", "this is not a profile"),
        (b"{}", "this is not a profile"),
        (written({"format": FORMAT, "version": True}), "its version is True"),
        (written({"format": FORMAT, "version": 2}), "it is of version 2; this program reads up to 1"),
        (written({**HEAD, "benchmark": 1}), "'benchmark' is not a text"),
        (written({**HEAD, "topics": "Soup"}), "'topics' is not a list of texts"),
        (written({**HEAD, "settings": []}), "'settings' is not an object"),
        (written({**HEAD, "criteria": {}}), "The criteria are not a list"),
        (written({**HEAD, "criteria": [{"text": "a", "weight": "huge"}]}), "The weight 'huge' is unknown"),
        (written({**HEAD, "criteria": [" "]}), "A criterion is empty"),
    ],
)
def test_what_is_no_profile_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(UploadError, match=message):
        Profile.read(content, "p.json")


def test_a_private_link_opens_updates_and_deletes(database: Database) -> None:
    store = ProfileStore(database)
    token, saved = store.save(Profile.of(VIEW))
    assert store.open(token) == saved

    narrower = Profile.of(replace(VIEW, criteria=CriteriaSet()))
    updated = store.update(token, narrower, saved)
    assert store.open(token) == updated
    assert updated.profile == narrower

    store.delete(token)
    for use in (store.open, store.delete, lambda token: store.update(token, narrower, updated)):
        with pytest.raises(LeaderboardError, match="opens no profile"):
            use(token)


def test_a_change_made_elsewhere_is_not_overwritten(database: Database) -> None:
    store = ProfileStore(database)
    token, saved = store.save(Profile.of(VIEW))
    store.update(token, Profile.of(View()), saved)
    with pytest.raises(LeaderboardError, match="changed elsewhere"):
        store.update(token, Profile.of(replace(VIEW, soft=False)), saved)
    assert store.open(token).profile == Profile.of(View())


def test_tokens_are_long_differ_and_are_not_stored(database: Database) -> None:
    store = ProfileStore(database)
    tokens = [store.save(Profile.of(VIEW))[0] for _ in range(3)]
    assert len(set(tokens)) == 3
    assert min(map(len, tokens)) == 43
    with database.engine.connect() as connection:
        stored = str(connection.exec_driver_sql("SELECT * FROM profile").all())
    assert not any(token in stored for token in tokens)


@pytest.mark.parametrize("token", ["", "x", "a" * 44, "é" * 43, "' OR 1=1 --"])
def test_what_is_no_token_opens_nothing(database: Database, token: str) -> None:
    with pytest.raises(LeaderboardError, match="opens no profile") as refused:
        ProfileStore(database).open(token)
    assert "OR 1" not in str(refused.value)


def test_there_is_room_for_so_many(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "MAX_PROFILES", 1)
    store = ProfileStore(database)
    token, _ = store.save(Profile.of(VIEW))
    with pytest.raises(LeaderboardError, match="no room for more profiles"):
        store.save(Profile.of(VIEW))
    monkeypatch.setattr(profiles, "UNUSED_DAYS", 0)
    store.save(Profile.of(VIEW))
    with pytest.raises(LeaderboardError, match="opens no profile"):
        store.open(token)


def test_a_profile_that_is_too_large_is_not_stored(database: Database) -> None:
    large = Profile({**Profile.of(VIEW).payload, "unknown": "x" * 600_000})
    with pytest.raises(LeaderboardError, match="larger than 512 kB"):
        ProfileStore(database).save(large)


def test_the_command_line_ranks_by_a_downloaded_profile(run_main: Run, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text(Profile.of(replace(VIEW, soft=False)).to_text(), encoding="utf-8")
    same = ["--benchmark", "dailybench", "--topic", "Arts & Culture"]
    code, by_profile, _ = run_main(main, "rank", "--profile", file, "--format", "csv")
    assert code == 0
    assert by_profile.splitlines()[0].endswith(",Arts & Culture")

    crowd = run_main(main, "rank", *same, "--format", "csv")[1]
    assert by_profile != crowd
    both = [*same, "--criterion", "Concise and direct", "--format", "csv"]
    concise = run_main(main, "rank", *both)[1]
    assert run_main(main, "rank", "--profile", file, *both[4:])[1] == concise


def test_what_is_asked_for_beside_a_profile_counts_also_where_it_is_the_default(
    run_main: Run, tmp_path: Path
) -> None:
    file = tmp_path / "profile.json"
    file.write_text(Profile.of(View("dailybench", crm="longer")).to_text(), encoding="utf-8")
    arguments = ["--benchmark", "alpaca-eval", "--crm", "embedded", "--format", "csv"]
    assert run_main(main, "rank", "--profile", file, *arguments) == run_main(main, "rank", *arguments)


def test_a_file_that_is_no_profile_is_refused_on_the_command_line(run_main: Run, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    code, printed, complaint = run_main(main, "rank", "--profile", file)
    assert (code, printed) == (2, "")
    assert "it cannot be read (No such file or directory)" in complaint
    file.write_text("{}")
    code, _, complaint = run_main(main, "rank", "--profile", file)
    assert code == 2
    assert "this is not a profile" in complaint
