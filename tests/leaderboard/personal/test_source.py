"""What may be shown of a benchmark, also of one that a session brought or added to."""

from leaderboard.personal.choice import Answer, Pair
from leaderboard.personal.course import Course
from leaderboard.personal.source import readable_benchmarks, shown_of, texts_of
from leaderboard.service import Service
from leaderboard.yours.session_material import added_llms, own_benchmark
from leaderboard.yours.session_service import SessionService
from leaderboard.yours.uploads import Answer as Uploaded

SOUPS = {
    "Which soup?": ("Tomato soup.", "Onion soup, hot and brown, with bread and cheese."),
    "Which bread?": ("Rye bread, thinly sliced.", "A sourdough loaf that was baked this morning."),
}


def soup_answers() -> list[Uploaded]:
    rows = [(query, llm, text) for query, both in SOUPS.items() for llm, text in zip("ab", both, strict=True)]
    return [Uploaded(row, text, query=query, llm=llm) for row, (query, llm, text) in enumerate(rows, 1)]


def with_own_llm(service: Service) -> SessionService:
    record = service.contest("dailybench").record
    contest = service.contest("dailybench")
    rows = [
        Uploaded(place + 1, f"So: {contest.texts_at('brevia', place)[0]}", id=item.external_id)
        for place, item in enumerate(record.queries)
        if item.category == "Arts & Culture"
    ]
    return SessionService(service, (added_llms(rows, record, "mine", "mine.csv"),))


def test_a_pair_is_two_stored_responses_to_the_query_that_is_shown(service: Service) -> None:
    contest = service.contest("dailybench")
    course = Course.start(shown_of(service, "dailybench", ("Arts & Culture",)))
    texts = texts_of(contest, course.pair)
    rows = (*contest.llms, contest.baseline)

    assert contest.record.queries[course.pair.query].category == "Arts & Culture"
    assert texts.query == contest.query_texts[course.pair.query]
    for row, text in ((course.pair.first, texts.first), (course.pair.second, texts.second)):
        llm = rows[row]
        stored = contest.texts_at(contest.llms[0] if llm == contest.baseline else llm, course.pair.query)
        assert text == stored[llm == contest.baseline]


def test_an_own_benchmark_is_chosen_from_and_learnt_from(service: Service) -> None:
    own = SessionService(service, (own_benchmark(soup_answers(), "Soups", "", "soups.csv"),))
    slug = own.benchmarks()[-1].slug
    course = Course.start(shown_of(own, slug, ()))
    texts = texts_of(own.contest(slug), course.pair)

    assert slug in {summary.slug for summary in readable_benchmarks(own)}
    assert {texts.first, texts.second} == set(SOUPS[texts.query])
    assert course.chosen(Answer.FIRST).pair.query != course.pair.query


def test_an_own_llm_is_shown_beside_the_stored_ones(service: Service) -> None:
    own = with_own_llm(service)
    contest = own.contest("dailybench")
    shown = shown_of(own, "dailybench", ("Arts & Culture",))
    mine = contest.llms.index("mine")
    query = int(shown.allowed[mine].nonzero()[0][0])
    texts = texts_of(contest, Pair(query, mine, len(contest.llms)))
    brevia, baseline = service.contest("dailybench").texts_at("brevia", query)

    assert contest.readable[mine].sum() == 42
    assert shown.allowed[mine].sum() == 42
    assert (texts.first, texts.second) == (f"So: {brevia}", baseline)
