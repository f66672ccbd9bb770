"""Themes of annotations and of extracted criteria, found by the command line and named by an endpoint."""

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from crm.data.kinds import kind_shares
from crm.data.taxonomy import CriterionThemes, Theme, ThemeCluster
from crm.llm.settings import read_llms
from db.repositories import llm_answers
from db.repositories.preferences import find_preference_set
from db.source_records import AnswerStatus, ExtractedRecord, SideKey, Winner
from precompute.criteria import themes as themes_module
from precompute.criteria.themes import name_themes
from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect.samples import completion
from tests.precompute.criteria import samples
from tests.precompute.criteria.conftest import Lab

FIRST = ("short", "long", "simple", "elegant", "classic", "modern", "plain")
SECOND = ("few", "many", "clear", "good", "varied", "careful", "strict")
PATTERNS = {
    "warm": ["a {} poem with {} rhymes", "{} verse in {} stanzas"],
    "brief": ["a {} recipe with {} ingredients", "{} dishes for {} dinners"],
    "code": ["{} code that handles {} exceptions", "a {} function with {} arguments"],
}


def lists_of(kind: str) -> Iterator[list[str]]:
    for one, other in product(FIRST, SECOND):
        yield [pattern.format(one, other) for pattern in PATTERNS[kind]]


def write_annotations(path: Path) -> Path:
    """Pairs whose sides have criteria on poems and food, and as many on code."""
    rows = [
        {"criteria_a": first, "criteria_b": [*second, *third]}
        for first, second, third in zip(*map(lists_of, PATTERNS), strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_files_of_annotations_are_clustered_anew(lab: Lab) -> None:
    file = write_annotations(lab.folder / "mine.jsonl")
    out = lab.folder / "themes.json"
    code, printed, err = lab.command("cluster-criteria", file, "--themes", 3, "--out", out)
    assert (code, err) == (0, "")
    assert f"3 themes in {out}." in printed
    found = CriterionThemes.load(out)
    assert (found.source, found.n, found.n_lists) == ("mine.jsonl", 294, 98)
    assert sorted(theme.n for theme in found.themes) == [98, 98, 98]
    keywords = " ".join(word for theme in found.themes for word in theme.keywords)
    assert all(word in keywords for word in ("rhymes", "recipe", "code"))
    assert "294 criteria, 294 of them different, in 98 lists." in printed

    first, *others = found.themes
    named = CriterionThemes(found.source, found.n_lists, found.n_different, (renamed(first), *others))
    named.save(out)
    code, printed, _ = lab.command("cluster-criteria", file, "--themes", 3, "--out", out, "--with-kinds")
    assert code == 0
    assert CriterionThemes.load(out) == named
    themes, kinds = printed.split("Kinds of criteria: mine.jsonl")
    assert "My name" in themes
    shares = {kind: float(share) for kind, share in re.findall(r"(\w+) +(\d+\.\d)%", kinds)}
    found_kinds = kind_shares([one for kind in PATTERNS for one in lists_of(kind)])
    assert shares == pytest.approx({one.kind: 100 * one.share for one in found_kinds}, abs=0.06)


def renamed(theme: Theme) -> Theme:
    return Theme("My name", theme.keywords, theme.n, theme.adjectives, theme.examples, theme.parts)


def test_extracted_criteria_are_clustered_and_their_themes_stored(lab: Lab) -> None:
    samples.store(lab.database, 147)
    lists = [criteria for kind in ("warm", "brief", "code") for criteria in lists_of(kind)]
    records = {
        SideKey(f"p{n}", Winner.A): ExtractedRecord(
            AnswerStatus.OK, "d", tuple(criteria), first_shown=Winner.A, llm="x"
        )
        for n, criteria in enumerate(lists)
    }
    with lab.database.session() as session:
        llm_answers.put_extracted(session, find_preference_set(session, samples.SLUG), records)
    code, printed, err = lab.command("cluster-criteria", "--preferences", samples.SLUG)
    assert (code, err) == (0, "")
    assert "Themes of criteria: Arena" in printed
    with lab.database.session() as session:
        stored = llm_answers.get_themes(session, find_preference_set(session, samples.SLUG))
    assert stored is not None
    found = CriterionThemes.from_json(stored)
    assert (found.n, found.n_lists) == (294, 147)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--preferences", "arena"), "No criteria of 'arena' are stored: run “python -m precompute extract"),
        (("--preferences", "absent"), "There is no preference data 'absent'"),
        (("x.jsonl", "--preferences", "arena"), "not both"),
        (("absent.jsonl",), "There is no file absent.jsonl"),
        (("--llm", "gamma"), "There is no LLM 'gamma'"),
    ],
)
def test_bad_input_is_one_sentence(lab: Lab, arguments: tuple[str, ...], said: str) -> None:
    lab.llms()
    code, out, err = lab.command("cluster-criteria", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1


def a_theme(*words: str, name: str = "") -> Theme:
    return Theme(
        name or words[0].capitalize(), words, 10, (("warm", 3),), ("Be warm",), (ThemeCluster(words, 10),)
    )


THEMES = CriterionThemes("a test", 7, 9, (a_theme("tone"), a_theme("code"), a_theme("sums", name="Numbers")))


def theme_in(prompt: str) -> str:
    return prompt.split("Typical words: ")[1].split("\n", maxsplit=1)[0]


def test_an_llm_names_the_themes_that_nobody_has_named(lab: Lab) -> None:
    names = {"tone": '{"name": "Tone and feeling."}', "code": '```json\n{"name": "Code"}\n```'}
    asked = lab.behave(lambda prompt, _: Answer(completion(names[theme_in(prompt)]))).asked
    [llm] = read_llms(lab.llms())
    named = name_themes(THEMES, llm)
    assert [theme.name for theme in named.themes.themes] == ["Tone and feeling", "Code", "Numbers"]
    assert len(asked) == 2
    assert "- Be warm\n" in asked[0]


def test_a_theme_keeps_its_name_when_the_llm_gives_none(lab: Lab) -> None:
    [llm] = read_llms(lab.llms(retries=0))
    for said, reason in (
        ('{"name": "numbers"}', "'numbers' would be there twice."),
        ("Tone!", 'The reply could not be used: it is no JSON object with a "name" of one to 5 words.'),
        ('{"name": "one two three four five six"}', "The reply could not be used: it is no JSON object"),
    ):
        lab.behave(lambda *_, said=said: Answer(completion(said)))
        named = name_themes(THEMES, llm)
        assert named.themes == THEMES
        assert named.n_unnamed == 2
        assert named.reason.startswith(reason)
    lab.server.on("/v1/chat/completions", Answer("no", 401))
    assert "refuses the API key" in name_themes(THEMES, llm).reason


def test_the_command_names_and_says_what_it_could_not_name(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(themes_module, "themes_of_shipped", lambda _: THEMES)
    lab.behave(
        lambda prompt, _: Answer(completion('{"name": "Feeling"}' if theme_in(prompt) == "tone" else "?"))
    )
    lab.llms()
    out = lab.folder / "themes.json"
    code, printed, err = lab.command("cluster-criteria", "--llm", "alpha", "--out", out)
    assert code == 0
    assert err.startswith("note: 1 theme keeps its name: The reply could not be used")
    assert [theme.name for theme in CriterionThemes.load(out).themes] == ["Feeling", "Code", "Numbers"]
    assert "Feeling" in printed
