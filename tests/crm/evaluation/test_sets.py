import json
from dataclasses import replace
from pathlib import Path

import pytest

from crm.baselines import LongerCRM
from crm.criteria import CriteriaSet, Criterion, Polarity, Weight
from crm.data.pairs import LabelledPair, read_annotations
from crm.data.taxonomy import criterion_clusters
from crm.errors import CRMError
from crm.evaluation.sets import MANIFEST, TABLE, Subset, build_sets, read_manifest, read_sets, write_sets
from crm.protocol import Pair, Question
from tests.crm.evaluation.samples import CLUSTERS, FACTS, PAIRS, small_sets

SETS = build_sets(PAIRS, LongerCRM(), CLUSTERS)


def preferred(sample: LabelledPair) -> str:
    pair = sample.question.pair
    return pair.response_a if sample.label > 0 else pair.response_b


def other(sample: LabelledPair) -> str:
    pair = sample.question.pair
    return pair.response_b if sample.label > 0 else pair.response_a


@pytest.mark.parametrize("kind", TABLE)
def test_plus_prefers_what_the_general_judge_favours_and_minus_the_other(kind: str) -> None:
    plus, *minus = TABLE["topic" if kind == "topic" else "criterion"]

    assert SETS[plus]
    assert all(len(preferred(sample)) > len(other(sample)) for sample in SETS[plus])
    for subset in minus:
        assert SETS[subset]
        assert all(len(preferred(sample)) < len(other(sample)) for sample in SETS[subset])


def test_topics_are_those_of_dev_in_both_directions_with_whole_lists() -> None:
    for subset, *lists in (
        (Subset.TOPIC_PLUS, ["detailed", "thorough", "deep", "dates"]),
        (Subset.TOPIC_MINUS, ["concise", "brief", "rhyming"], ["short", "to the point", "poetic"]),
    ):
        assert [sample.id for sample in SETS[subset]] == list(range(8))
        assert {sample.split for sample in SETS[subset]} == {"dev"}
        assert {sample.question.criteria for sample in SETS[subset]} == set(map(CriteriaSet.of, lists))


def test_criteria_are_of_held_out_clusters_only_and_dev_comes_first() -> None:
    for subset, *lists in (
        (Subset.CRITERION_PLUS, "dates; sources"),
        (Subset.CRITERION_MINUS, "rhyming; in verse; Avoid: numbers", "poetic; lyrical; Avoid: numbers"),
    ):
        assert {str(sample.question.criteria) for sample in SETS[subset]} == set(lists)
        assert [sample.split for sample in SETS[subset]] == ["dev"] * 8 + ["train"] * 12


def test_both_directions_of_a_pair_show_it_in_the_same_order() -> None:
    for names in TABLE.values():
        shown = [{sample.id: sample.question.pair for sample in SETS[name]} for name in names]
        assert all(pairs[index] == shown[0][index] for pairs in shown for index in pairs)


@pytest.mark.parametrize("subset", [Subset.TOPIC_PLUS, Subset.TOPIC_MINUS, Subset.CRITERION_PLUS])
def test_labels_are_balanced(subset: Subset) -> None:
    assert sum(sample.label for sample in SETS[subset]) == 0


def test_noise_is_in_every_noised_list_and_lists_too_short_for_it_are_left_out() -> None:
    lengths = {
        subset: {len(sample.question.criteria) for sample in SETS[subset]}
        for subset in Subset
        if subset is not Subset.SINGLE
    }

    assert [lengths[subset] for subset in TABLE["topic"]] == [{4}, {3}, {2}, {4}, {3}]
    assert [lengths[subset] for subset in TABLE["criterion"]] == [{2}, {3}, {2}, {4}, {3}]
    plain = {sample.id: sample.question.criteria for sample in SETS[Subset.TOPIC_MINUS]}
    assert all(sample.question.criteria != plain[sample.id] for sample in SETS[Subset.TOPIC_REPLACE])

    brief = CriteriaSet.of(["brief", "short"])
    two = [
        (replace(one, criteria=brief, extra=()), replace(other, opposite=brief)) for one, other in PAIRS[1:3]
    ]
    assert build_sets(two, LongerCRM(), CLUSTERS)[Subset.TOPIC_REPLACE] == []


def test_replacement_takes_criteria_of_the_other_side() -> None:
    for sample in SETS[Subset.TOPIC_REPLACE]:
        texts = {item.text for item in sample.question.criteria}
        assert len(texts & {"detailed", "thorough", "deep", "dates"}) == 1
        assert len(texts - {"detailed", "thorough", "deep", "dates"}) == 2


def test_addition_shuns_the_clusters_of_the_other_side() -> None:
    opposite = set(CLUSTERS.clusters[1].criteria) | set(FACTS)
    for sample in SETS[Subset.TOPIC_ADD]:
        assert opposite.isdisjoint(item.text for item in sample.question.criteria)


def test_single_criteria_are_those_of_dev_and_held_out_keywords_and_avoids() -> None:
    kinds: dict[str, list[LabelledPair]] = {}
    for sample in SETS[Subset.SINGLE]:
        kinds.setdefault(sample.kind, []).append(sample)

    assert {len(sample.question.criteria) for sample in SETS[Subset.SINGLE]} == {1}
    assert len(kinds["criterion"]) == 8 * 7
    assert {sample.split for sample in kinds["criterion"]} == {"dev"}
    held_out = [sample for kind in ("keyword", "avoid") for sample in kinds[kind] if sample.split == "train"]
    assert {str(sample.question.criteria) for sample in held_out} == {
        *("in verse", "lyrical", "sources", "Avoid: numbers"),
    }


def test_the_same_seed_gives_the_same_sets() -> None:
    assert build_sets(PAIRS, LongerCRM(), CLUSTERS) == SETS
    assert build_sets(PAIRS, LongerCRM(), CLUSTERS, seed=1) != SETS


def test_annotations_without_new_topics_are_refused() -> None:
    with pytest.raises(CRMError, match="no pair in the split dev"):
        build_sets(PAIRS[8:], LongerCRM(), CLUSTERS)


@pytest.mark.parametrize(
    ("subset", "label"),
    [
        (Subset.TOPIC_PLUS, "T+"),
        (Subset.CRITERION_MINUS, "C−"),
        (Subset.TOPIC_REPLACE, "T− replace"),
        (Subset.SINGLE, "single criteria"),
    ],
)
def test_tables_name_the_sets_as_the_paper_does(subset: Subset, label: str) -> None:
    assert subset.label == label


@pytest.mark.corpora
def test_the_real_annotations_give_the_sets_of_the_paper(corpora: Path) -> None:
    annotations = corpora.parent / "preferences" / "criteria_annotations.jsonl"
    clusters = criterion_clusters()
    sets = build_sets(read_annotations(annotations, corpora), LongerCRM(), clusters)

    assert len(sets[Subset.TOPIC_PLUS]) == len(sets[Subset.TOPIC_MINUS]) == 182
    for names in TABLE.values():
        for name in names:
            assert len(sets[name]) >= 60
            assert 0.4 < sum(sample.label > 0 for sample in sets[name]) / len(sets[name]) < 0.6
    for name in TABLE["criterion"][:3]:
        texts = {item.text for sample in sets[name] for item in sample.question.criteria}
        assert texts <= clusters.held_out
    assert {sample.split for name in TABLE["topic"] for sample in sets[name]} == {"dev"}
    assert {"criterion", "keyword", "avoid"} == {sample.kind for sample in sets[Subset.SINGLE]}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    read = small_sets(tmp_path / "sets")

    for subset, samples in SETS.items():
        assert [(item.id, item.question, item.label, item.kind) for item in read.sets[subset]] == [
            (sample.id, sample.question, sample.label, sample.kind) for sample in samples
        ]


def test_lines_are_crm_training_data(tmp_path: Path) -> None:
    small_sets(tmp_path)
    line = json.loads((tmp_path / "criterion_minus.jsonl").read_text().splitlines()[1])
    sample = SETS[Subset.CRITERION_MINUS][1]
    pair = sample.question.pair

    assert line == {
        "idx": 1,
        "prompt": "Query 1",
        "model_a": [
            {"role": "user", "content": "Query 1"},
            {"role": "assistant", "content": pair.response_a},
        ],
        "model_b": [
            {"role": "user", "content": "Query 1"},
            {"role": "assistant", "content": pair.response_b},
        ],
        "criteria": ["rhyming", "in verse", "Avoid: numbers"],
        "preference": "model_a" if sample.label > 0 else "model_b",
        "split": "dev",
    }


@pytest.mark.parametrize(
    "criterion",
    [
        Criterion("avoid the passive voice"),
        Criterion("x" * 300, polarity=Polarity.AVOID),
        Criterion("brief", Weight.OPTIONAL),
        Criterion("- not a list"),
    ],
)
def test_criteria_that_a_plain_text_would_change_are_objects(tmp_path: Path, criterion: Criterion) -> None:
    question = Question(
        CriteriaSet((criterion,)), Pair("q", "half a pair \ud83d, a line\u2028separator", "b")
    )
    sets = {subset: [] for subset in Subset} | {
        Subset.TOPIC_PLUS: [LabelledPair(question.pair, question.criteria, 1.0, id=0, split="dev")]
    }
    write_sets(tmp_path, sets, 0, "longer 1")
    [read] = read_sets(tmp_path).sets[Subset.TOPIC_PLUS]

    assert read.question.criteria == question.criteria
    assert read.question.pair.response_a == "half a pair ?, a line\u2028separator"


def test_the_manifest_describes_every_set(tmp_path: Path) -> None:
    manifest = small_sets(tmp_path).manifest
    plus = manifest.statistics[0]

    assert [entry.subset for entry in manifest.statistics] == [subset.value for subset in SETS]
    assert (plus.samples, plus.turns, plus.criteria, plus.from_dev) == (8, 2.0, 4.0, 8)
    assert (plus.label_a, plus.label_b) == (4, 4)
    assert (manifest.seed, manifest.general) == (0, "longer 1")
    assert read_manifest(tmp_path) == manifest


def test_equal_sets_have_equal_digests_and_others_do_not(tmp_path: Path) -> None:
    one = write_sets(tmp_path / "one", SETS, 0, "longer 1")
    same = write_sets(tmp_path / "same", SETS, 0, "longer 1")
    fewer = write_sets(tmp_path / "fewer", {**SETS, Subset.TOPIC_PLUS: SETS[Subset.TOPIC_PLUS][1:]}, 0, "")

    assert one.digest == same.digest != fewer.digest


def test_a_folder_without_sets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CRMError, match=r"no evaluation sets in .*absent: make them with"):
        read_sets(tmp_path / "absent")


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    small_sets(tmp_path)
    with (tmp_path / "topic_plus.jsonl").open("a") as lines:
        lines.write("\n")
    with pytest.raises(CRMError, match=r"topic_plus\.jsonl is not as it was written"):
        read_sets(tmp_path)


def test_a_lost_file_is_refused(tmp_path: Path) -> None:
    small_sets(tmp_path)
    (tmp_path / "single.jsonl").unlink()
    with pytest.raises(CRMError, match=r"single\.jsonl"):
        read_sets(tmp_path)


@pytest.mark.parametrize(
    "content", ["{", "{}", '{"seed": 0, "general": "", "statistics": [1], "digests": {}}']
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(CRMError, match=r"manifest\.json cannot be read"):
        read_sets(tmp_path)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(CRMError, match="cannot be written"):
        write_sets(taken, SETS, 0, "longer 1")
