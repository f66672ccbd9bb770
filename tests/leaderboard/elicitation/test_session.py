"""An elicitation session: what is shown, choices and replies with undo, and the checklist they lead to."""

from dataclasses import replace

import numpy as np
import pytest

from crm.criteria import Polarity
from leaderboard.elicitation.checklist import InterviewReply, checklist, supporting_replies
from leaderboard.elicitation.choice_model import Choice, ChoiceOutcome, ResponsePair, chosen_and_rejected
from leaderboard.elicitation.library import criterion_library
from leaderboard.elicitation.session import (
    ElicitationSession,
    candidate_pairs,
    pair_texts,
    readable_benchmarks,
    session_checklist,
)
from leaderboard.elicitation.text import evidence_sentence
from leaderboard.service import Service
from leaderboard.user_data.session_benchmark import SessionService
from leaderboard.user_data.session_data import added_llms, own_benchmark
from leaderboard.user_data.uploads import UploadedResponse as Uploaded


@pytest.fixture(scope="module")
def session(service: Service) -> ElicitationSession:
    return ElicitationSession.start(candidate_pairs(service, "dailybench", ()))


def place(label: str) -> int:
    return [item.label for item in criterion_library()].index(label)


def answered(session: ElicitationSession, wanted: str) -> ElicitationSession:
    """Ask until an option names the criterion, and take it; no preference elsewhere."""
    while session.question is not None:
        names = session.question.weights[:, place(wanted)] > 0
        if names.any():
            return session.replied(int(names.argmax()))
        session = session.replied(len(session.question.options) - 1)
    pytest.skip(f"the interview does not ask for {wanted}")


def test_undoing_a_choice_keeps_the_reply_after_it_and_shows_its_pair_again(
    session: ElicitationSession,
) -> None:
    both = session.chosen(ChoiceOutcome.FIRST).replied(0)
    undone = both.without_last(Choice)

    assert [type(step) for step in both.steps] == [Choice, InterviewReply]
    assert undone.steps == both.steps[1:]
    assert undone.pair == session.pair
    np.testing.assert_array_equal(undone.posterior.mean, session._after(both.replies[0]).posterior.mean)


def test_undoing_a_reply_asks_its_question_again(session: ElicitationSession) -> None:
    undone = session.chosen(ChoiceOutcome.SECOND).replied(1).without_last(InterviewReply)

    assert undone.choices
    assert not undone.replies
    assert undone.question is session.chosen(ChoiceOutcome.SECOND).question
    assert session.without_last(InterviewReply) is session


def test_a_reply_moves_the_choices_that_follow(session: ElicitationSession) -> None:
    replied = session.replied(0)

    assert replied.posterior.mean.tolist() != session.posterior.mean.tolist()
    assert replied.chosen(ChoiceOutcome.FIRST).posterior.observed[0] is replied.posterior.observed[0]


def test_no_question_is_asked_twice_and_there_are_five_at_most(session: ElicitationSession) -> None:
    asked = []
    while session.question is not None:
        asked.append(session.question.text)
        session = session.replied(0)

    assert 1 <= len(asked) == len(set(asked)) <= 5
    with pytest.raises(ValueError, match="no question"):
        session.replied(0)


def test_an_option_that_names_a_criterion_is_its_evidence(session: ElicitationSession) -> None:
    replied = answered(session, "Humour")
    margins = replied.candidates.margins
    [support] = supporting_replies(place("Humour"), Polarity.WANT, margins, replied.replies)

    assert support.named
    assert not supporting_replies(place("Humour"), Polarity.AVOID, margins, replied.replies)
    line = next(
        line
        for line in checklist(
            replied.posterior, margins, criterion_library(), chosen_and_rejected((), margins)
        )
        if supporting_replies(place(line.label), line.criterion.polarity, margins, replied.replies)
    )
    found = supporting_replies(line.index, line.criterion.polarity, margins, replied.replies)
    with_replies = replace(line, evidence=replace(line.evidence, replies=found))
    assert f"“{support.text}”" in evidence_sentence(with_replies)


def test_no_preference_speaks_for_nothing(session: ElicitationSession) -> None:
    assert session.question
    replied = session.replied(len(session.question.options) - 1)
    found = [
        supporting_replies(index, polarity, replied.candidates.margins, replied.replies)
        for index in range(len(criterion_library()))
        for polarity in Polarity
    ]
    assert not any(found)


def interviewed(session: ElicitationSession, option: int) -> ElicitationSession:
    while session.question is not None:
        session = session.replied(option)
    return session


def wishes(session: ElicitationSession) -> list[np.ndarray]:
    """What the options taken stand for."""
    return [np.abs(reply.question.weights[reply.option]) for reply in session.replies]


@pytest.mark.parametrize("option", [0, 1])
def test_every_wish_of_an_interview_is_on_the_list_and_nothing_else(
    session: ElicitationSession, option: int
) -> None:
    learnt = interviewed(session, option)
    library = criterion_library()
    wished = [
        {(library[place].label, weight > 0) for place, weight in enumerate(weights) if weight}
        for weights in (reply.question.weights[reply.option] for reply in learnt.replies)
    ]
    lines = session_checklist(learnt, library)
    listed = {(line.label, line.criterion.polarity is Polarity.WANT) for line in lines}

    assert all(listed & wish for wish in wished)
    assert listed <= set.union(*wished)
    assert sum(line.share for line in lines) == pytest.approx(1)
    shares = [line.share for line in lines]
    assert shares == sorted(shares, reverse=True)


def test_without_an_interview_it_is_the_checklist_of_the_choices(session: ElicitationSession) -> None:
    for answer in (ChoiceOutcome.FIRST, ChoiceOutcome.SECOND, ChoiceOutcome.FIRST):
        session = session.chosen(answer)
    library, margins = criterion_library(), session.candidates.margins

    assert session_checklist(session, library) == checklist(
        session.posterior, margins, library, chosen_and_rejected(session.choices, margins)
    )


def test_after_an_interview_choices_add_what_they_speak_for(session: ElicitationSession) -> None:
    learnt, library = interviewed(session, 0), criterion_library()
    named = {library[place].label for place in np.flatnonzero(sum(wishes(learnt)))}
    for _ in range(6):
        learnt = learnt.chosen(ChoiceOutcome.FIRST)
    lines = session_checklist(learnt, library)
    added = [line for line in lines if line.label not in named]

    assert named & {line.label for line in lines}
    assert all(2 * line.evidence.with_it > line.evidence.clear for line in added)


def test_one_without_preference_anywhere_has_no_list(session: ElicitationSession) -> None:
    assert not session_checklist(session, criterion_library())


SOUPS = {
    "Which soup?": ("Tomato soup.", "Onion soup, hot and brown, with bread and cheese."),
    "Which bread?": ("Rye bread, thinly sliced.", "A sourdough loaf that was baked this morning."),
}


def soup_answers() -> list[Uploaded]:
    rows = [(query, llm, text) for query, both in SOUPS.items() for llm, text in zip("ab", both, strict=True)]
    return [Uploaded(row, text, query=query, llm=llm) for row, (query, llm, text) in enumerate(rows, 1)]


def with_own_llm(service: Service) -> SessionService:
    record = service.benchmark("dailybench").record
    benchmark = service.benchmark("dailybench")
    rows = [
        Uploaded(place + 1, f"So: {benchmark.text_at('brevia', place)}", id=item.external_id)
        for place, item in enumerate(record.queries)
        if item.category == "Arts & Culture"
    ]
    return SessionService(service, (added_llms(rows, record, "mine", "mine.csv"),))


def test_a_pair_is_two_stored_responses_to_the_query_that_is_shown(service: Service) -> None:
    benchmark = service.benchmark("dailybench")
    session = ElicitationSession.start(candidate_pairs(service, "dailybench", ("Arts & Culture",)))
    texts = pair_texts(benchmark, session.pair)

    assert benchmark.record.queries[session.pair.query].category == "Arts & Culture"
    assert texts.query == benchmark.query_texts[session.pair.query]
    for row, text in ((session.pair.first, texts.first), (session.pair.second, texts.second)):
        assert text == benchmark.text_at(benchmark.respondents[row], session.pair.query)


def test_an_own_benchmark_is_chosen_from_and_learnt_from(service: Service) -> None:
    own = SessionService(service, (own_benchmark(soup_answers(), "Soups", "", "soups.csv"),))
    slug = own.benchmarks()[-1].slug
    session = ElicitationSession.start(candidate_pairs(own, slug, ()))
    texts = pair_texts(own.benchmark(slug), session.pair)

    assert slug in {summary.slug for summary in readable_benchmarks(own)}
    assert {texts.first, texts.second} == set(SOUPS[texts.query])
    assert session.chosen(ChoiceOutcome.FIRST).pair.query != session.pair.query


def test_an_own_llm_is_shown_beside_the_stored_ones(service: Service) -> None:
    own = with_own_llm(service)
    benchmark = own.benchmark("dailybench")
    candidates = candidate_pairs(own, "dailybench", ("Arts & Culture",))
    mine = benchmark.llms.index("mine")
    query = int(candidates.allowed[mine].nonzero()[0][0])
    texts = pair_texts(benchmark, ResponsePair(query, mine, len(benchmark.llms)))
    brevia, baseline = (service.benchmark("dailybench").text_at(llm, query) for llm in ("brevia", "atlas"))

    assert benchmark.readable[mine].sum() == 42
    assert candidates.allowed[mine].sum() == 42
    assert (texts.first, texts.second) == (f"So: {brevia}", baseline)
