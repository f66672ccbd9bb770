"""Which annotated texts are there, and loading those that are not from a server of the test's own."""

import json
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from crm.cli import main
from crm.data import fetching
from crm.data.corpora import CorpusFile, LeftOut, alpaca_eval_file, corpora_states, flask_file
from crm.data.fetching import changed_instructions, fetch_corpora
from crm.data.pairs import read_annotations
from crm.errors import CRMError
from crm.paths import EMBEDDED_FILE, PREFERENCES
from tests.conftest import Run

INSTRUCTION, QUESTION = "Name a colour.", "Why is the sky blue?"


def row(source: str, text: str, **more: object) -> dict[str, object]:
    digest = sha256(text.encode()).hexdigest()[:16]
    return {
        **{"source": source, "instruction_index": 0, "instruction_sha256": digest, "split": "train"},
        **{"model_a": "terse", "model_b": "wordy", "criteria_a": ["short"], "criteria_b": ["long"]},
        **more,
    }


@pytest.fixture
def annotations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One pair of AlpacaEval, one of FLASK and one of current LLMs, in place of the shipped ones."""
    rows = [
        row("alpaca_eval", INSTRUCTION),
        row("flask", QUESTION),
        row("syco_bench", "?", prompt_id="p1"),
    ]
    path = tmp_path / "annotations.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    monkeypatch.setattr(fetching, "SHIPPED", (path,))
    return path


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """The repositories as GitHub serves their files."""
    folder = tmp_path / "published"
    for llm in ("gpt4_1106_preview", "terse", "wordy"):
        outputs = [{"instruction": INSTRUCTION, "output": f"{llm} says red"}]
        write(folder / alpaca_eval_file(llm).published, json.dumps(outputs))
    for llm in ("terse", "wordy"):
        write(folder / flask_file(llm).published, json.dumps({"question_id": 0, "text": f"{llm}: air"}))
    write(folder / flask_file().published, json.dumps({"idx": 0, "instruction": QUESTION}))
    return folder


@pytest.fixture
def served(published: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a server of these files, and what it was asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(published)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_what_is_fetched_is_read_by_annotations(
    annotations: Path, served: tuple[str, list[str]], tmp_path: Path, run_main: Run
) -> None:
    url, asked = served
    folder = tmp_path / "corpora"
    before = {
        state.source: (state.readable, len(state.lacking)) for state in corpora_states(folder, [annotations])
    }
    code, out, _ = run_main(main, "corpora", "--corpora", folder, "--published", url)
    left_out = LeftOut()
    read = read_annotations(annotations, folder, left_out=left_out)

    assert before == {"alpaca_eval": (0, 3), "flask": (0, 3), "syco_bench": (0, 0)}
    assert code == 0
    assert "1 of 1" in out
    assert "bundled/modern/README.md" in out
    assert [(item.pair.query, item.pair.response_b) for item, _ in read] == [
        (INSTRUCTION, "wordy says red"),
        (QUESTION, "wordy: air"),
    ]
    assert "1 of 3 annotated pairs are left out" in str(left_out.note(len(read), folder))
    assert "syco_bench 1" in str(left_out.note(len(read), folder))

    run_main(main, "corpora", "--corpora", folder, "--published", url)
    assert len(asked) == 6, "what is there is not loaded again"


def test_a_file_that_is_not_published_is_named_and_the_others_are_kept(
    annotations: Path, published: Path, served: tuple[str, list[str]], tmp_path: Path, run_main: Run
) -> None:
    (published / flask_file("wordy").published).unlink()
    folder = tmp_path / "corpora"
    code, _, err = run_main(main, "corpora", "--corpora", folder, "--published", served[0])

    assert code == 2
    assert "1 files could not be loaded" in err
    assert "flask/outputs/wordy.jsonl (status 404)" in err
    assert [state.readable for state in corpora_states(folder, [annotations])] == [1, 0, 0]


def test_texts_that_were_published_anew_are_refused(
    annotations: Path, published: Path, served: tuple[str, list[str]], tmp_path: Path, run_main: Run
) -> None:
    write(published / flask_file().published, json.dumps({"idx": 0, "instruction": "Something else?"}))
    folder = tmp_path / "corpora"
    code, _, err = run_main(main, "corpora", "--corpora", folder, "--published", served[0])

    assert code == 2
    assert "1 annotated pairs are about instructions that read otherwise" in err
    assert changed_instructions(folder, [annotations]) == 1


def test_without_a_network_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    file = CorpusFile(Path("a/b"), "owner/repository/HEAD/b")
    with pytest.raises(CRMError, match=r"cannot be reached .* copy the folder to"):
        fetch_corpora(tmp_path, [file], published="http://127.0.0.1:9")
    assert not list(tmp_path.iterdir())


def test_listing_loads_nothing(annotations: Path, tmp_path: Path, run_main: Run) -> None:
    code, out, _ = run_main(
        main, "corpora", "--list", "--corpora", tmp_path / "none", "--published", "http://127.0.0.1:9"
    )
    assert code == 0
    assert "0 of 1" in out
    assert "3 files: “python -m crm corpora”" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "classifier", "--out", "mine"),
        ("train", "representation"),
        ("train", "styles"),
        ("train", "axes"),
        ("evaluation-sets",),
        ("evaluate", PREFERENCES),
    ],
)
def test_commands_that_need_texts_say_how_to_get_them(
    run_main: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run_main(main, *arguments, "--corpora", tmp_path / "none")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "“python -m crm corpora” fetches" in err
    assert not list(tmp_path.iterdir())


def test_the_default_ranking_can_be_taken_over_where_votes_are_not_there(
    run_main: Run, tmp_path: Path
) -> None:
    code, _, err = run_main(
        main, "train", "embedded", "--corpora", tmp_path / "none", "--out", tmp_path / "x.npz"
    )
    assert code == 2
    assert f"--general-of bundled/crm/{EMBEDDED_FILE.name}" in err


def test_nothing_bundled_is_written_by_default() -> None:
    import inspect

    from crm.evaluation.making_sets import criterion_clusters_command
    from crm.paths import BUNDLED, CHECKPOINTS
    from crm.training.cli import (
        train_concepts,
        train_embedded,
        train_general,
        train_representation,
        train_styles,
    )

    for command in (
        train_concepts,
        train_embedded,
        train_general,
        train_representation,
        train_styles,
        criterion_clusters_command,
    ):
        out = inspect.signature(command).parameters["out"].default
        assert out.parent == CHECKPOINTS
        assert not out.is_relative_to(BUNDLED)
