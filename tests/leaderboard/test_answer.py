"""The answer that a ranking gives: whom it names, how sure it sounds, and what it says of the reasons."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crm.criteria import CriteriaSet, Criterion
from crm.protocol import CriterionWarning
from leaderboard.alignment import won_alone
from leaderboard.answer import Answer, Evidence, ReadCriterion, looked_at_alone, make_answer, read_criteria
from leaderboard.listed import Listed, list_llms
from leaderboard.llm_facts.catalogue import Catalogue, Fact, LLMFacts, Price
from leaderboard.llm_facts.choosing import Choice, choose
from leaderboard.llm_facts.listing import Listing, Sort, SortKey
from leaderboard.offers import contenders, offers
from leaderboard.reading import Badge, CriterionReading
from leaderboard.render.answer_card import Part, answer_card
from leaderboard.result import Leaderboard
from leaderboard.robustness import WithoutOne, leave_one_out
from leaderboard.service import Service
from leaderboard.view import Against, View

COUNTED = CriteriaSet.of(["short", "no lists"])
STYLES = CriteriaSet.of(["Warm and encouraging", "Concise and direct"])
NOTHING_KNOWN = Catalogue.of(())
VIEWS = {
    "default": View("dailybench"),
    "counted": View("dailybench", criteria=COUNTED),
    "styles": View("dailybench", criteria=STYLES),
    "floor": View("dailybench", criteria=STYLES, floor=0.5),
    "must": View("dailybench", criteria=STYLES, must_have=True),
    "all": View("dailybench", criteria=STYLES, against=Against.ALL),
    "narrow": View("dailybench", ("Poetry",), CriteriaSet.of(["funny"])),
    "left out": View("dailybench", criteria=CriteriaSet.of(["Written in Finnish"])),
    "doubtful": View("dailybench", criteria=CriteriaSet.of(["Written in Finnish"]), keep_unjudged=True),
}


@pytest.fixture(scope="module")
def boards(service: Service) -> dict[str, Leaderboard]:
    return {name: service.leaderboard(view) for name, view in VIEWS.items()}


def shown_of(board: Leaderboard, listing: Listing, catalogue: Catalogue = NOTHING_KNOWN) -> Listed:
    return list_llms(replace(board, view=replace(board.view, listing=listing)), catalogue)


def ranked(board: Leaderboard, shown: Listed) -> list[str]:
    """The LLMs that are listed and have a rank, best first."""
    return [llm for llm in board.ranking.ranks if llm in shown.leaderboard.ranking.llms]


def choice_of(
    board: Leaderboard, llms: Sequence[str], like_first: Collection[str], catalogue: Catalogue
) -> Choice | None:
    if not llms:
        return None
    unlike = np.array([llm != llms[0] and llm not in like_first for llm in llms])
    scores = np.arange(len(llms), 0.0, -1)
    return choose(llms, scores, unlike, catalogue, titles=board.titles, places=board.ranking.ranks)


def answered(board: Leaderboard, *like_first: str, search: str = "", **evidence: object) -> Answer:
    shown = shown_of(board, Listing(search=search))
    choice = choice_of(board, ranked(board, shown), like_first, NOTHING_KNOWN)
    return make_answer(board, shown, Evidence(choice, **evidence))  # type: ignore[arg-type]


def found_by(service: Service, board: Leaderboard) -> Answer:
    """The answer with all that the page would find out."""
    shown, found = shown_of(board, Listing()), contenders(service, board.view)
    readings = read_criteria(board)
    return make_answer(
        board,
        shown,
        Evidence(
            offers(board, found, NOTHING_KNOWN, board.ranking.llms) if found else None,
            readings,
            won_alone(service, board.view, looked_at_alone(board, readings)),
            leave_one_out(service, board.view, set(board.llms)),
        ),
    )


def text(answer: Answer) -> str:
    """All that an answer says."""
    parts = (*answer.in_brief, *answer.limits, answer.turns, answer.cheapest)
    return " ".join(parts)


@st.composite
def catalogues(draw: st.DrawFn) -> Catalogue:
    """What is known of dailybench's assistants: of some a price."""
    names = ("brevia", "lumen", "scholia", "jester", "stepwise", "verity", "fabula")
    prices = {name: draw(st.none() | st.floats(0.1, 50)) for name in names}
    return Catalogue.of(
        LLMFacts(name, name, price=None if cost is None else Fact(Price(cost, cost), "us", "2026-02"))
        for name, cost in prices.items()
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_it_names_nobody_who_is_not_listed_and_is_sure_of_nothing_that_is_tied(
    boards: dict[str, Leaderboard], data: st.DataObject
) -> None:
    board = boards[data.draw(st.sampled_from(list(boards)))]
    catalogue = data.draw(catalogues())
    listing = data.draw(
        st.builds(
            Listing,
            search=st.sampled_from(["", "e", "l u", "jest", "nobody"]),
            max_price=st.none() | st.floats(0, 60),
            sort=st.builds(Sort, st.sampled_from(SortKey), st.booleans()),
        )
    )
    shown = shown_of(board, listing, catalogue)
    llms = ranked(board, shown)
    like_first = data.draw(st.sets(st.sampled_from(llms))) if llms else set()
    # What would come first without something is asked only of the LLMs that are listed.
    after = data.draw(st.permutations(llms))
    without = (WithoutOne("Poetry", False, tuple(llms[:3]), tuple(after[:3])),)
    choice = choice_of(board, llms, like_first, catalogue)
    answer = make_answer(board, shown, Evidence(choice, read_criteria(board), {}, without))

    said = text(answer)
    hidden = [llm for llm in board.titles if llm not in shown.leaderboard.llms and llm != "atlas"]
    assert not [llm for llm in hidden if re.search(rf"\b{llm}\b", said)]
    assert "crowd" not in said
    assert "∅" not in said
    assert answer.llm in (None, *llms[:1])
    tied = len(like_first - set(llms[:1])) > 0
    if tied:
        assert not answer.sure
        assert re.search(
            "tied|could be|not surely ahead|closely followed|share|level|could still", answer.headline
        )
    if answer.against:
        assert not answer.sure
        assert not answer.headline.startswith("Best")
    if "cheapest" in said:
        price = catalogue.facts(choice.cheapest_like_first.llm).price  # type: ignore[union-attr]
        assert price is not None
    if not catalogue.facts(answer.llm or "").price and not answer.cheapest:
        assert "$" not in said
    worse = sum(rank < board.ranking.ranks[llms[0]] for rank in board.ranking.ranks.values()) if llms else 0
    assert (f"Your filters hide {worse} LLM" in said) == (worse > 0)


def test_it_is_the_first_of_the_listed_whatever_they_are_sorted_by(boards: dict[str, Leaderboard]) -> None:
    board = boards["styles"]
    by_name = shown_of(board, Listing(sort=Sort(SortKey.NAME)))

    assert make_answer(board, by_name, Evidence()).llm == board.ranking.llms[0]
    rest = shown_of(board, Listing(search="verity"))
    worse = make_answer(board, rest, Evidence())
    assert worse.llm == "verity"
    assert worse.headline.endswith("the only one listed.")
    assert not worse.sure


def test_a_few_that_are_as_good_are_named_and_many_are_counted(boards: dict[str, Leaderboard]) -> None:
    board = boards["counted"]
    first, *others = board.ranking.llms
    names = [board.titles[llm] for llm in others]

    assert answered(board).headline == f"Best for you: {board.titles[first]}."
    assert answered(board).sure
    assert answered(board, *others[:2]).headline == (
        f"Best for you: {board.titles[first]}, though not surely ahead of {names[0]} and {names[1]}."
    )
    many = answered(board, *others[:4])
    assert many.headline == (
        f"For you: 5 of the 7 LLMs could be the best; first by a hair: {board.titles[first]}."
    )
    assert not many.decided
    assert answered(board, *others).headline.startswith("For you: All 7 LLMs could be the best")


def test_equal_ones_are_level_and_nobody_is_first_by_a_hair(boards: dict[str, Leaderboard]) -> None:
    board = boards["counted"]
    n = len(board.ranking.llms)
    two = replace(board, ranking=replace(board.ranking, rank=np.array([1, 1, *range(3, n + 1)])))
    everyone = replace(board, ranking=replace(board.ranking, rank=np.ones(n, dtype=np.int64)))
    first, second = (board.titles[llm] for llm in board.ranking.llms[:2])

    assert answered(two).headline == f"Best for you: {first}, level with {second}."
    assert answered(everyone).headline == "For you: 7 LLMs share the first place."
    assert answered(everyone).llm is None
    assert answered(everyone).why == ""


def test_what_is_counted_is_given_as_numbers(service: Service, boards: dict[str, Leaderboard]) -> None:
    answer = found_by(service, boards["counted"])
    [words, _] = boards["counted"].amounts

    assert answer.headline == "Best for you: brevia (extremely concise)."
    assert answer.why.startswith(
        f"{words.written(words.by_llm['brevia'])} words an answer, the fewest of all 7, where "
    )
    assert "list items" in answer.why
    assert answer.turns == "brevia (extremely concise) stays first whichever criterion or topic is left out."
    assert answer.by_default == (
        "brevia (extremely concise) is 7th of 7 by default; "
        "the first there, jester (playful), is 2nd for you."
    )
    assert [item.reading and item.reading.badge for item in answer.reliability] == [Badge.COUNTED] * 2


def test_an_amount_that_speaks_against_the_first_is_not_given_as_a_reason(
    boards: dict[str, Leaderboard],
) -> None:
    board = boards["counted"]
    words, items = board.amounts
    assert (words.wished, items.wished) == (-1, -1)
    one, both = (
        answered(replace(board, amounts=(replace(words, wished=1), replace(items, wished=of_items)))).why
        for of_items in (-1, 1)
    )

    assert one.startswith("Hardly any list items, where ")
    assert f"; this despite {words.written(words.by_llm['brevia'])} words an answer" in one
    assert both.startswith("It wins ")


def test_what_no_answer_has_makes_the_answer_doubtful(service: Service) -> None:
    board = service.leaderboard(View("dailybench", criteria=CriteriaSet.of(["code with comments"])))
    answer = found_by(service, board)

    said = (
        "Do not rely on “code with comments” in this ranking. "
        "No answer to these questions has code to judge it by."
    )
    assert said in answer.against
    assert answer.lead == "Perhaps best for you"
    assert not answer.sure
    assert any("“code with comments”" in each for each in board.caveats)


@pytest.mark.parametrize(
    ("most", "limit"),
    [
        (
            0.12,
            "No LLM here usually keeps to at most 2 words: brevia (extremely concise) does so most often, "
            "in 12 % of its answers.",
        ),
        (0.0, "No LLM here gave a single answer with at most 2 words."),
        (0.6, None),
    ],
)
def test_an_amount_that_no_llm_usually_keeps_to_is_said_so(
    boards: dict[str, Leaderboard], most: float, limit: str | None
) -> None:
    board = boards["counted"]
    kept = dict.fromkeys(board.ranking.llms, 0.0) | {"brevia": most}
    words = replace(board.amounts[0], wished=0, limit="at most 2 words", kept=kept)
    answer = answered(replace(board, amounts=(words,)))

    assert [each for each in answer.limits if "No LLM" in each] == ([limit] if limit else [])
    how_often = "none" if not most else f"{100 * most:.0f} %"
    assert f", with at most 2 words in {how_often} of its answers" in answer.why


def test_a_first_that_keeps_to_an_amount_less_often_than_others_is_said_to(
    boards: dict[str, Leaderboard],
) -> None:
    board = boards["counted"]
    kept = dict.fromkeys(board.ranking.llms, 0.0) | {"brevia": 0.03, "jester": 0.8}
    words = replace(board.amounts[0], wished=0, limit="at most 500 words", kept=kept)

    alone, among_others = (
        answered(replace(board, amounts=(words,), criteria=CriteriaSet.of(wishes))).limits
        for wishes in (["keep it under a page"], ["keep it under a page", "playful"])
    )

    said = (
        "brevia (extremely concise) keeps to at most 500 words in 3 % of its answers only, and is nearer to "
        "it than others on the questions it was asked; jester (playful) does so most often, in "
        "80 % of its answers. With “Essential criteria are a must” whoever mostly does comes first."
    )
    assert said in alone
    assert not any("at most 500 words" in each for each in among_others)


def test_an_amount_like_the_typical_one_is_called_so_as_it_is_written(boards: dict[str, Leaderboard]) -> None:
    board = boards["counted"]
    amounts = dict(zip(board.ranking.ranks, (0.046, 0.014, 0.03, 0.0449, 0.588, 0.9, np.nan), strict=True))
    alone = replace(board.amounts[0], unit="emojis an answer", by_llm=amounts, baseline=0.0)

    assert answered(replace(board, amounts=(alone,), criteria=CriteriaSet.of(["no emojis"]))).why == (
        "0.05 emojis an answer, as is typical."
    )


def test_a_usual_amount_among_several_criteria_is_not_given_as_a_reason(
    boards: dict[str, Leaderboard],
) -> None:
    board = boards["counted"]
    words, _ = board.amounts
    emojis = replace(words, unit="emojis an answer", wished=1)
    usual, high = (
        answered(replace(board, amounts=(words, replace(emojis, by_llm=emojis.by_llm | of_some)))).why
        for of_some in (
            dict.fromkeys(board.ranking.llms, 0.0) | {"stepwise": 4.0, "brevia": 0.1},
            dict.fromkeys(board.ranking.llms, 0.0) | {"stepwise": 4.0, "brevia": 2.0},
        )
    )

    assert "emojis" not in usual
    assert "2 emojis an answer" in high


def test_what_is_not_counted_is_given_as_comparisons_won(
    service: Service, boards: dict[str, Leaderboard]
) -> None:
    board = boards["styles"]
    answer = found_by(service, board)
    found = re.match(r"Judged by “(.+)” alone, it wins (\d+) % of comparisons with atlas", answer.why)

    assert found is not None
    criterion = next(item for item in STYLES if item.text == found[1])
    alone = service.leaderboard(View("dailybench", criteria=CriteriaSet((criterion,)))).ranking
    row = alone.llms.index(answer.llm or "")
    assert int(found[2]) == round(100 * float(alone.win_rate[row]))
    one = found_by(service, service.leaderboard(View("dailybench", criteria=CriteriaSet((criterion,)))))
    assert one.why.startswith(f"It wins {100 * float(alone.win_rate[0]):.0f} % of comparisons with atlas")


def test_without_criteria_it_is_said_to_be_the_default(boards: dict[str, Leaderboard]) -> None:
    answer = answered(boards["default"])
    assert answer.headline == "Best by default: jester (playful)."
    assert "what people prefer on average" in text(answer)
    assert answer.by_default == ""
    assert answer.wishes == ""


def test_where_the_judge_is_not_reliable_it_does_not_sound_sure(boards: dict[str, Leaderboard]) -> None:
    board = boards["counted"]
    one, other = COUNTED.criteria

    def with_badges(*badges: Badge | None) -> Answer:
        read = [None if badge is None else CriterionReading(badge) for badge in badges]
        return answered(board, readings=tuple(map(ReadCriterion, (one, other), read)))

    assert with_badges(Badge.COUNTED, Badge.WORDING).sure
    for badges, why in (
        ((Badge.WORDING, Badge.WORDING), "goes by the wording of your criteria alone"),
        ((Badge.WORDING, Badge.DOUBTFUL), "is not reliable for your criteria"),
        ((None, None), "has not been measured"),
    ):
        doubtful = with_badges(*badges)
        assert not doubtful.sure
        assert doubtful.headline.startswith("Perhaps best for you: brevia")
        assert why in text(doubtful)


def test_criteria_that_are_left_out_make_it_the_default(boards: dict[str, Leaderboard]) -> None:
    answer = answered(boards["left out"], readings=read_criteria(boards["left out"]))
    assert answer.headline.startswith("Perhaps best by default: ")
    assert "Your criterion is left out" in text(answer)
    kept = answered(boards["doubtful"], readings=read_criteria(boards["doubtful"]))
    assert "The judge is not reliable for your criterion." in kept.against


def test_contrary_criteria_and_few_questions_are_said(boards: dict[str, Leaderboard]) -> None:
    contrary = replace(boards["counted"], warnings=(CriterionWarning(None, "They ask for contrary things."),))
    assert answered(contrary).headline.startswith("Perhaps best for you")
    assert "They ask for contrary things." in text(answered(contrary))
    few = replace(boards["counted"], n_judged=20, n_queries=20)
    assert "This rests on only 20 questions." in answered(few).against
    assert "too narrow to rank" in text(answered(boards["narrow"]))


def test_while_a_judge_works_it_is_so_far_and_who_may_still_be_first_is_said(
    boards: dict[str, Leaderboard],
) -> None:
    partial = replace(boards["counted"], n_judged=100)
    shown = shown_of(partial, Listing())
    alone = make_answer(partial, shown, Evidence())
    assert alone.headline.startswith("So far best for you: brevia")
    assert "Only 100 of 522 questions are judged so far." in text(alone)

    low = np.array([1, 1, *range(3, 8)])
    open_race = replace(partial, ranking=replace(partial.ranking, rank_low=low))
    headline = make_answer(open_race, shown, Evidence()).headline
    assert headline.endswith(f"closely followed by {partial.titles[partial.ranking.llms[1]]}.")
    wide = replace(partial, ranking=replace(partial.ranking, rank_low=np.ones(7, dtype=np.int64)))
    assert make_answer(wide, shown, Evidence()).headline == (
        "So far for you: All 7 LLMs could still come first; first by a hair: brevia (extremely concise)."
    )


def test_where_nobody_is_first_it_says_why(boards: dict[str, Leaderboard]) -> None:
    assert answered(boards["styles"], search="nobody").headline == "No LLM passes your filters."
    under = boards["floor"].ranking.under_floor[0]
    floored = make_answer(boards["floor"], shown_of(boards["floor"], Listing(search=under)), Evidence())
    assert floored.headline.startswith("Your filters leave only LLMs below the floor")
    board = boards["default"]
    nothing = replace(board.ranking, rank=np.zeros(7, dtype=np.int64))
    assert answered(replace(board, ranking=nothing)).headline == "No LLM could be ranked here."


def test_a_must_that_the_first_misses_is_said(boards: dict[str, Leaderboard]) -> None:
    board = boards["must"]
    first = board.ranking.llms[0]
    missing = replace(board, misses={first: (Criterion("Warm"),)})
    said = f"None of them meets everything essential: {board.titles[first]} misses “Warm”."
    assert said in answered(missing).limits


def test_what_would_change_the_first_is_one_sentence(boards: dict[str, Leaderboard]) -> None:
    board = boards["counted"]
    top = board.ranking.llms[:3]
    turned = (top[1], top[0], top[2])
    without = (
        WithoutOne("short", True, top, turned),
        WithoutOne("no lists", True, top, top),
        WithoutOne("Arts & Culture", False, top, turned),
    )
    assert answered(board, without_one=without).turns == (
        f"Without “short” or questions on Arts & Culture, {board.titles[top[1]]} would come first."
    )
    assert answered(board, without_one=without[1:2]).turns == (
        f"{board.titles[top[0]]} stays first whichever criterion is left out."
    )
    one = replace(board, criteria=CriteriaSet(COUNTED.criteria[:1]))
    assert answered(one, without_one=without[:1]).turns == ""


def test_the_cheapest_is_named_only_among_several_that_are_as_good(boards: dict[str, Leaderboard]) -> None:
    board = boards["counted"]
    second = board.ranking.llms[1]
    known = Catalogue.of([LLMFacts(second, second, price=Fact(Price(2, 2), "us", "2026-02"))])
    shown = shown_of(board, Listing(), known)

    def cheapest(*like_first: str) -> str:
        return make_answer(
            board, shown, Evidence(choice_of(board, board.ranking.llms, like_first, known))
        ).cheapest

    assert cheapest() == ""
    assert cheapest(second) == (
        f"{board.titles[second]} (place 2) costs least of those that may be as good as the first: "
        "$2.00 for a million tokens. The price of the first is unknown. Prices as of 2026-02."
    )


def test_as_text_it_says_what_was_asked_and_ends_with_the_link(boards: dict[str, Leaderboard]) -> None:
    lines = answered(boards["counted"]).to_text("From 522 questions", "https://a.b/?x=1").splitlines()
    assert lines[0] == "What I like in an answer: short; no lists."
    assert lines[1].startswith("Best for you: brevia")
    assert lines[-2:] == ["From 522 questions.", "https://a.b/?x=1"]
    assert not answered(boards["default"]).to_text("", "").startswith("What I like")


def test_the_card_escapes_names_and_holds_the_place_of_what_comes(
    boards: dict[str, Leaderboard],
) -> None:
    answer = replace(answered(boards["counted"]), title="<b>Zed</b>", why="", turns="")
    whole = answer_card(answer, "?llm=a&b", "#123456", waiting=[Part.WHY, Part.TURNS])
    assert "&lt;b&gt;Zed&lt;/b&gt;" in whole
    assert 'href="?llm=a&amp;b"' in whole
    assert whole.count("<dd>…</dd>") == 2
    assert "<dd>…</dd>" not in answer_card(answer, "", "#123456")
    assert "<a " not in answer_card(answer, "", "#123456")
