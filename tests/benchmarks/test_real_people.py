"""Votes of generated people, in every form that is published, and what foretells them."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks._people import FORMS, Vote, generated_votes
from benchmarks._votes import Crowd, comparia_scores
from benchmarks.real_people import (
    WAYS,
    Person,
    Votes,
    app,
    by_checklist,
    by_length,
    foretold,
    people_in,
    read_people,
    split,
)
from crm import registry
from crm.cli_runner import run_cli
from leaderboard.elicitation.choice_model import ChoiceOutcome
from leaderboard.elicitation.history.choices import PastChoice
from leaderboard.elicitation.margins import benchmark_margins
from leaderboard.errors import LeaderboardError, UploadError
from leaderboard.service import Service
from tests.conftest import Run

PEOPLE, VOTES = 3, 21


@pytest.fixture(scope="module")
def votes(service: Service) -> list[Vote]:
    return generated_votes(service.benchmark("dailybench"), PEOPLE, VOTES)


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_read_as_published(votes: list[Vote], name: str) -> None:
    found = people_in(FORMS[name](votes).encode(), name)
    for person, some in found.items():
        own = [vote for vote in votes if vote.person == person]
        decided = [vote for vote in own if vote.outcome.decided]
        taken = [
            (choice.query, *_ordered(choice.llms, choice.outcome))
            for choice in some
            if choice.outcome.decided
        ]
        assert taken == [(vote.query.strip(), *_ordered(vote.llms, vote.outcome)) for vote in decided]
        assert len(some) in {len(own), len(decided)}
    assert len(found) == PEOPLE


def _ordered(llms: tuple[str, str], outcome: ChoiceOutcome) -> tuple[str, str]:
    return llms if outcome is ChoiceOutcome.FIRST else (llms[1], llms[0])


def test_who_chose_has_to_be_said() -> None:
    with pytest.raises(UploadError, match="no choices that say who chose"):
        people_in(b'{"query": "q", "chosen": "one", "rejected": "other"}\n', "mine.jsonl")


def choice(first: str, second: str, outcome: ChoiceOutcome, query: str = "q") -> PastChoice:
    return PastChoice(query, f"text of {first}", f"a text of {second}", outcome, llms=(first, second))


A_OVER_B = choice("a", "b", ChoiceOutcome.FIRST)
C_OVER_B = choice("b", "c", ChoiceOutcome.SECOND)


def test_comparia_shrinks_towards_the_persons_mean() -> None:
    scores, mean = comparia_scores([A_OVER_B] * 2 + [choice("a", "c", ChoiceOutcome.BOTH)])
    assert mean == pytest.approx(3 / 6)
    assert scores == pytest.approx({"a": (2.5 + 1) / 5, "b": (0 + 1) / 4, "c": (0.5 + 1) / 3})
    scores, mean = comparia_scores([choice("a", "b", ChoiceOutcome.NEITHER)])
    assert (mean, scores) == (0.0, {"a": 0.0, "b": 0.0})
    # One win is not above a long row of them: 0.667 and 0.864, as compar:IA says of its score.
    scores, mean = comparia_scores([A_OVER_B])
    assert scores["a"] == pytest.approx(2 / 3)


def test_others_votes_are_those_of_everybody_else() -> None:
    crowd = Crowd.of(
        {"me": [A_OVER_B] * 9, "you": [C_OVER_B, A_OVER_B], "she": [choice("a", "c", ChoiceOutcome.SECOND)]}
    )
    a, b, c = crowd.strengths_without("me")
    assert c > a > b
    alone = Crowd.of({"me": [A_OVER_B], "you": [C_OVER_B]}).strengths_without("me")
    assert np.isnan(alone[0])
    assert alone[2] > alone[1]


def test_a_person_may_be_expected_to_vote_as_others() -> None:
    crowd = Crowd.of({"me": [A_OVER_B], "you": [C_OVER_B]})
    around = np.array([0.0, -1.0, 1.0])
    assert crowd.personal([], around).tolist() == around.tolist()
    a, b, c = crowd.personal([A_OVER_B], around)
    assert c > a > 0 > b
    assert crowd.personal([])[0] == 0


def test_later_choices_are_on_new_queries() -> None:
    asked = [choice("a", "b", ChoiceOutcome.FIRST, query) for query in "abcdefghiajk"]
    found = split(asked)
    assert [each.query for each in found.earlier] == list("abcdefgh")
    assert [each.query for each in found.later] == list("ijk")


@pytest.fixture(scope="module")
def people(service: Service, votes: list[Vote]) -> list[Person]:
    found = people_in(FORMS["comparia-votes.jsonl"](votes).encode(), "votes.jsonl")
    crm = registry.get_crm(registry.DEFAULT)
    margins = benchmark_margins(service.benchmark("dailybench"), crm)
    return list(
        read_people({name: split(some) for name, some in found.items()}, Crowd.of(found), crm, margins)
    )


def test_everything_is_foretold_of_the_same_choices(people: list[Person]) -> None:
    found = foretold(people, 12)
    assert found is not None
    assert found.ways == tuple(WAYS)
    assert (found.right >= 0).all()
    assert (found.right <= found.size).all()
    assert foretold(people, VOTES) is None


def test_the_longer_answer_is_counted_by_hand(people: list[Person]) -> None:
    person = people[0]
    decided = [each for each in person.votes.later if each.outcome.decided]
    words = [
        [len(text.split()) for text in (each.first, each.second)][
            :: 1 if each.outcome is ChoiceOutcome.FIRST else -1
        ]
        for each in decided
    ]
    assert by_length(person, 2) == sum((one > other) + 0.5 * (one == other) for one, other in words)


def test_a_file_is_measured_as_it_is(tmp_path: Path, votes: list[Vote], run_main: Run) -> None:
    file, table = tmp_path / "utterances.jsonl", tmp_path / "table.md"
    file.write_text(FORMS[file.name](votes[: 2 * len(votes) // 3]))
    code, _, err = run_main(lambda: run_cli(app, LeaderboardError), file, "--people", "2", "--output", table)
    assert code == 0, err
    found = table.read_text()
    assert "foretold from their earlier votes: utterances.jsonl" in found
    assert all(f"| 5 | {way} | 2 |" in found for way in WAYS)
    assert "generated" not in found


def test_a_checklist_learns_from_earlier_votes_alone(people: list[Person]) -> None:
    person = people[0]
    turned = {ChoiceOutcome.FIRST: ChoiceOutcome.SECOND, ChoiceOutcome.SECOND: ChoiceOutcome.FIRST}
    contrary = tuple(
        PastChoice(
            each.query, each.first, each.second, turned.get(each.outcome, each.outcome), llms=each.llms
        )
        for each in person.votes.later
    )
    other = Person(
        person.name,
        Votes(person.votes.earlier, contrary),
        person.margins,
        person.default,
        person.benchmark,
        person.crowd,
    )
    decided = sum(each.outcome.decided for each in person.votes.later)
    assert by_checklist(person, 12) + by_checklist(other, 12) == decided
