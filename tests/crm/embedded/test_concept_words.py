"""What concepts are called."""

import pytest

from crm.embedded import concept_words
from crm.embedded.concept_words import in_words
from crm.embedded.concepts import concept_names


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("formal", "formal", "less formal"),
        ("technical_terms", "technical terms", "fewer technical terms"),
        ("pros_cons", "pros and cons", "fewer pros and cons"),
        ("explains_why", "explains why", "less often explains why"),
        ("friend", "like a friend", "less like a friend"),
    ],
)
def test_concepts_are_said_as_a_person_would(name: str, more: str, less: str) -> None:
    assert in_words(name, more=True) == more
    assert in_words(name, more=False) == less


def test_only_concepts_that_there_are_have_words_of_their_own() -> None:
    own = set(concept_words._WRITTEN) | concept_words._PLURAL | concept_words._VERBS

    assert own <= set(concept_names())
    assert not concept_words._PLURAL & concept_words._VERBS
