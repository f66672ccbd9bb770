"""A tiny run; LLMs are a local HTTP server that speaks the protocol of chat completions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import _contexts
from benchmarks._discovery import (
    BASELINE,
    EACH,
    FREE,
    NOBODY,
    ONCE,
    ONCE_COMMON,
    ORACLE,
    Condition,
    Field,
    chosen_align,
    ends,
    interviewed,
    named_weight,
)
from benchmarks.prefdisco import app, rows_of
from crm.cli_runner import run_cli
from crm.criteria import CriteriaSet
from crm.embedded.model import embedded_crm
from crm.errors import CRMError
from leaderboard.elicitation.library import criterion_library
from leaderboard.errors import LeaderboardError
from leaderboard.service import Service
from tests.conftest import Run
from tests.crm.backends.scripted_server import Answer, ScriptedServer
from tests.leaderboard.critique_samples import CHAT, KEY, says, write_llms
from tests.leaderboard.rubrics.samples import grader, prompt_of

CONTEXTS = ("Arts & Culture", "Puzzles & Logic")
TINY = ("--people", "2", *(word for name in CONTEXTS for word in ("--context", name)))


@pytest.fixture(scope="module")
def field(service: Service) -> Field:
    return Field.of(service.benchmark("dailybench"), embedded_crm(), CONTEXTS)


@pytest.fixture
def few_wordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read hundreds of them takes a minute; here every second attribute has the library's own."""

    def worded(*_: object) -> dict[int, tuple[str, ...]]:
        library = criterion_library()
        return {place: (library[place].criterion.text,) for place in range(0, len(library), 2)}

    monkeypatch.setattr(_contexts, "held_out_wordings", worded)


def run(run_main: Run, *arguments: object) -> tuple[int, str, str]:
    return run_main(lambda: run_cli(app, CRMError, LeaderboardError), *arguments)


def rows(out: str) -> dict[str, str]:
    names = (BASELINE, EACH, ONCE, ONCE_COMMON, FREE, ORACLE)
    return {name: line for line in out.splitlines() for name in names if line.startswith(name)}


def test_queries_are_halved_within_each_category(field: Field) -> None:
    for name in field.contexts:
        here = field.within(name)
        assert abs(int((here & field.measured).sum()) - int((here & ~field.measured).sum())) <= 1
        assert not (field.candidates[name].ranked & field.measured).any()
        assert (field.candidates[name].ranked == (here & ~field.measured)).all()
    assert not (field.all_candidates.ranked & field.measured).any()


def test_equal_win_rates_are_told_apart_by_probability(field: Field) -> None:
    prob = np.full(field.default.shape, 0.6)
    prob[2], prob[4] = 0.7, 0.4
    assert field.first(CONTEXTS[0], prob) == 2
    prob[2, field.within(CONTEXTS[0]) & ~field.measured] = 0.0  # other queries do not count
    assert field.first(CONTEXTS[0], prob) == 2


def test_who_states_nothing_gets_the_default_ranking(field: Field) -> None:
    wants = np.zeros(field.margins.n_criteria)
    session = interviewed(field.candidates[CONTEXTS[0]], wants, 0)

    assert all(reply.text == "No preference" for reply in session.replies)
    assert field.by_checklist(session) is field.default


def test_an_interview_finds_a_wish_that_a_question_names(field: Field) -> None:
    labels = [item.label for item in criterion_library()]
    wants = np.zeros(field.margins.n_criteria)
    wants[labels.index("Humour")] = 1.0
    session = interviewed(field.candidates[CONTEXTS[0]], wants, 0)

    assert "Funny" in [reply.text for reply in session.replies]
    assert named_weight(session, wants) == 1
    assert named_weight(session, -wants) == 0
    llm = field.first(CONTEXTS[0], field.by_checklist(session))
    assert field.benchmark.llms[llm] == "jester"


def test_criteria_that_nobody_can_judge_leave_the_default_ranking(field: Field) -> None:
    assert field.by_criteria(CriteriaSet.of(["is factually correct"])) is field.default
    both = field.by_criteria(CriteriaSet.of(["is factually correct", "short answers"]))
    np.testing.assert_array_equal(both, field.by_criteria(CriteriaSet.of(["short answers"])))


def test_the_oracle_knows_each_profile_and_the_baseline_nobody(field: Field, few_wordings: None) -> None:
    attributes = _contexts.Attributes.of(field.benchmark, field.crm, field.margins, field.contexts)
    people = [attributes.person(np.random.default_rng(seed)) for seed in range(6)]
    lowest, highest, align = ends(field, people, lambda _: None)

    assert align.shape == (6, 2, 7)
    assert ((align >= 0) & (align <= 5)).all()
    assert (lowest.first == lowest.first[0]).all()
    assert chosen_align(align, highest).mean() > chosen_align(align, lowest).mean() + 0.3


def test_an_interview_that_failed_counts_nowhere() -> None:
    align = np.arange(8.0).reshape(2, 2, 2)
    failed = Condition(FREE, np.array([[1, NOBODY], [NOBODY, NOBODY]]))
    lowest, highest = (Condition(name, np.full((2, 2), llm)) for llm, name in enumerate((BASELINE, ORACLE)))

    np.testing.assert_array_equal(chosen_align(align, failed), [[1, np.nan], [np.nan, np.nan]])
    [_, found, _] = rows_of([lowest, failed, highest], align)
    assert found == ("1.00", "100 ± nan", "100 ± nan", "0 %")


def test_a_tiny_run_prints_and_writes_its_table(run_main: Run, few_wordings: None, tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    code, out, _ = run(run_main, *TINY, "--output", table)

    assert code == 0
    assert set(rows(out)) == {BASELINE, EACH, ONCE, ONCE_COMMON, ORACLE}
    assert "2 people with held-out wordings in 2 contexts of 7 LLMs" in out
    assert table.read_text(encoding="utf-8").startswith("# Discovering people whose preferences depend")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("CRITIC_KEY", KEY)
        monkeypatch.setenv("USL_LLMS", str(write_llms(tmp_path, running.url, retries=0)))
        yield running


def all_parts(asked: Any) -> Answer:
    """One LLM as interviewer, passive user and grader."""
    prompt = prompt_of(asked)
    if "<wants>" in prompt:
        return says({"answer": "Short ones."})
    if "as interviewer" in prompt or "so that the LLM that suits them best" in prompt:
        said = "Short ones." in prompt
        criteria = {"criteria": [{"text": "short answers", "weight": "Essential"}]}
        return says(criteria if said else {"question": "How long?"})
    return grader(asked)


def test_llms_interview_answer_and_grade(
    run_main: Run, few_wordings: None, server: ScriptedServer, tmp_path: Path
) -> None:
    server.on(CHAT, all_parts)
    llms = ("--interviewer", "writer", "--passive", "writer", "--grader", "writer", "--queries", "1")
    options = (*TINY, *llms, "--kept", tmp_path / "kept")
    code, out, err = run(run_main, *options)

    assert code == 0
    assert "At most 24 requests to writer as interviewer and 20 to writer as passive user" in err
    assert "requests to writer for rubrics and" in err
    assert rows(out)[FREE].split()[4:6] == ["1.00", "±"]  # one question each
    assert "PrefAlign, under rubrics" in out
    assert "Under rubrics: writer, 1 queries a context, 0 without a grade." in out.replace("\n", " ")
    n_asked = len(server.asked[CHAT])
    assert run(run_main, *options)[1] == out
    assert len(server.asked[CHAT]) == n_asked  # everything was kept


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--interviewer", "writer"), "name --interviewer and --passive"),
        (("--passive", "writer"), "name --interviewer and --passive"),
        (("--grader", "nobody"), "There is no LLM 'nobody' in llms.toml"),
        (("--benchmark", "modern"), "has no baseline"),
        (("--context", "Sailing"), "There is no category 'Sailing': choose among"),
        (("--benchmark", "alpaca-eval", "--grader", "writer"), "The texts of AlpacaEval"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(
    run_main: Run, server: ScriptedServer, arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = run(run_main, *arguments)

    assert (code, out) == (2, "")
    assert said in err
    assert not server.asked[CHAT]


def test_a_context_with_hardly_any_attribute_is_refused(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_contexts, "held_out_wordings", lambda *_: {0: ("short",)})
    with pytest.raises(LeaderboardError, match="too few, so choose other categories"):
        _contexts.Attributes.of(field.benchmark, field.crm, field.margins, field.contexts)
