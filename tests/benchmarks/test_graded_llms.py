"""Wishes for which readers graded LLMs."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.graded_llms import GRADED, GradedWish, answers_of, measured, preferred, read_graded_wishes
from crm.data.corpora import CorporaTexts
from crm.data.pairs import MODERN_ANNOTATIONS
from crm.embedded.model import embedded_crm
from crm.errors import CRMError
from crm.training.comparisons import ALL_COMPARISONS
from crm.training.concepts import read_concept_wishes
from crm.training.mixtures import read_weighed_wishes

ROW = {
    "wish": "short",
    "source": "s",
    "prompts": ["p"],
    "llms": ["terse", "wordy"],
    "grades": [[9, 1], [8, 2]],
}


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_nothing_is_trained_on_their_words_and_prompts() -> None:
    graded = read_graded_wishes(GRADED)
    assert len(graded) == 28
    assert all(len(wish.known_orders()) >= 10 for wish in graded)

    trained = {_plain(wish.text) for wish in (*read_concept_wishes(), *read_weighed_wishes())}
    assert not {_plain(wish.wish) for wish in graded if len(wish.wish.split()) > 3} & trained
    compared = {
        row["prompt_id"]
        for path in (*ALL_COMPARISONS, MODERN_ANNOTATIONS)
        for row in map(json.loads, path.read_text("utf-8").splitlines())
        if row["split"] == "train" and "prompt_id" in row
    }
    assert not {prompt for wish in graded for prompt in wish.prompts} & compared


def test_only_orders_that_both_readers_see_are_known() -> None:
    wish = GradedWish("warm", "s", ("p",), ("a", "b", "c"), np.array([[9.0, 5.0, 5.5], [8.0, 7.5, 4.0]]))
    assert set(wish.known_orders()) == {(0, 1), (0, 2)}


@pytest.mark.parametrize(
    "change", [{"grades": [[1, 2, 3]]}, {"prompts": []}, {"grades": "high"}, {"llms": 3}]
)
def test_a_row_that_is_none_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "graded.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(ROW | change) + "\n", "utf-8")
    with pytest.raises(CRMError, match=r"graded\.jsonl, row 2: "):
        read_graded_wishes(path)


def test_a_judge_is_held_against_the_readers(tmp_path: Path) -> None:
    folder = tmp_path / "modern_llms" / "s"
    folder.mkdir(parents=True)
    answers = {"terse": "Yes.", "wordy": "Well, there is a great deal to be said about this question. " * 9}
    with gzip.open(folder / "responses.jsonl.gz", "wt", encoding="utf-8") as file:
        for llm, response in answers.items():
            file.write(
                json.dumps({"prompt_id": "p", "prompt": "So?", "llm": llm, "response": response}) + "\n"
            )
    wish = GradedWish("short answers", "s", ("p",), ("terse", "wordy"), np.array([[9.0, 1.0], [8.0, 2.0]]))
    texts = CorporaTexts(tmp_path)

    won = preferred(embedded_crm(), wish, answers_of(wish, texts))
    assert won[0] > 0.7
    assert won.sum() == pytest.approx(1.0)
    one, total = measured(embedded_crm(), [wish], texts)
    assert one == ("short answers", "1.00", "1.00", "1 of 1", "1", "-1.00", "-1.00")
    assert total[2:] == (
        *("1.00 (1.00 to 1.00)", "1 of 1 (1.000)", "1 first, 1 first or second"),
        *("|1.00|", "|1.00|"),
    )
    [alone, _] = measured(embedded_crm(), [replace(wish, grades=wish.grades[:1])], texts)
    assert alone[1] == "–"
