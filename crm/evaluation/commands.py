"""``python -m crm``: evaluate judges, let them choose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from crm.data.conversations import Turns
from crm.data.corpora import LeftOut
from crm.data.judge_benchmarks import (
    JudgeBenchmark,
    JudgedPrompt,
    is_judge_benchmark,
    read_candidates,
    read_judge_benchmark,
)
from crm.data.pairs import read_labelled_pairs
from crm.errors import CRMError
from crm.evaluation.benchmarks import BenchmarkReport, benchmark_tables, drawn, evaluate_on
from crm.evaluation.downstream import (
    FIRST,
    Candidates,
    best_of_n,
    downstream,
    downstream_table,
    write_rankings,
)
from crm.evaluation.report import (
    BUNDLED_REPORTS,
    JudgeReport,
    bundled_reports,
    read_report,
    results_tables,
    write_report,
)
from crm.evaluation.rubric_judge import RubricJudge
from crm.evaluation.run import Evaluation, evaluate, evaluate_judge
from crm.evaluation.sets import (
    EvaluationSets,
    read_sets,
)
from crm.llm.settings import llms_file, read_llms
from crm.paths import CORPORA, HOME, ROOT
from crm.progress import progress_bar
from crm.protocol import CRM
from crm.registry import DEFAULT, crm_names, get_crm
from crm.report_table import ReportTable

DEFAULT_SETS = HOME / "data" / "evaluation-sets"
SETS_TABLE = ROOT / "benchmarks" / "results" / "evaluation_sets.md"
JUDGES_TABLE = ROOT / "benchmarks" / "results" / "judges.md"

_REFERENCES = ("longer", "cosine")
_SLOW_REFERENCE = "smollm2"
"""Shown where its results are stored; judging again takes it too long to be a surprise."""

_errors = Console(stderr=True)

CorporaOption = Annotated[Path, typer.Option(help="The corpora with the annotated responses.")]
WithoutCriteriaOption = Annotated[
    bool, typer.Option("--without-criteria", help="Ask the judges for general preference.")
]
LLMsOption = Annotated[
    Path | None, typer.Option(help="File of LLMs; without it USL_LLMS or llms.toml beside app.py.")
]
TurnsOption = Annotated[
    Turns, typer.Option(help="Of conversations of several turns: judge all, or the last answer.")
]


def evaluate_command(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="Folder of evaluation sets, annotations, training data, or a benchmark of judges.",
        ),
    ] = DEFAULT_SETS,
    *,
    crm: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT,
    split: Annotated[str | None, typer.Option(help="Of annotations: train, dev or all.")] = "dev",
    corpora: CorporaOption = CORPORA,
    references: Annotated[
        bool, typer.Option(help="Beside the judge, the longer answer, the cosine and zero-shot SmolLM2.")
    ] = True,
    criterion_crm: Annotated[
        str | None,
        typer.Option(help="Judge, trained without held-out criteria, that answers on them instead."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Questions drawn from every set.")] = None,
    seed: Annotated[int, typer.Option(help="Of that draw.")] = 0,
    price_per_hour: Annotated[
        float | None, typer.Option(min=0.0, help="Of the machine, where the judge does not know its cost.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="File for the judge's results (JSON).")] = None,
    bundle: Annotated[
        bool,
        typer.Option("--bundle", help="Store all shown results in bundled/judges and the table of judges."),
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Judge anew with the fast references, too.")] = False,
    without_criteria: WithoutCriteriaOption = False,
    turns: TurnsOption = Turns.ALL,
    rubric_judge: Annotated[
        str | None,
        typer.Option(help="LLM that marks responses by the benchmark's rubrics, beside the judge."),
    ] = None,
    llms: LLMsOption = None,
) -> None:
    """Say how good a judge is: on evaluation sets as in the paper's Table 2, a benchmark, or other pairs."""
    if dataset != DEFAULT_SETS and dataset.suffix != ".jsonl" and not dataset.exists():
        raise CRMError(f"{dataset}: there is no such file or folder.")
    if is_judge_benchmark(dataset):
        if any((criterion_crm, price_per_hour is not None, bundle, fresh)):
            raise CRMError(
                f"{dataset.name} is a benchmark of judges: --criterion-crm, --price-per-hour, --bundle and "
                "--fresh are for a folder of evaluation sets."
            )
        asked = _Asked(read_judge_benchmark(dataset), without_criteria, limit, seed)
        judges = [get_crm(name) for name in dict.fromkeys([crm, *(_REFERENCES if references else ())])]
        _on_benchmark(asked, judges, _rubric_judge(rubric_judge, llms) if rubric_judge else None, save)
        return
    if rubric_judge is not None:
        raise CRMError(f"{dataset} has no rubrics: --rubric-judge is for a benchmark of judges.")
    if without_criteria and bundle:
        raise CRMError("--bundle ships a judge as it is asked on the pages: leave out --without-criteria.")
    if dataset.suffix == ".jsonl" or dataset.is_file():
        if any((criterion_crm, limit, price_per_hour is not None, save, bundle, fresh)):
            raise CRMError(
                f"{dataset.name} is a file: --criterion-crm, --limit, --price-per-hour, --save, --bundle and "
                "--fresh are for a folder of evaluation sets."
            )
        left_out = LeftOut()
        judged = read_labelled_pairs(
            dataset, corpora, None if split == "all" else split, left_out, turns=turns
        )
        say(left_out.note(len({item.pair for item in judged}), corpora))
        names = dict.fromkeys([crm, *(_REFERENCES if references else ())])
        _print_evaluations(
            [evaluate(get_crm(name), judged, without_criteria=without_criteria) for name in names]
        )
        return
    data = read_sets(dataset)
    with progress_bar(crm) as on_progress:
        report = evaluate_judge(
            get_crm(crm),
            data,
            held_out_judge=get_crm(criterion_crm) if criterion_crm else None,
            limit=limit,
            seed=seed,
            price_per_hour=price_per_hour,
            without_criteria=without_criteria,
            progress=on_progress,
        )
    write_report(save or _kept(dataset, report.judge), report)
    reports = [report, *(_references(data, dataset, report, fresh=fresh) if references else ())]
    for table in results_tables(reports):
        table.print()
    if bundle:
        _bundle(reports)


def best_of_n_command(
    dataset: Annotated[Path, typer.Argument(metavar="BENCHMARK", help="Benchmark of judges with rubrics.")],
    candidates: Annotated[
        Path, typer.Argument(metavar="CANDIDATES", help='Rows {"id", "candidates"}: JSON Lines or Parquet.')
    ],
    *,
    crm: Annotated[list[str], typer.Option(help="Name of a judge; repeatable.")],
    rubric_judge: Annotated[str, typer.Option(help="LLM that marks what they choose by the rubrics.")],
    llms: LLMsOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for both rankings of the judges (CSV).")] = None,
    without_criteria: WithoutCriteriaOption = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Prompts drawn from every domain.")] = None,
    seed: Annotated[int, typer.Option(help="Of that draw.")] = 0,
) -> None:
    """Let judges choose the best of N responses, and rank them by it and by a benchmark."""
    benchmark = read_judge_benchmark(dataset)
    if not benchmark.has_rubrics:
        raise CRMError(f"{benchmark.name} has no rubrics, by which choices are marked: take one that has.")
    choices = read_candidates(candidates, benchmark)
    asked = _Asked(benchmark, without_criteria, limit, seed)
    prompts = [prompt for prompt in asked.prompts if prompt.id in choices]
    if not prompts:
        raise CRMError(f"{candidates.name} has no responses to the prompts that were drawn: raise --limit.")
    marking, judges = _rubric_judge(rubric_judge, llms), [get_crm(name) for name in dict.fromkeys(crm)]
    reports = [asked.report(judge) for judge in judges]
    results = [
        downstream(report.judge, prompts, asked.chosen(judge, prompts, choices), marking)
        for judge, report in zip(judges, reports, strict=True)
    ]
    first = downstream(FIRST, prompts, [choices[prompt.id][0] for prompt in prompts], marking)
    downstream_table(reports, results, first, marking.name).print()
    if out is not None:
        benchmark_ranking, downstream_ranking = write_rankings(out, reports, results)
        typer.echo(f"python -m leaderboard correlate {benchmark_ranking} {downstream_ranking}")
    _say_unusable(marking)


def _on_benchmark(
    asked: _Asked, judges: Sequence[CRM], rubric_judge: RubricJudge | None, save: Path | None
) -> None:
    reports = [asked.report(judge) for judge in judges]
    if rubric_judge is not None:
        reports.append(asked.report_by_rubric(rubric_judge))
    for table in benchmark_tables(reports):
        table.print()
    if save is not None:
        _save_json(save, [report.to_json() for report in reports])


@dataclass(frozen=True)
class _Asked:
    """A benchmark and how judges are asked about it."""

    benchmark: JudgeBenchmark
    without_criteria: bool
    limit: int | None
    seed: int

    @property
    def prompts(self) -> list[JudgedPrompt]:
        """Those that are drawn."""
        return drawn(self.benchmark.prompts, self.limit, self.seed)

    def report(self, judge: CRM) -> BenchmarkReport:
        """Ask a judge."""
        with progress_bar(judge.name) as on_progress:
            return evaluate_on(
                judge,
                self.benchmark,
                without_criteria=self.without_criteria,
                limit=self.limit,
                seed=self.seed,
                progress=on_progress,
            )

    def report_by_rubric(self, judge: RubricJudge) -> BenchmarkReport:
        """Ask a judge that cannot do without the rubrics, and say what it left undecided."""
        report = replace(self, without_criteria=False).report(judge)
        _say_unusable(judge)
        return report

    def chosen(self, judge: CRM, prompts: Sequence[JudgedPrompt], candidates: Candidates) -> list[str]:
        """Let a judge choose a response to each prompt."""
        with progress_bar(f"{judge.name}, choosing") as on_progress:
            return best_of_n(
                judge, prompts, candidates, without_criteria=self.without_criteria, progress=on_progress
            )


def _rubric_judge(name: str, llms: Path | None) -> RubricJudge:
    (llm,) = read_llms(llms_file(llms), [name])
    return RubricJudge(llm)


def _say_unusable(judge: RubricJudge) -> None:
    if judge.unusable:
        say(f"{judge.name}: {judge.unusable:,} responses got no marks, as the LLM's replies were of no use.")


def _save_json(path: Path, value: object) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise CRMError(f"{path} cannot be written ({error.strerror}).") from error


def _references(
    data: EvaluationSets, folder: Path, report: JudgeReport, *, fresh: bool
) -> Iterator[JudgeReport]:
    """Return reports of the reference judges: stored ones where they are of this data, else made now."""
    for name in (*_REFERENCES, _SLOW_REFERENCE):
        if name == report.judge or name not in crm_names():
            continue
        stored = _stored(name, folder, report.data)
        if stored is not None and not (fresh and name != _SLOW_REFERENCE):
            yield stored
        elif name == _SLOW_REFERENCE:
            _errors.print(
                f"{name} is left out: it is slow, and has no results on these sets yet. "
                f"“python -m crm evaluate --crm {name} --limit 60” makes them.",
                soft_wrap=True,
            )
        else:
            with progress_bar(name) as on_progress:
                made = evaluate_judge(get_crm(name), data, progress=on_progress)
            write_report(_kept(folder, name), made)
            yield made


def _stored(name: str, folder: Path, data: str) -> JudgeReport | None:
    """Results of the judge's present version on this data, where there are any."""
    for path in (_kept(folder, name), BUNDLED_REPORTS / f"{name}.json"):
        if path.is_file():
            report = read_report(path)
            if (report.data, report.version) == (data, get_crm(name).version):
                return report
    return None


def _kept(folder: Path, name: str) -> Path:
    """Return where the results of a judge stay beside the sets, to be shown again."""
    return folder / "reports" / f"{name}.json"


def _bundle(reports: Sequence[JudgeReport]) -> None:
    """Ship the reports, and write the table of all shipped ones on the same data."""
    for report in reports:
        write_report(BUNDLED_REPORTS / f"{report.judge}.json", report)
    shipped = bundled_reports(BUNDLED_REPORTS)
    for other in shipped:
        if other.data != reports[0].data:
            _errors.print(f"The shipped results of {other.judge} are of other sets: evaluate it again.")
    same = [report for report in shipped if report.data == reports[0].data]
    write_tables(JUDGES_TABLE, "Judges", results_tables(same))


def say(note: str | None) -> None:
    """Print a note, where there is one, beside what a command answers."""
    if note is not None:
        typer.echo(f"note: {note}", err=True)


def write_tables(path: Path, title: str, tables: Sequence[ReportTable]) -> None:
    """Write tables as one Markdown file; a single one is the file's."""
    level = 1 if len(tables) == 1 else 2
    parts = [table.to_markdown(level) for table in tables]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(parts if level == 1 else [f"# {title}\n", *parts]), encoding="utf-8")
    except OSError as error:
        raise CRMError(f"{path} cannot be written ({error.strerror}).") from error


def _print_evaluations(evaluations: Sequence[Evaluation]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("judge", "subset", "n", "accuracy", "95 % interval", "calibration error"):
        table.add_column(heading, justify="left" if heading in ("judge", "subset") else "right")
    for evaluation in evaluations:
        for accuracy in evaluation.accuracies:
            table.add_row(
                evaluation.crm,
                accuracy.subset,
                str(accuracy.n),
                f"{accuracy.value:.3f}",
                f"{accuracy.low:.3f} to {accuracy.high:.3f}",
                f"{evaluation.calibration_error:.3f}" if accuracy.subset == "criteria list" else "",
            )
    Console(soft_wrap=True).print(table)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line of ``python -m crm``."""
    app.command("evaluate")(evaluate_command)
    app.command("best-of-n")(best_of_n_command)
