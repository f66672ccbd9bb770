"""The leaderboard page's logic, run without a browser."""

import re
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.crm.backends.scripted_server import ScriptedServer
from tests.leaderboard.critique_samples import CHAT, says, write_llms
from tests.pages.opening import open_menu, open_view


@pytest.fixture
def page(app: AppTest) -> AppTest:
    return app


def table(page: AppTest) -> str:
    return next(element.body for element in page.get("html") if "data-testid" in element.body)


def names(page: AppTest) -> list[str]:
    """LLMs in the order of the table's rows."""
    return [part.split('"', 1)[0] for part in table(page).split('data-llm="')[1:]]


def card(page: AppTest) -> str:
    """The answer over the table, as it is read."""
    body = next((element.body for element in page.get("html") if "usl-answer" in element.body), "")
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def parameter(page: AppTest, name: str) -> list[str]:
    """The values of a parameter in the page's address."""
    value = page.query_params[name]
    return value if isinstance(value, list) else [value]


def texts(page: AppTest) -> str:
    """What is written on the page, as it is read."""
    return " ".join(
        str(element.value).replace("\\", "")
        for kind in ("header", "subheader", "caption", "markdown", "error", "info")
        for element in page.get(kind)
    )


def test_opens_on_current_llms_with_the_default_ranking(page: AppTest) -> None:
    page.run()
    assert not page.exception
    assert page.selectbox(key="benchmark").value == "modern"
    assert len(names(page)) == 64
    assert "843 questions" in texts(page)
    assert "as they are rated on LMArena (49 of 64" in card(page)
    assert parameter(page, "benchmark") == ["modern"]


def test_typed_criteria_change_the_order_and_go_into_the_link(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    crowd = names(page)
    page.text_area(key="criteria_text").set_value("Warm and encouraging\nAvoid long-winded items").run()
    assert names(page)[0] == "lumen"
    assert names(page) != crowd
    assert parameter(page, "criterion") == ["Warm and encouraging", "avoid|long-winded items"]


def test_a_weight_and_avoid_are_set_by_line(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct")
    assert names(page)[0] == "brevia"
    page.toggle(key="avoid:0").set_value(True).run()
    assert names(page)[-1] == "brevia"
    assert page.text_area(key="criteria_text").value == "Avoid: Concise and direct"
    page.segmented_control(key="weight:0").set_value("Optional").run()
    assert parameter(page, "criterion") == ["avoid|optional|Concise and direct"]


def test_ticking_a_category_narrows_the_queries(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    page.checkbox(key="category:Arts & Culture").check().run()
    assert "42 questions" in texts(page)
    assert parameter(page, "topic") == ["Arts & Culture"]
    assert "Arts &amp; Culture</th>" in table(page)


def test_unticking_one_topic_of_a_category_keeps_the_others(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", topic="Arts & Culture")
    topics = [box for box in page.checkbox if (box.key or "").startswith("topic:Arts & Culture:")]
    topics[0].uncheck().run()
    assert "36 questions" in texts(page)
    assert len(parameter(page, "topic")) == len(topics) - 1


def test_select_all_and_clear_all(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    next(button for button in page.button if button.label == "Select all").click().run()
    assert len(parameter(page, "topic")) == 12
    assert "522 questions" in texts(page)
    next(button for button in page.button if button.label == "Clear all").click().run()
    assert "topic" not in page.query_params


def test_search_finds_topics(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    page.text_input(key="topic_search").set_value("poetry").run()
    found = [box.key for box in page.checkbox]
    assert found == ["topic:Creative Writing & Literature:Poetry"]
    page.checkbox(key=found[0]).check().run()
    assert "6 questions" in texts(page)


def test_every_format_can_be_downloaded(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct")
    open_menu(page, "formats_menu")
    open_menu(page, "share_menu")
    assert not page.exception
    labels = [button.proto.label for button in page.get("download_button")]
    assert labels == [
        "Download CSV",
        "CSV with titles, criteria, judge and date",
        "JSON",
        "Parquet",
        "Every Eval Ever 0.3 (JSON)",
        "Download picture",
    ]


def test_an_over_long_line_is_refused_and_the_last_ranking_stays(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Vivid imagery")
    page.text_area(key="criteria_text").set_value("x" * 400).run()
    assert "has 400 characters" in texts(page)
    assert names(page)[0] == "fabula"


def test_two_hundred_lines_are_ranked(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    page.text_area(key="criteria_text").set_value(
        "\n".join(f"mentions the number {n}" for n in range(200))
    ).run()
    assert not page.exception
    assert len(parameter(page, "criterion")) == 200
    assert len(names(page)) == 7


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "**bold** [link](http://a.b)", "簡潔な回答", ":red[x] $y$"]
)
def test_markup_and_other_scripts_in_a_criterion_stay_text(page: AppTest, text: str) -> None:
    open_view(page, benchmark="dailybench")
    page.text_area(key="criteria_text").set_value(text).run()
    assert not page.exception
    assert text in [element.value for element in page.text]
    assert "<script>" not in table(page)


def test_an_example_is_added_by_a_click(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    next(button for button in page.button if button.label == "Playful humor").click().run()
    assert page.text_area(key="criteria_text").value == "Playful humor"
    assert names(page)[0] == "jester"


def test_a_popular_set_is_added_with_its_weights(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Playful humor")
    open_menu(page, "examples_menu")
    assert len(page.selectbox(key="popular").options) == 40
    page.selectbox(key="popular").select("No lists").run()
    assert not page.exception
    assert parameter(page, "criterion") == [
        "Playful humor",
        "Flowing paragraphs of connected prose",
        "avoid|bullet points and numbered lists",
    ]
    assert page.selectbox(key="popular").value is None
    page.selectbox(key="popular").select("Formal").run()
    assert parameter(page, "criterion")[-1] == "avoid|important|slang and exclamation marks"


def test_a_link_to_nothing_known_says_so(page: AppTest) -> None:
    open_view(page, benchmark="no-such", topic="No such topic", crm="no-such")
    assert not page.exception
    assert "There is no benchmark “no-such”" in texts(page)


def test_a_judge_that_needs_texts_says_where_they_are_missing_and_the_last_ranking_stays(
    page: AppTest,
) -> None:
    open_view(page, benchmark="alpaca-eval")
    page.selectbox(key="judge").set_value("longer").run()
    assert "are not stored here" in texts(page)
    assert "python -m precompute import alpaca-eval" in texts(page)
    assert len(names(page)) == 47


def test_dailybench_says_that_its_assistants_are_one_llm(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    assert "one LLM under eight style instructions" in texts(page)


def test_an_address_that_lags_behind_does_not_undo_what_was_typed(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    page.text_area(key="criteria_text").set_value("Playful humor").run()
    del page.query_params["criterion"]  # as a browser that has not heard of the new address yet
    page.run()
    assert names(page)[0] == "jester"
    assert parameter(page, "criterion") == ["Playful humor"]


def test_length_is_taken_out_by_a_switch_that_goes_into_the_link(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct")
    assert "± adjusted" not in table(page)
    page.selectbox(key="control").set_value("length").run()
    assert not page.exception
    assert parameter(page, "control") == ["length"]
    assert "Adjusted for length. Win rates" in texts(page)
    assert "± adjusted" in table(page)
    assert "Adjusted for length" in table(page)


def test_a_link_with_an_unknown_control_says_so_and_the_rest_is_shown(page: AppTest) -> None:
    open_view(page, control="width")
    assert "There is no control 'width': choose one of none, length, style." in texts(page)
    assert len(names(page)) == 64


def test_how_sure_it_is_is_only_worked_out_where_it_is_looked_at(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct")
    assert "robustness" not in page.session_state
    page.session_state["tabs"] = "How sure"
    page.run()
    assert not page.exception
    assert "With other questions like these, brevia (extremely concise) would come first" in texts(page)
    page.selectbox(key="told_apart:1").set_value("stepwise").run()
    assert "brevia (extremely concise) is ahead of stepwise (numbered steps) by" in texts(page)
    assert 'data-testid="groups"' in table(page)


def test_llms_are_graded_criterion_by_criterion(page: AppTest) -> None:
    page.query_params["benchmark"] = "dailybench"
    page.query_params["criterion"] = ["Concise and direct", "optional|Avoid <b>lists</b>"]
    page.session_state["tabs"] = "By criterion"
    page.run()
    assert not page.exception
    assert 'data-testid="grades"' in table(page)
    assert "&lt;b&gt;lists&lt;/b&gt;<small>Optional</small>" in table(page)


def test_interests_and_weights_of_topics_go_into_the_link_and_say_what_they_cost(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    before = table(page)
    page.text_area(key="interests").set_value("planning family dinners\n\nshort stories").run()
    page.selectbox(key="weigh_topic").set_value("Poetry").run()
    page.number_input(key="topic_weight:Poetry").set_value(3.0).run()
    assert not page.exception
    assert parameter(page, "interest") == ["planning family dinners", "short stories"]
    assert parameter(page, "topic-weight") == ["Poetry=3"]
    assert "Topics are weighted: Poetry × 3." in texts(page)
    assert "Weighted by topic and interest" in table(page)
    page.button(key="unweigh:Poetry").click().run()
    page.text_area(key="interests").set_value("").run()
    assert table(page) == before
    assert "interest" not in page.query_params


def test_weights_of_a_link_are_shown_and_unknown_ones_left_out(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", topic_weight=["Poetry=0", "<b>=2"], interest="riddles")
    assert "has no topic “<b>”; its weight is left out" in texts(page)
    assert page.number_input(key="topic_weight:Poetry").value == 0
    assert page.text_area(key="interests").value == "riddles"


def test_too_long_an_interest_is_refused_and_the_last_ranking_stays(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    before = table(page)
    page.text_area(key="interests").set_value("x" * 301).run()
    assert "has 301 characters" in texts(page)
    assert table(page) == before


def test_what_cannot_be_judged_is_left_out_until_it_is_switched_on(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    crowd = names(page)
    assert "keep_unjudged" not in [toggle.key for toggle in page.toggle]
    page.text_area(key="criteria_text").set_value("Written in Finnish").run()
    assert not page.exception
    assert names(page) == crowd
    assert "“Written in Finnish” is left out of this ranking." in texts(page)
    assert card(page).split()[:2] == ["By", "default"]
    assert "Your criterion is left out, so this is the ranking without criteria" in card(page)
    page.text_area(key="criteria_text").set_value("Written in Finnish\nPlayful humor").run()
    assert names(page)[0] == "jester"
    alone = table(page).split("<thead>")[1]
    page.toggle(key="keep_unjudged").set_value(True).run()
    assert parameter(page, "keep-unjudged") == ["1"]
    assert "Do not rely on “Written in Finnish” in this ranking." in texts(page)
    assert table(page).split("<thead>")[1] != alone


def test_a_criterion_says_how_it_is_read_and_the_table_what_it_counts(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion=["avoid|emojis", "funny", "Written in Finnish"])
    assert not page.exception
    badges = [element.value for element in page.markdown if "-badge[" in element.value]
    assert badges == [":green-badge[counted]", ":blue-badge[known style]", ":orange-badge[left out]"]
    assert "Read as fewer emojis. Counted in every answer; a reader would agree " in texts(page)
    assert "Read as funny. Judged as a style" in texts(page)
    assert "emojis an answer<small>baseline " in table(page)
    assert "what your criteria count, on average over its answers" in texts(page)
    page.text_area(key="criteria_text").set_value("funny").run()
    assert "an answer<small>" not in table(page)
    assert "what your criteria count" not in texts(page)


def under_floor(page: AppTest) -> int:
    """How many LLMs are shown apart, under the floor."""
    shown = [element.body for element in page.get("html") if 'data-testid="under-floor"' in element.body]
    return sum(body.count("data-llm=") for body in shown)


def test_the_first_criteria_come_with_a_floor_and_the_papers_ranking_is_a_click_away(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval")
    assert "floor" not in page.query_params
    page.text_area(key="criteria_text").set_value("Short answers").run()
    assert not page.exception
    assert (len(names(page)), under_floor(page)) == (24, 23)
    assert parameter(page, "floor") == ["0.5"]
    assert "24 of 47 LLMs against" in texts(page)
    page.segmented_control(key="floor").set_value("Criteria alone").run()
    assert (len(names(page)), under_floor(page)) == (47, 0)
    assert "floor" not in page.query_params
    page.text_area(key="criteria_text").set_value("Short answers\nWarm").run()
    assert len(names(page)) == 47
    page.segmented_control(key="floor").set_value("Good and suited").run()
    assert (len(names(page)), under_floor(page)) == (24, 23)
    next(button for button in page.button if button.label == "Clear").click().run()
    assert (len(names(page)), under_floor(page)) == (47, 0)
    assert "floor" not in page.query_params


def test_a_link_without_a_floor_shows_all_and_one_with_another_keeps_it(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval", criterion="Short answers")
    assert (len(names(page)), page.segmented_control(key="floor").value) == (47, "Criteria alone")
    open_view(page, floor="0.9")
    assert (len(names(page)), page.segmented_control(key="floor").value) == (5, "Good and suited")
    assert "Only LLMs in the best 10 % of what people prefer in general" in texts(page)


def test_of_few_llms_none_is_under_a_floor_unless_a_link_asks_for_it(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    page.text_area(key="criteria_text").set_value("Short answers").run()
    assert len(names(page)) == 7
    assert "floor" not in page.query_params
    page.selectbox(key="benchmark").set_value("alpaca-eval").run()
    assert len(names(page)) == 24


def test_essential_criteria_become_a_must_by_a_switch(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion=["Concise and direct", "optional|Warm"])
    assert "misses" not in table(page)
    page.toggle(key="must_have").set_value(True).run()
    assert not page.exception
    assert parameter(page, "must-have") == ["1"]
    assert table(page).count("misses “Concise and direct”") == 4
    assert "Essential criteria are a must: 4 of 7 LLMs miss one" in table(page)
    page.session_state["tabs"] = "How sure"
    page.run()
    assert "Only the LLMs that miss the fewest musts are compared here." in texts(page)
    page.segmented_control(key="weight:0").set_value("Important").run()
    assert "must_have" not in [toggle.key for toggle in page.toggle]


def test_a_narrow_selection_warns(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", topic="Poetry")
    assert "too narrow to rank" in card(page)
    assert not card(page).strip().startswith("Best by default")


def test_a_filter_hides_rows_and_says_how_many_for_what_is_not_known(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval", criterion="Warm and kind")
    everyone = names(page)
    open_menu(page, "filter_menu")
    page.toggle(key="open_weights").set_value(True).run()
    page.number_input(key="max_price").set_value(0.5).run()

    assert not page.exception
    assert parameter(page, "open-weights") == ["1"]
    assert parameter(page, "max-price") == ["0.5"]
    left = names(page)
    assert 0 < len(left) < 10
    assert left == [llm for llm in everyone if llm in left]
    assert re.search(rf"{len(left)} of 47 LLMs are listed, \d+ hidden, \d+ of them as", table(page))
    assert "Among the LLMs listed: " in card(page)
    page.button(key="show_all").click().run()
    assert names(page) == everyone
    assert "max-price" not in page.query_params


def test_a_wrong_date_is_refused_and_nothing_is_hidden(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval")
    open_menu(page, "filter_menu")
    page.text_input(key="released_since").set_value("last June").run()
    assert "'last June' is no date" in texts(page)
    assert len(names(page)) == 47
    page.text_input(key="released_since").set_value("2024-06").run()
    assert "is no date" not in texts(page)
    assert 0 < len(names(page)) < 20


def test_a_link_sorts_and_names_the_persons_month(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval", sort="price", messages="20", search="llama instruct")
    assert names(page)[0] == "Meta-Llama-3-8B-Instruct"
    assert 'aria-sort="ascending"' in table(page)
    assert "Your month" in table(page)
    open_menu(page, "use_menu")
    assert page.number_input(key="use_messages").value == 20


def test_an_unknown_organisation_in_a_link_is_named_and_everybody_is_listed(page: AppTest) -> None:
    open_view(page, benchmark="alpaca-eval", organisation="Acne")
    assert "No LLM by 'Acne' is known" in texts(page)
    assert len(names(page)) == 47


def test_where_nothing_is_known_of_llms_there_is_nothing_to_filter(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    assert not [toggle for toggle in page.toggle if toggle.key == "open_weights"]
    assert not {"Price", "Human votes"} & {tab.label for tab in page.tabs}
    page.text_input(key="llm_search").set_value("playful").run()
    assert names(page) == ["jester"]


def test_price_and_votes_have_tabs_of_their_own(page: AppTest) -> None:
    page.session_state["tabs"] = "Price"
    open_view(page, benchmark="alpaca-eval")
    assert not page.exception
    assert "Best for the money, from the cheapest: " in texts(page)
    page.session_state["tabs"] = "Human votes"
    page.run()
    assert not page.exception
    assert "with the votes on" in texts(page)
    assert any('data-testid="votes"' in element.body for element in page.get("html"))


def test_every_llm_is_ranked_against_every_other_on_a_click(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct")
    assert "atlas" not in names(page)
    page.segmented_control(key="against").set_value("all").run()

    assert not page.exception
    assert "atlas" in names(page)
    assert parameter(page, "against") == ["all"]
    assert "Wins against the others" in table(page)
    assert "8 LLMs against each other" in texts(page)
    assert "percentage of the other LLMs’ answers" in texts(page)
    assert page.selectbox(key="control").disabled

    page.segmented_control(key="against").set_value("baseline").run()
    assert "against" not in page.query_params
    assert "atlas" not in names(page)


def test_llms_that_answered_few_queries_are_taken_in_by_a_switch(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    page.toggle(key="keep_partial").set_value(True).run()
    assert not page.exception
    assert parameter(page, "keep-partial") == ["1"]


def links(page: AppTest) -> list[str]:
    """Where the links between pages lead."""
    return [f"{link.proto.page}?{link.proto.query_string}" for link in page.get("page_link")]


def test_without_criteria_the_answer_is_the_default_and_three_ways_lead_on(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    assert "By default" in card(page)
    assert "This is the judge’s guess at what people prefer on average" in card(page)
    mark = 'id="say-what-you-like"'
    bodies = [element.body for element in page.get("html")]
    assert any(mark in body for body in bodies)
    assert any('href="#say-what-you-like"' in body for body in bodies)
    assert [link.split("?")[0] for link in links(page)] == ["find", "find"]
    assert "way=history" in links(page)[1]
    page.text_area(key="criteria_text").set_value("Playful humor").run()
    assert not links(page)


def test_criteria_are_answered_over_the_table(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion=["Concise and direct", "no lists"])
    assert not page.exception
    said = card(page)
    assert "Best for you brevia (extremely concise)" in said
    assert re.search(r"Why .*list items.* Judged by “Concise and direct” alone, it wins", said, re.IGNORECASE)
    assert "brevia (extremely concise) stays first whichever criterion or topic is left out." in said
    assert "brevia (extremely concise) is 7th of 7 by default" in said
    assert "“Concise and direct” known style “no lists” counted" in said
    assert "…" not in said
    open_menu(page, "share_menu")
    copied = next(code.value for code in page.code if code.value.startswith("What I like"))
    assert "Best for you: brevia (extremely concise)." in copied
    assert copied.endswith("?benchmark=dailybench&criterion=Concise+and+direct&criterion=no+lists")


def test_with_a_filter_the_answer_is_of_those_listed(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Concise and direct", search="ste", sort="name")
    assert names(page) == ["jester", "stepwise"]
    said = card(page)
    assert "brevia" not in said
    assert re.search("Best for you of the 2 listed (jester|stepwise)", said)
    assert re.search(r"Your filters hide \d LLMs? that ranks? higher\.", said)
    page.text_input(key="llm_search").set_value("nobody").run()
    assert "No LLM passes your filters" in card(page)


def test_llms_that_lack_a_part_of_the_choice_are_ranked_at_the_press_of_a_button(page: AppTest) -> None:
    open_view(page, benchmark="modern", topic=["Riddles with a twist", "Stories: everyday and open"])
    complete = names(page)
    button = page.button(key="rank_partial")
    assert "Not compared" in texts(page)
    assert f"Only {len(complete)} of 64 LLMs answered enough of all you chose to be compared." in card(page)
    assert re.fullmatch(r"Rank (them|\d+ of them) as well, by what they answered", button.label)
    button.click().run()
    assert parameter(page, "keep-partial") == ["1"]
    assert len(names(page)) > 3 * len(complete)
    assert page.toggle(key="keep_partial").value
    assert not [each for each in page.button if each.key == "rank_partial"]


def test_the_judge_of_the_default_ranking_is_chosen_apart(page: AppTest) -> None:
    open_view(page, benchmark="dailybench")
    by_embedded = names(page)
    page.selectbox(key="default_judge").set_value("longer").run()
    by_length = names(page)
    assert parameter(page, "default-crm") == ["longer"]
    assert by_length != by_embedded
    assert by_length[0] == "scholia"  # the wordiest

    page.text_area(key="criteria_text").set_value("Concise and direct").run()
    assert names(page)[0] == "brevia"  # the criteria are still judged by the embedded judge
    assert "scholia (in-depth, analytical), is 7th for you" in card(page)


def test_a_line_with_commas_is_offered_as_several_criteria(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="important|short, friendly, no emojis")
    page.button(key="split:0").click().run()
    assert parameter(page, "criterion") == ["important|short", "important|friendly", "important|no emojis"]
    assert page.text_area(key="criteria_text").value.splitlines() == ["short", "friendly", "no emojis"]
    assert "split:0" not in {button.key for button in page.button}


def criteria_box(page: AppTest) -> str:
    return str(page.text_area(key="criteria_text").value)


def test_a_topic_gets_a_list_of_its_own_and_the_common_one_stays(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Short answers")
    open_menu(page, "lists_menu")
    page.selectbox(key="criteria_list_new").set_value("Puzzles & Logic").run()
    assert not page.exception
    assert criteria_box(page) == "Short answers"
    page.text_area(key="criteria_text").set_value("Warm\nAvoid: jokes").run()

    written = ["for=Puzzles & Logic|Warm", "for=Puzzles & Logic|avoid|jokes"]
    assert parameter(page, "criterion") == ["Short answers", *written]
    page.segmented_control(key="criteria_list_choice").set_value("Everything else").run()
    assert criteria_box(page) == "Short answers"
    page.text_area(key="criteria_text").set_value("Concise").run()
    assert parameter(page, "criterion") == ["Concise", *written]
    assert "For Puzzles & Logic: Warm" in card(page)


def test_an_emptied_list_of_a_topic_is_gone(page: AppTest) -> None:
    page.query_params["benchmark"] = "dailybench"
    page.query_params["criterion"] = ["Concise", "for=Puzzles & Logic|Warm"]
    page.run()
    page.segmented_control(key="criteria_list_choice").set_value("Puzzles & Logic").run()
    page.text_area(key="criteria_text").set_value("").run()

    assert not page.exception
    assert parameter(page, "criterion") == ["Concise"]
    assert criteria_box(page) == "Concise"


def test_a_list_for_a_topic_that_there_is_not_is_left_out(page: AppTest) -> None:
    page.query_params["benchmark"] = "dailybench"
    page.query_params["criterion"] = ["Concise", "for=Cooking on Mars|Warm"]
    page.run()

    assert "no topic “Cooking on Mars”: its criteria are left out" in texts(page)
    assert parameter(page, "criterion") == ["Concise"]


def test_a_broad_wish_is_replaced_by_what_is_meant(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="important|better writing")
    [pills] = page.get("button_group")[:0] or [
        item for item in page.button_group if "can mean much" in item.label.replace("\\", "")
    ]
    assert page.button(key="sharpen:0").disabled
    pills.set_value(["Short sentences"]).run()
    page.button(key="sharpen:0").click().run()

    assert not page.exception
    assert parameter(page, "criterion") == ["important|Short sentences"]


def test_an_llm_says_what_else_a_broad_wish_may_mean(
    page: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer() as server:
        useful = says({"meanings": ["Active verbs", "No jargon", "A plan"]})
        server.on(CHAT, *[says("Hm.")] * 3, useful)
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, server.url, retries=0)))
        monkeypatch.setenv("CRITIC_KEY", "k")
        monkeypatch.setenv("USL_COACH", "writer")
        open_view(page, benchmark="dailybench", criterion=["better writing", "Short answers"])
        assert not server.asked[CHAT]
        page.button(key="meanings:0").click().run()
        assert "wrote no meanings that can be used" in texts(page)
        page.button(key="meanings:0").click().run()
        [pills] = [item for item in page.button_group if "can mean much" in item.label.replace("\\", "")]
        assert list(pills.options)[-3:] == ["Active verbs", "No jargon", "A plan"]
        assert "meanings:0" not in [button.key for button in page.button]
        pills.set_value(["No jargon"]).run()
        page.button(key="sharpen:0").click().run()

        assert not page.exception
        assert parameter(page, "criterion") == ["No jargon", "Short answers"]
        assert "Short answers" in server.asked[CHAT][-1]["messages"][-1]["content"]


def test_two_answers_show_what_a_criterion_is_about(page: AppTest) -> None:
    open_view(page, benchmark="dailybench", criterion="Bullet points")
    page.button(key="example:0").click().run()

    assert not page.exception
    shown = " ".join(element.body for element in page.get("html"))
    assert "More of it" in shown
    assert "Less of it" in shown
