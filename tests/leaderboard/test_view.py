from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm.criteria import CriteriaSet, Criterion, Polarity, Weight, normalise
from crm.errors import CriterionError
from leaderboard.errors import LeaderboardError
from leaderboard.llm_facts.listing import DailyUse, Listing, Sort, SortKey
from leaderboard.statistics.style_control import Control
from leaderboard.view import (
    HEAVIEST,
    MAX_INTEREST,
    MAX_INTERESTS,
    Against,
    TopicWeight,
    View,
    read_for,
    read_interests,
    read_topic_weights,
)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
wishes = (st.text(max_size=60) | st.text("|avoid important optional", max_size=30)).filter(
    lambda text: any(map(str.isprintable, normalise(text)))
)
categories = (st.text(max_size=30) | st.text("%|=for7C", max_size=12)).filter(normalise)
views = st.builds(
    View,
    benchmark=names,
    topics=st.lists(names, max_size=4, unique=True).map(tuple),
    criteria=st.lists(
        st.builds(
            Criterion,
            wishes,
            st.sampled_from(Weight),
            st.sampled_from(Polarity),
            st.lists(categories, max_size=2).map(tuple),
        ),
        max_size=4,
    ).map(lambda listed: CriteriaSet(tuple(listed))),
    crm=names,
    soft=st.booleans(),
    control=st.sampled_from(Control),
    topic_weights=st.lists(
        st.builds(TopicWeight, names.filter(str.strip), st.floats(0, HEAVIEST)),
        max_size=3,
        unique_by=lambda item: item.name,
    ).map(tuple),
    interests=st.lists(wishes.filter(lambda text: len(text.splitlines()) <= 3), max_size=3).map(
        read_interests
    ),
    keep_unjudged=st.booleans(),
    floor=st.none() | st.floats(0, 1, exclude_max=True),
    must_have=st.booleans(),
    listing=st.builds(
        Listing,
        search=names.map(str.strip),
        open_weights=st.booleans(),
        organisations=st.lists(names, max_size=2, unique=True).map(tuple),
        max_price=st.none() | st.floats(0, 1e6),
        released_since=st.sampled_from(["", "2025", "2025-06", "2025-06-30"]),
        min_context=st.none() | st.integers(1, 10**9),
        sort=st.builds(Sort, st.sampled_from(SortKey), st.booleans()),
        use=st.none() | st.builds(DailyUse, st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6)),
    ),
    against=st.none() | st.sampled_from(Against),
    keep_partial=st.booleans(),
)


def followed(link: str) -> View:
    """The view that a browser reads from a link."""
    return View.from_query(parse_qs(urlsplit(link).query, keep_blank_values=True))


@given(views)
def test_any_view_survives_the_way_through_a_link(view: View) -> None:
    assert followed(view.to_link("/leaderboard")) == view


@given(views)
def test_so_does_one_whose_page_reads_more(view: View) -> None:
    assert followed(view.to_link("/llm", llm="a&b=c")) == view


def test_a_plain_view_names_only_its_benchmark() -> None:
    assert View().to_query() == [("benchmark", "modern")]
    assert View().to_link("/leaderboard") == "/leaderboard?benchmark=modern"


def test_a_full_view_is_written_readably() -> None:
    view = View(
        "dailybench",
        ("Puzzles & Logic", "Short fiction"),
        CriteriaSet(
            (
                Criterion("concise"),
                Criterion("slang", Weight.OPTIONAL, Polarity.AVOID),
                Criterion("warm", Weight.IMPORTANT),
                Criterion("tables | lists"),
                Criterion("jargon|hype", polarity=Polarity.AVOID),
            )
        ),
        "longer",
        soft=True,
        control=Control.STYLE,
        topic_weights=(TopicWeight("Puzzles & Logic", 2), TopicWeight("Poetry", 0.5)),
        interests=("emails to customers",),
        keep_unjudged=True,
        floor=0.5,
        must_have=True,
        against=Against.ALL,
        keep_partial=True,
    )

    assert view.to_query() == [
        ("benchmark", "dailybench"),
        ("topic", "Puzzles & Logic"),
        ("topic", "Short fiction"),
        ("criterion", "concise"),
        ("criterion", "avoid|optional|slang"),
        ("criterion", "important|warm"),
        ("criterion", "|tables | lists"),
        ("criterion", "avoid||jargon|hype"),
        ("crm", "longer"),
        ("soft", "1"),
        ("control", "style"),
        ("topic-weight", "Puzzles & Logic=2"),
        ("topic-weight", "Poetry=0.5"),
        ("interest", "emails to customers"),
        ("keep-unjudged", "1"),
        ("floor", "0.5"),
        ("must-have", "1"),
        ("against", "all"),
        ("keep-partial", "1"),
    ]
    assert followed(view.to_link()) == view


def test_an_empty_query_is_the_default_view() -> None:
    assert View.from_query({}) == View()
    assert View.from_query({"criterion": ["", " "], "unknown": ["x"]}) == View()


@pytest.mark.parametrize(
    ("written", "criterion"),
    [
        ("concise", Criterion("concise")),
        ("avoid|slang", Criterion("slang", polarity=Polarity.AVOID)),
        ("optional|avoid|slang", Criterion("slang", Weight.OPTIONAL, Polarity.AVOID)),
        ("this|that", Criterion("this|that")),
        ("|avoid|slang", Criterion("avoid|slang")),
        ("avoid slang", Criterion("avoid slang")),
    ],
)
def test_a_criterion_written_by_hand_is_read(written: str, criterion: Criterion) -> None:
    assert View.from_query({"criterion": [written]}).criteria == CriteriaSet((criterion,))


@pytest.mark.parametrize("written", ["avoid|", "x" * 301, "optional||"])
def test_a_criterion_that_no_judge_can_take_is_refused(written: str) -> None:
    with pytest.raises(CriterionError):
        View.from_query({"criterion": ["concise", written]})


def test_of_a_repeated_parameter_the_last_counts_and_topics_count_once() -> None:
    view = View.from_query({"benchmark": ["a", "b"], "topic": ["x", "y", "x"], "soft": ["1", "0"]})

    assert view == View("b", ("x", "y"))


def test_a_control_that_does_not_exist_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(LeaderboardError, match="choose one of none, length, style"):
        View.from_query({"control": ["width"]})


def test_an_opponent_that_does_not_exist_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(LeaderboardError, match="against 'llama': choose baseline or all"):
        View.from_query({"against": ["llama"]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("half", "'half' is no number"),
        ("1", "not 1"),
        ("-0.5", "not -0.5"),
        ("nan", "not nan"),
        ("inf", "inf"),
    ],
)
def test_what_is_no_floor_is_refused(text: str, message: str) -> None:
    with pytest.raises(LeaderboardError, match=f"The floor .*{message}"):
        View.from_query({"floor": [text]})


def test_the_crowds_view_keeps_what_does_not_need_criteria() -> None:
    view = View(
        "dailybench",
        ("a",),
        CriteriaSet.of(["b"]),
        soft=True,
        keep_unjudged=True,
        floor=0.5,
        must_have=True,
        against=Against.ALL,
        keep_partial=True,
    )

    assert view.crowd == View("dailybench", ("a",), soft=True, against=Against.ALL, keep_partial=True)


written_names = st.text(min_size=1, max_size=20).filter(str.strip)


@given(written_names, st.floats(0, HEAVIEST))
def test_a_weight_is_read_as_it_was_written(name: str, weight: float) -> None:
    item = TopicWeight(name, weight)

    assert TopicWeight.parse(str(item)) == item


def test_a_weight_is_written_without_needless_digits() -> None:
    assert str(TopicWeight("Arts & Culture", 2.0)) == "Arts & Culture=2"
    assert TopicWeight.parse("a=b=0.5") == TopicWeight("a=b", 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Poetry", "'Poetry' cannot be read: write NAME=NUMBER"),
        ("=2", "cannot be read"),
        ("Poetry=much", "cannot be read"),
        ("Poetry=nan", "cannot be read"),
        ("Poetry=-1", "a number from 0 to 100, not -1"),
        ("Poetry=inf", "a number from 0 to 100, not inf"),
    ],
)
def test_what_is_no_weight_is_refused(text: str, message: str) -> None:
    with pytest.raises(LeaderboardError, match=message):
        TopicWeight.parse(text)


def test_of_a_name_given_twice_the_last_weight_counts() -> None:
    assert read_topic_weights(["a=1", "b=2", "a=0"]) == (TopicWeight("a", 0), TopicWeight("b", 2))


def test_interests_are_lines_without_blanks_and_repetitions() -> None:
    assert read_interests([" emails \n\n emails", "short   stories"]) == ("emails", "short stories")


def test_too_many_or_too_long_interests_are_refused() -> None:
    with pytest.raises(LeaderboardError, match=f"{MAX_INTEREST + 1} characters"):
        read_interests(["x" * (MAX_INTEREST + 1)])
    with pytest.raises(LeaderboardError, match=f"keep the {MAX_INTERESTS}"):
        read_interests(map(str, range(MAX_INTERESTS + 1)))


def test_a_link_carries_the_list_of_a_category_and_an_older_one_has_none() -> None:
    own = Criterion("Short | to the point", Weight.OPTIONAL, Polarity.AVOID, ("Gaming", "Arts|Culture"))
    view = View(criteria=CriteriaSet((Criterion("Warm"), own)))
    written = [text for name, text in view.to_query() if name == "criterion"]

    assert written == ["Warm", "for=Arts%7CCulture|for=Gaming|avoid|optional||Short | to the point"]
    assert View.from_query({"criterion": written}) == view
    assert View.from_query({"criterion": ["avoid|Warm"]}).criteria.names == ()


def test_criteria_for_a_category_are_read_from_the_command_line() -> None:
    [wanted, avoided] = (*read_for(["Gaming=Short"]), *read_for(["Gaming=lists = bad"], Polarity.AVOID))

    assert wanted == Criterion("Short", only_for=("Gaming",))
    assert avoided == Criterion("lists = bad", polarity=Polarity.AVOID, only_for=("Gaming",))
    [also] = read_for(["Gaming=avoid lists"])
    assert (also.text, also.polarity) == ("lists", Polarity.AVOID)


@pytest.mark.parametrize("text", ["Gaming", "=Short", "Gaming=", " = "])
def test_a_criterion_for_no_category_is_refused(text: str) -> None:
    with pytest.raises(LeaderboardError, match=r"write NAME=TEXT"):
        read_for([text])
