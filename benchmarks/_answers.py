"""The command lines whose answers show that a checkout still says the same, and the files they read.

Only what does not change with names of modules is used: command lines, and files that this module writes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
_DAILYBENCH = _ROOT / "bundled" / "dailybench.usl.zip"
_HISTORY = _ROOT / "bundled" / "history-sample.jsonl"
_SHARED = _ROOT.parent / "shared"
ANNOTATIONS = _SHARED / "preferences" / "criteria_annotations.jsonl"
_N_PAIRS, _N_LABELLED, _N_ANNOTATIONS = 300, 60, 120
_PAIRS_EVERY = 20
"""Pairs are of every twentieth query, so that a judge that embeds texts meets each text several times."""

WORK = "WORK"
"""Stands in command lines for the folder of input files, and ``OUT`` for the folder of answers."""
OUT = "OUT"


@dataclass(frozen=True)
class Step:
    """One command line.

    Attributes:
        name: Kind and name of its answer: ``rank/no-criteria.csv``.
        argv: Module and arguments; the module ``edit`` replaces text in a file instead.
    """

    name: str
    argv: Sequence[str]

    @property
    def kind(self) -> str:
        """What it is an answer to: ``rank``."""
        return self.name.split("/", 1)[0]


_POOL = "everyday"
_CRITERIA: tuple[str | dict[str, str], ...] = (
    "Concise and easy to read",
    "Playful humor",
    "Warm and encouraging",
    "Step-by-step structure",
    "Weighs both sides, names caveats",
    "vivid imagery",
    "In-depth, detailed analysis",
    {"text": "Formal", "weight": "Important", "polarity": "want"},
    {"text": "bullet points", "weight": "Important", "polarity": "avoid"},
    {"text": "preamble and restating the question", "weight": "Optional", "polarity": "avoid"},
    {"text": "Everyday words that a layperson understands", "weight": "Optional", "polarity": "want"},
)

_OPTIONS: Mapping[str, Sequence[str]] = {
    "none": (),
    "one": ("--criterion", "Playful humor"),
    "vague": ("--criterion", "I like it when it feels like tea with an old friend"),
    "two": ("--criterion", "Concise and easy to read", "--criterion", "Warm and encouraging"),
    "four": (
        *("--criterion", "vivid imagery", "--criterion", "Formal", "--criterion", "step by step"),
        *("--avoid", "jargon"),
    ),
    "avoid": ("--avoid", "bullet points"),
    "avoid-two": ("--avoid", "emojis", "--avoid", "long answers"),
    "soft": ("--soft", "--criterion", "Playful humor"),
    "soft-none": ("--soft",),
    "length": ("--control", "length"),
    "length-one": ("--control", "length", "--criterion", "In-depth, detailed analysis"),
    "style": ("--control", "style"),
    "style-two": ("--control", "style", "--criterion", "Step-by-step structure", "--avoid", "humor"),
    "style-soft": ("--control", "style", "--soft", "--criterion", "formal"),
    "category": ("--topic", "Arts & Culture"),
    "categories": ("--topic", "Puzzles & Logic", "--topic", "Society & Politics", "--criterion", "poetic"),
    "weighted": ("--topic-weight", "Arts & Culture=3", "--topic-weight", "Lifestyle & Hobbies=0.5"),
    "weighted-none": ("--topic-weight", "Business & Careers=0", "--criterion", "warm"),
    "interest": ("--interest", "planning trips with small children"),
    "interests": (
        *("--interest", "cooking for guests", "--interest", "writing letters", "--criterion", "concise"),
        *("--topic-weight", "Lifestyle & Hobbies=2", "--control", "length"),
    ),
    "interest-topic": ("--interest", "old films", "--topic", "Arts & Culture", "--avoid", "lists"),
}
_DAILYBENCH_OPTIONS: Mapping[str, Sequence[str]] = {
    "topic": ("--topic", "Pets"),
    "topics": ("--topic", "Pets", "--topic", "Short fiction", "--criterion", "warm"),
    "topic-and-category": ("--topic", "Pets", "--topic", "Arts & Culture", "--control", "style"),
    "topic-weight": ("--topic-weight", "Pets=20", "--criterion", "funny"),
    "longer": ("--crm", "longer"),
    "longer-one": ("--crm", "longer", "--criterion", "Playful humor"),
    "longer-length": ("--crm", "longer", "--control", "length", "--topic", "Society & Politics"),
    "cosine": ("--crm", "cosine", "--topic", "Pets"),
    "cosine-soft": ("--crm", "cosine", "--soft", "--criterion", "cats", "--avoid", "dogs", "--topic", "Pets"),
    "profile": ("--profile", f"{WORK}/profile.json"),
    "profile-changed": ("--profile", f"{WORK}/profile.json", "--control", "none", "--criterion", "funny"),
    "profile-weights": ("--profile", f"{WORK}/weights.json"),
}
_ODD: Mapping[str, Sequence[str]] = {
    "no-benchmark": ("rank", "--benchmark", "nope"),
    "no-topic": ("rank", "--benchmark", "dailybench", "--topic", "Petz"),
    "no-judge": ("rank", "--benchmark", "dailybench", "--crm", "nope"),
    "no-control": ("rank", "--control", "colour"),
    "no-option": ("rank", "--colour", "red"),
    "no-texts": ("rank", "--benchmark", "alpaca-eval", "--crm", "longer"),
    "blank-criterion": ("rank", "--benchmark", "dailybench", "--criterion", "  "),
    "long-criterion": ("rank", "--benchmark", "dailybench", "--criterion", "funny " * 100),
    "same-criterion": ("rank", "--benchmark", "dailybench", "--criterion", "funny", "--avoid", "funny"),
    "bad-weight": ("rank", "--topic-weight", "Pets=many"),
    "heavy-weight": ("rank", "--topic-weight", "Pets=1000"),
    "all-weightless": ("rank", "--benchmark", "dailybench", "--topic", "Pets", "--topic-weight", "Pets=0"),
    "long-interest": ("rank", "--interest", "walking " * 100),
    "no-profile": ("rank", "--profile", f"{WORK}/nowhere.json"),
    "later-profile": ("rank", "--profile", f"{WORK}/later.json"),
    "broken-profile": ("rank", "--profile", f"{WORK}/broken.json"),
    "win-rates-missing": ("win-rates", "--benchmark", "dailybench"),
    "correlate-missing": ("correlate", f"{WORK}/a.csv", f"{WORK}/b.csv"),
    "correlate-broken": ("correlate", f"{WORK}/broken.json", f"{WORK}/table.csv"),
    "history-missing": ("criteria-from", f"{WORK}/nowhere.jsonl"),
    "history-broken": ("criteria-from", f"{WORK}/broken.json"),
}
_HELP = (
    *("leaderboard", "leaderboard rank", "leaderboard correlate", "leaderboard win-rates"),
    *("leaderboard criteria-from", "crm", "crm score", "crm train", "precompute", "precompute import"),
    *("precompute pool", "precompute cluster", "precompute sample", "precompute topics"),
    *("precompute score", "precompute bundle", "precompute collect"),
)
_EXISTING_VIEWS: Mapping[str, Sequence[str]] = {
    "dailybench-none": ("--benchmark", "dailybench"),
    "dailybench-scored": ("--benchmark", "dailybench", "--crm", "longer", "--criterion", "Playful humor"),
    "dailybench-profile": ("--profile", f"{WORK}/profile.json"),
    "alpaca-eval-four": ("--benchmark", "alpaca-eval", *_OPTIONS["four"]),
    "imported": ("--benchmark", "mine", "--criterion", "concise"),
}


def steps() -> Iterator[Step]:
    """Yield all command lines on a new database, in their order."""
    for command in _HELP:
        yield Step(f"help/{command.replace(' ', '-')}.txt", (*command.split(), "--help"))
    for name, argv in _ODD.items():
        yield Step(f"odd/{name}.txt", ("leaderboard", *argv))
    for slug in ("dailybench", "alpaca-eval"):
        further = _DAILYBENCH_OPTIONS if slug == "dailybench" else {}
        for name, options in {**_OPTIONS, **further}.items():
            benchmark = () if "--profile" in options else ("--benchmark", slug)
            for form in ("csv", "json"):
                argv = ("leaderboard", "rank", *benchmark, *options, "--format", form)
                yield Step(f"rank/{slug}-{name}.{form}", argv)
        for name in ("none", "two", "interests"):
            argv = ("leaderboard", "rank", "--benchmark", slug, *_OPTIONS[name])
            yield Step(f"rank/{slug}-{name}.table.txt", argv)
        for other in ("one", "style-two"):
            files = [f"{OUT}/rank/{slug}-{name}.csv" for name in ("none", other)]
            for form, ending in (("table", "txt"), ("json", "json")):
                argv = ("leaderboard", "correlate", *files, "--format", form)
                yield Step(f"correlate/{slug}-{other}.{ending}", argv)
        for form, ending in (("table", "txt"), ("json", "json")):
            profile = ("--profile", f"{OUT}/history/{slug}-{form}.profile.json")
            learn = ("criteria-from", str(_HISTORY), "--benchmark", slug, "--format", form, *profile)
            yield Step(f"history/{slug}-{form}.{ending}", ("leaderboard", *learn))
    learnt = ("--profile", f"{OUT}/history/dailybench-json.profile.json", "--format", "csv")
    yield Step("history/dailybench-ranked.csv", ("leaderboard", "rank", *learnt))
    yield from _judging()
    yield Step("course/dailybench.txt", ("benchmarks.simulated_users", "--users", "2", *_of("dailybench")))
    yield from _importing()
    yield from _topics()
    yield from _scoring()


def _of(slug: str) -> tuple[str, str]:
    return "--benchmark", slug


def _judging() -> Iterator[Step]:
    for judge in ("embedded", "longer", "cosine", "smollm2"):
        pairs = f"{WORK}/four-pairs.jsonl" if judge == "smollm2" else f"{WORK}/pairs.jsonl"
        yield Step(
            f"score/{judge}.txt", ("crm", "score", pairs, f"{OUT}/score/{judge}.jsonl", "--crm", judge)
        )
    for file in ("broken.json", "nowhere.jsonl", "bad-pairs.jsonl"):
        yield Step(f"score/odd-{file}.txt", ("crm", "score", f"{WORK}/{file}", f"{OUT}/score/odd.jsonl"))
    yield Step("evaluate/labelled.txt", ("crm", "evaluate", f"{WORK}/labelled.jsonl"))
    alone = ("crm", "evaluate", f"{WORK}/labelled.jsonl", "--crm", "cosine", "--no-references")
    yield Step("evaluate/labelled-cosine.txt", alone)
    yield Step("evaluate/odd.txt", ("crm", "evaluate", f"{WORK}/bad-pairs.jsonl"))
    if ANNOTATIONS.is_file():
        given = (f"{WORK}/annotations.jsonl", "--corpora", str(_SHARED / "corpora"))
        sets = f"{OUT}/evaluate/sets"
        yield Step("evaluate/sets.txt", ("crm", "evaluation-sets", *given, "--out", sets))
        report = ("--limit", "5", "--no-references", "--save", f"{OUT}/evaluate/embedded-18.json")
        yield Step("evaluate/embedded-18.txt", ("crm", "evaluate", sets, *report))
        longer = ("--crm", "longer", "--split", "all", "--no-references")
        yield Step("evaluate/annotations.txt", ("crm", "evaluate", *given, *longer))


def _importing() -> Iterator[Step]:
    table = ("import", "table", f"{WORK}/table.csv", *_of("mine"), "--baseline", "atlas", "--title", "Mine")
    yield Step("import/table.txt", ("precompute", *table))
    yield Step("import/table-again.txt", ("precompute", *table))
    folder = ("import", "alpaca-eval", f"{WORK}/results", *_of("folder"), "--baseline", "atlas")
    yield Step("import/alpaca-eval.txt", ("precompute", *folder))
    yield Step("import/odd.txt", ("precompute", "import", "table", f"{WORK}/broken.csv", *_of("odd")))
    for slug in ("mine", "folder"):
        argv = ("leaderboard", "rank", *_of(slug), "--criterion", "concise", "--format", "csv")
        yield Step(f"import/{slug}.csv", argv)
    yield Step("import/embed.txt", ("precompute", "embed", *_of("mine")))


def _topics() -> Iterator[Step]:
    why = ("--reason", "for the record")
    yield Step("topics/pool.txt", ("precompute", "pool", _POOL, *_of("dailybench"), "--title", "Everyday"))
    yield Step("topics/cluster.txt", ("precompute", "cluster", _POOL, "--config", f"{WORK}/clustering.toml"))
    curation = {
        "rename": ("rename", _POOL, "6", "--name", "Letters", "--summary", "What to write to whom.", *why),
        "merge": ("merge", _POOL, "9", "12", *why),
        "split": ("split", _POOL, "0", "--parts", "3", *why),
        "move": ("move", _POOL, "16", "14", "--category", "Everyday life", *why),
        "move-queries": ("move", _POOL, *_query_options(3), "--to", "7", *why),
        "drop": ("drop", _POOL, *_query_options(9, skip=5), *why),
        "drop-topic": ("drop", _POOL, "17", *why),
        "undo": ("undo", _POOL),
        "restore": ("restore", _POOL, *_query_options(2, skip=5), *why),
        "odd-key": ("rename", _POOL, "999", "--name", "Nothing", *why),
        "odd-pool": ("show", "nope"),
        "export": ("export", _POOL, f"{OUT}/topics/exported.yaml"),
        "export-texts": ("export", _POOL, f"{OUT}/topics/with-texts.yaml", "--with-texts"),
    }
    for name, argv in curation.items():
        yield Step(f"topics/{name}.txt", ("precompute", "topics", *argv))
    changed = f"{WORK}/changed.yaml"
    words = ("name: Letters", "name: Letters and notes")
    yield Step("topics/edit.txt", ("edit", f"{OUT}/topics/exported.yaml", changed, *words))
    for name, argv in {
        "import-preview": ("import", _POOL, changed, "--preview", *why),
        "import": ("import", _POOL, changed, *why),
        "show": ("show", _POOL),
        "show-topic": ("show", _POOL, "6", "--all"),
        "log": ("log", _POOL),
        "final": ("export", _POOL),
    }.items():
        yield Step(f"topics/{name}.txt", ("precompute", "topics", *argv))
    sample = ("sample", _POOL, *_of("drawn"), "--per-topic", "3", "--seed", "4", "--title", "Drawn")
    yield Step("topics/sample.txt", ("precompute", *sample))


def _scoring() -> Iterator[Step]:
    score = ("precompute", "score", *_of("dailybench"), "--crm")
    yield Step("bundle/score-file.txt", (*score, "embedded", "--criteria", f"{WORK}/sets.toml"))
    yield Step("bundle/score-again.txt", (*score, "embedded", "--criteria", f"{WORK}/sets.toml"))
    yield Step("bundle/score-longer.txt", (*score, "longer", "--criterion", "Playful humor"))
    yield Step("bundle/score-odd.txt", (*score, "nope"))
    rates = ("leaderboard", "win-rates", *_of("dailybench"))
    yield Step("bundle/win-rates.csv", rates)
    yield Step("bundle/win-rates-longer.csv", (*rates, "--crm", "longer"))
    bundle = ("precompute", "bundle")
    yield Step("bundle/dailybench.txt", (*bundle, "dailybench", f"{OUT}/bundle/dailybench.usl.zip"))
    bare = ("--without-texts", "--without-scores")
    yield Step("bundle/bare.txt", (*bundle, "mine", f"{OUT}/bundle/bare.usl.zip", *bare))
    yield Step("bundle/drawn.txt", (*bundle, "drawn-v1", f"{OUT}/bundle/drawn.usl.zip"))
    yield Step("bundle/odd.txt", (*bundle, "nope", f"{OUT}/bundle/odd.usl.zip"))
    theirs = _of("theirs")
    again = ("import", "bundle", f"{OUT}/bundle/dailybench.usl.zip", *theirs)
    yield Step("bundle/import.txt", ("precompute", *again))
    two = (*theirs, *_OPTIONS["two"], "--format", "csv")
    yield Step("bundle/theirs.csv", ("leaderboard", "rank", *two))


def existing_steps() -> Iterator[Step]:
    """Yield the command lines on a database that is there already."""
    for name, options in _EXISTING_VIEWS.items():
        yield Step(f"existing/{name}.csv", ("leaderboard", "rank", *options, "--format", "csv"))
    yield Step("existing/win-rates.csv", ("leaderboard", "win-rates", *_of("dailybench")))
    for name in ("export", "log", "show"):
        yield Step(f"existing/topics-{name}.txt", ("precompute", "topics", name, _POOL))


def write_inputs(folder: Path) -> None:
    """Write the files that the command lines read; the same ones every time."""
    queries, answers = _dailybench()
    draw = random.Random(20)
    pairs = []
    for number in range(_N_PAIRS):
        query = draw.choice(list(queries)[::_PAIRS_EVERY])
        a, b = draw.sample(sorted(answers), 2)
        texts = {"response_a": answers[a][query], "response_b": answers[b][query]}
        criteria = draw.sample(_CRITERIA, 1 + number % 4)
        pairs.append({"id": number, "query": queries[query], **texts, "criteria": criteria})
    _write_lines(folder / "pairs.jsonl", pairs)
    _write_lines(folder / "four-pairs.jsonl", pairs[:4])
    _write_lines(folder / "labelled.jsonl", [_labelled(pair) for pair in pairs[:_N_LABELLED]])
    _write_lines(folder / "bad-pairs.jsonl", [pairs[0], {"id": 2, "query": "Hi", "response_a": "Hello"}])
    if ANNOTATIONS.is_file():
        lines = ANNOTATIONS.read_text(encoding="utf-8").splitlines(keepends=True)[:_N_ANNOTATIONS]
        (folder / "annotations.jsonl").write_text("".join(lines), encoding="utf-8")
    llms = ("atlas", "brevia", "jester")
    few = list(queries)[::15]
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("query", "topic", "llm", "response"))
        writer.writerows(
            (queries[key], f"Topic {key[:2]}", llm, answers[llm][key]) for llm in llms for key in few
        )
    for llm in llms:
        target = folder / "results" / llm / "model_outputs.json"
        target.parent.mkdir(parents=True)
        rows = [
            {"instruction": queries[key], "output": answers[llm][key], "generator": llm, "dataset": "daily"}
            for key in few
        ]
        target.write_text(json.dumps(rows), encoding="utf-8")
    profile = {"format": "usl-profile", "version": 1, "benchmark": "dailybench"}
    criteria = [item for item in _CRITERIA if isinstance(item, dict)]
    settings = {"topic-weight": ["Pets=3"], "interest": ["gardening"], "control": ["length"]}
    _write(folder / "weights.json", {**profile, "criteria": criteria, "unknown": 1})
    _write(
        folder / "profile.json",
        {**profile, "topics": ["Arts & Culture", "Pets"], "criteria": criteria[:2], "settings": settings},
    )
    _write(folder / "later.json", {**profile, "version": 99})
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "broken.csv").write_text("colour,size\nred,3\n", encoding="utf-8")
    (folder / "sets.toml").write_text(
        '[[criteria_set]]\nlabel = "Funny"\ncriteria = ["Playful humor"]\n'
        '[[criteria_set]]\nlabel = "No lists"\n'
        'criteria = ["Warm", { text = "bullet points", weight = "Important", polarity = "avoid" }]\n',
        encoding="utf-8",
    )
    (folder / "clustering.toml").write_text(
        "[topics]\nsmallest_cluster = 12\n[quality]\nseeds = 1\n", encoding="utf-8"
    )


def _labelled(pair: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of CRM training data; the label is arbitrary but always the same."""
    preference = ("model_a", "model_b", "model_a", "tie")[pair["id"] % 4]
    replies = {
        f"model_{side}": [{"role": "assistant", "content": pair[f"response_{side}"]}] for side in ("a", "b")
    }
    asked = {"idx": pair["id"], "prompt": pair["query"]}
    return {**asked, **replies, "criteria": pair["criteria"], "preference": preference}


def _query_options(count: int, skip: int = 0) -> list[str]:
    """``--query ID`` of some queries; an id is the start of the hash of the text."""
    texts = list(_dailybench()[0].values())[skip::40][:count]
    keys = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
    return [word for key in keys for word in ("--query", key)]


def _dailybench() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    with zipfile.ZipFile(_DAILYBENCH) as bundle:
        llms = [llm["name"] for llm in json.loads(bundle.read("manifest.json"))["llms"]]
        queries = _texts(bundle.read("queries.jsonl"))
        return queries, {
            llm: _texts(bundle.read(f"responses/{place}.jsonl")) for place, llm in enumerate(llms)
        }


def _texts(lines: bytes) -> dict[str, str]:
    return {row["id"]: row["text"] for row in map(json.loads, lines.decode().splitlines())}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")


def _write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
