"""What tells criteria that no text shows from others is fitted to wishes of each kind."""

from collections.abc import Sequence

import numpy as np
import pytest

from crm.data.clustering import read_criteria_lists
from crm.data.pairs import MODERN_ANNOTATIONS
from crm.embedded.validity import JUDGEABLE, REASONS, ScopeClassifier
from crm.training.concepts import PARTICULAR, read_concept_wishes
from crm.training.safeguards import fit_scope_classifier

UNSEEN = ["sold my chats to advertisers", "assembled in Sweden by robots", "won a prize in Geneva"]
FAIR = ["ends with a short summary", "cheerful and lively", "mentions the price of each option"]


@pytest.fixture(scope="module")
def fair() -> Sequence[Sequence[str]]:
    wishes = read_concept_wishes()
    return (
        [text for each in read_criteria_lists(MODERN_ANNOTATIONS, "train")[:400] for text in each],
        [wish.text for wish in wishes if wish.concept is not None and not wish.foreign][:800],
        [wish.text for wish in wishes if wish.source == PARTICULAR][:400],
    )


@pytest.fixture(scope="module")
def scope(fair: Sequence[Sequence[str]]) -> ScopeClassifier:
    return fit_scope_classifier(fair, folds=2)


def test_wishes_that_it_has_not_seen_are_told_apart(scope: ScopeClassifier) -> None:
    assert all(scope.reasons(UNSEEN))
    assert scope.reasons(FAIR) == [None] * len(FAIR)


def test_every_kind_has_its_reason(scope: ScopeClassifier) -> None:
    assert set(scope.kinds) == {JUDGEABLE, *REASONS}


def test_a_file_gives_it_back(scope: ScopeClassifier) -> None:
    again = ScopeClassifier.from_arrays(scope.arrays())

    assert again is not None
    np.testing.assert_allclose(again.probabilities(UNSEEN), scope.probabilities(UNSEEN), rtol=0.02, atol=1e-3)
    assert again.threshold == scope.threshold


def test_weights_of_before_words_were_heard_go_by_the_embedding(scope: ScopeClassifier) -> None:
    arrays = scope.arrays()
    del arrays["judgeability_words"]
    before = ScopeClassifier.from_arrays(arrays)

    assert before is not None
    assert not np.allclose(before.probabilities(UNSEEN), scope.probabilities(UNSEEN), atol=0.01)
    assert ScopeClassifier.from_arrays({}) is None
