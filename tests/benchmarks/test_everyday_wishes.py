"""The wordings by which the reading of wishes is measured."""

import re
import tomllib

from benchmarks.everyday_wishes import WISHES
from crm.training.concepts import read_concept_wishes


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_no_judge_is_trained_on_them() -> None:
    listed = tomllib.loads(WISHES.read_text("utf-8"))
    wordings = {_plain(text) for kind in listed.values() for wish in kind for text in wish["wordings"]}

    assert len(wordings) > 200
    assert not wordings & {_plain(wish.text) for wish in read_concept_wishes()}
