"""One judge's results on the evaluation sets: as stored (``bundled/judges/NAME.json``) and as tables.

The tables are those of the paper: what is in the sets (its Table 5) and the results (its Table 2).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crm.errors import CRMError
from crm.evaluation.metrics import (
    Accuracy,
    LengthBias,
    PositionBias,
    ReliabilityBin,
    expected_gap,
    gap_by_chance,
)
from crm.evaluation.sets import TABLE, Generalization, Manifest, Subset
from crm.paths import BUNDLED
from crm.report_table import ReportTable
from parsing.documents import read_json
from parsing.files import read_bytes

_REPORT_FORMAT = 1
_HELD_OUT_JUDGE = "stand_in"
"""What stored reports call the held-out judge."""
BUNDLED_REPORTS = BUNDLED.parent / "judges"


@dataclass(frozen=True)
class JudgingSpeed:
    """What judging takes.

    Attributes:
        pairs: Number of timed verdicts; the first one, which loads the judge, is not among them.
        seconds_per_1000: Seconds for 1,000 pairs.
        cost_per_1000: Money for 1,000 pairs, in the currency of the configured prices; None where unknown.
    """

    pairs: int
    seconds_per_1000: float
    cost_per_1000: float | None
    machine: str


@dataclass(frozen=True)
class JudgeReport:
    """One judge's results on a folder of evaluation sets.

    Attributes:
        data: Digest of the evaluation sets.
        limit: Questions drawn from every set, None for all of them.
        seed: Of that draw.
        accuracies: By set (``Subset`` values) and by kind of single criterion; what is empty is left out.
        reliability: Verdicts on “T+” and “T−” by how sure they are.
        position: Bias by position on the same pairs.
        length: Bias by length on the same pairs; None where undefined.
        speed: Seconds and money.
        held_out_judge: Name and version of the judge that answered what is about held-out criteria: one of
            the same kind, trained without them. None where the judge answered itself.
    """

    judge: str
    version: str
    data: str
    limit: int | None
    seed: int
    accuracies: Mapping[str, Accuracy]
    reliability: tuple[ReliabilityBin, ...]
    position: PositionBias
    length: LengthBias | None
    speed: JudgingSpeed
    held_out_judge: str | None = None

    @property
    def calibration_error(self) -> float:
        """Expected calibration error, ten bins of equal width; NaN without verdicts."""
        return expected_gap(self.reliability)

    @property
    def calibration_error_by_chance(self) -> float:
        """What that is of a judge whose probabilities are right, on as many verdicts; NaN without any."""
        return gap_by_chance(self.reliability)

    def average(self, kind: Generalization) -> float | None:
        """Mean accuracy of the five sets of a kind, as in the paper's Table 2; None where one is empty."""
        values = [self.accuracies[subset].value for subset in TABLE[kind] if subset in self.accuracies]
        return sum(values) / len(values) if len(values) == len(TABLE[kind]) else None

    def gap(self, kind: Generalization) -> float | None:
        """Accuracy on “+” less that on “−”: how far the judge goes by the average taste, not the criteria."""
        plus, minus, *_ = TABLE[kind]
        if plus not in self.accuracies or minus not in self.accuracies:
            return None
        return self.accuracies[plus].value - self.accuracies[minus].value

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``from_json`` reads."""
        described = {"format": _REPORT_FORMAT, **asdict(self)}
        described[_HELD_OUT_JUDGE] = described.pop("held_out_judge")
        return described

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> JudgeReport:
        """Read a report. Raises CRMError: It is none, or of another format."""
        try:
            if value["format"] != _REPORT_FORMAT:
                raise ValueError
            return cls(
                judge=str(value["judge"]),
                version=str(value["version"]),
                data=str(value["data"]),
                limit=value["limit"],
                seed=value["seed"],
                accuracies={name: Accuracy(**entry) for name, entry in value["accuracies"].items()},
                reliability=tuple(ReliabilityBin(**entry) for entry in value["reliability"]),
                position=PositionBias(**value["position"]),
                length=LengthBias(**value["length"]) if value["length"] else None,
                speed=JudgingSpeed(**value["speed"]),
                held_out_judge=value[_HELD_OUT_JUDGE],
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CRMError(
                "It is no report of a judge: make it again with “python -m crm evaluate”."
            ) from error


def read_report(path: Path) -> JudgeReport:
    """Read a stored report. Raises CRMError: There is none, or it cannot be read."""
    try:
        return JudgeReport.from_json(read_json(read_bytes(path)))
    except OSError as error:
        raise CRMError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise CRMError(
            f"{path} is no report of a judge: make it again with “python -m crm evaluate”."
        ) from error


def write_report(path: Path, report: JudgeReport) -> None:
    """Store a report as JSON. Raises CRMError: The file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(report.to_json(), indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CRMError(f"{path} cannot be written ({error.strerror}).") from error


def bundled_reports(folder: Path = BUNDLED_REPORTS) -> tuple[JudgeReport, ...]:
    """Return the reports that are shipped, best average on new topics first.

    Raises CRMError: One of them cannot be read.
    """
    reports = [read_report(path) for path in sorted(folder.glob("*.json"))]
    return tuple(sorted(reports, key=lambda report: -(report.average("topic") or 0.0)))


UNKNOWN = "–"


def statistics_table(manifest: Manifest) -> ReportTable:
    """Return what is in every set."""
    return ReportTable(
        "Evaluation sets",
        ("set", "samples", "left out", "turns", "criteria", "A : B", "of dev"),
        tuple(
            (
                Subset(entry.subset).label,
                f"{entry.samples:,}",
                "" if (left_out := manifest.left_out(Subset(entry.subset))) is None else f"{left_out:,}",
                f"{entry.turns:.1f}",
                f"{entry.criteria:.1f}",
                f"{entry.label_a} : {entry.label_b}",
                f"{entry.from_dev:,}",
            )
            for entry in manifest.statistics
        ),
        f"“+” is the side that {manifest.general} favours without criteria, “−” the other. “Left out” "
        "are lists that the noise could not be applied to. Turns and criteria are means a sample. “Of dev” "
        "counts samples on instructions kept from training. "
        f"Noise {manifest.strength.value}, seed {manifest.seed}.",
    )


def results_tables(reports: Sequence[JudgeReport]) -> tuple[ReportTable, ...]:
    """Accuracy on new topics, accuracy on new criteria, and everything else."""
    return (_accuracies(reports, "topic"), _accuracies(reports, "criterion"), _properties(reports))


def _accuracies(reports: Sequence[JudgeReport], kind: Generalization) -> ReportTable:
    rows = []
    for report in reports:
        known = report.accuracies
        values = [known[subset].value if subset in known else None for subset in TABLE[kind]]
        cells = [percent(value) for value in (*values, report.average(kind))]
        rows.append((_name(report, kind), *cells, signed_points(report.gap(kind))))
    counts = ", ".join(
        f"{report.accuracies[subset].n if subset in report.accuracies else 0}"
        for report in reports[:1]
        for subset in TABLE[kind]
    )
    replaced = [
        f"{report.judge} is {report.held_out_judge} here" for report in reports if report.held_out_judge
    ]
    note = f"Accuracy in %, gap in points. Questions of the first judge: {counts}."
    if kind == "criterion":
        note += " It shows generalization only where a judge was trained without the held-out criteria."
        note += "".join(f" {sentence}, trained without them." for sentence in replaced)
    return ReportTable(
        f"{kind.capitalize()} generalization",
        ("judge", *(subset.label for subset in TABLE[kind]), "average", "gap + to −"),
        tuple(rows),
        note,
    )


def _properties(reports: Sequence[JudgeReport]) -> ReportTable:
    columns = (
        *("judge", "criterion", "keyword", "avoid", "calibration error", "order gap", "flipped"),
        *("first place", "length bias", "s / 1,000", "cost / 1,000"),
    )
    machines = " and ".join(dict.fromkeys(report.speed.machine for report in reports))
    return ReportTable(
        "Single criteria, calibration, biases, speed and cost",
        columns,
        tuple((_name(report, "topic"), *_property_cells(report)) for report in reports),
        "Single criteria: accuracy in %. Calibration error: expected, ten bins; in brackets that of "
        "a judge whose probabilities are right, by the draw of so few verdicts. Order gap: mean change of "
        "the probability when A and B change places; flipped: verdicts in % that change with them; first "
        "place: verdicts in % for the response named first, 50 is no preference. Length bias: partial "
        "correlation of verdict and log ratio of lengths given the label. Seconds and cost for 1,000 pairs. "
        f"Timed on {machines}.",
    )


def _property_cells(report: JudgeReport) -> tuple[str, ...]:
    single = (report.accuracies.get(kind) for kind in ("criterion", "keyword", "avoid"))
    cost = report.speed.cost_per_1000
    return (
        *(percent(found.value if found else None) for found in single),
        f"{number(report.calibration_error)} ({number(report.calibration_error_by_chance)})"
        if report.reliability
        else UNKNOWN,
        number(report.position.mean_gap),
        percent(report.position.flipped),
        percent(report.position.first_place),
        number(report.length.correlation if report.length else None, signed=True),
        f"{report.speed.seconds_per_1000:,.3g}"
        if report.speed.seconds_per_1000 < 1000  # noqa: PLR2004
        else f"{report.speed.seconds_per_1000:,.0f}",
        UNKNOWN if cost is None else f"{cost:,.3g}",
    )


def _name(report: JudgeReport, kind: Generalization) -> str:
    star = "*" if kind == "criterion" and report.held_out_judge else ""
    sampled = f" ({report.limit} drawn)" if report.limit else ""
    return f"{report.judge} {report.version}{star}{sampled}"


def percent(fraction: float | None) -> str:
    """Return a fraction in % with one decimal, without the sign."""
    return UNKNOWN if fraction is None or math.isnan(fraction) else f"{100 * fraction:.1f}"


def signed_points(difference: float | None) -> str:
    """Return a difference of fractions in points, with its sign."""
    return UNKNOWN if difference is None else f"{100 * difference:+.1f}".replace("-", "−")


def number(value: float | None, *, signed: bool = False) -> str:
    """Return a number with three decimals."""
    if value is None or math.isnan(value):
        return UNKNOWN
    return f"{value:{'+' if signed else ''}.3f}".replace("-", "−")
