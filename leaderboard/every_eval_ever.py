"""Records of Every Eval Ever, the EvalEval Coalition's shared schema of evaluation results, version 0.3.0.

https://github.com/evaleval/every_eval_ever: one record an LLM, with a result for all queries and one for each
category. The schema wants texts under all keys of ``additional_details`` and ``details``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from leaderboard.export import ranking_rows
from leaderboard.llm_facts.catalogue import LLMFacts
from leaderboard.llm_facts.columns import availability
from leaderboard.result import Leaderboard
from leaderboard.statistics.bootstrap import LEVEL, RESAMPLES
from leaderboard.statistics.style_control import Control
from leaderboard.view import Against

SCHEMA_VERSION: Final = "0.3.0"
PROJECT_VERSION: Final = "0.1.0"
NAME: Final = "User-centric Subjective Leaderboard"

_INTERVAL = "bootstrap over queries, stratified by topic, widened by the judge's own error"


def evaluation_records(
    leaderboard: Leaderboard,
    about: Mapping[str, str],
    made: datetime,
    facts: Mapping[str, LLMFacts] | None = None,
) -> list[dict[str, Any]]:
    """Return a record for each LLM that has a win rate, best first; those under a floor follow.

    Args:
        about: what is said about the ranking, as `leaderboard.file_formats.describe` returns it.
        made: when the records are made.
        facts: what is known of the LLMs, by name; default nothing.
    """
    misses = leaderboard.misses if leaderboard.musts else None
    rows = ranking_rows(
        leaderboard.ranking, leaderboard.shown_categories, misses=misses, coverage=leaderboard.coverage
    )
    moment = str(int(made.timestamp()))
    # Two views of one benchmark are two evaluations.
    view = hashlib.sha256(about["view"].encode()).hexdigest()[:8]
    evaluation = f"usl-{about['benchmark']}-{view}"
    said = {key: text for key, text in about.items() if text}
    return [
        {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": f"{evaluation}/{row['llm']}/{moment}",
            "evaluation_timestamp": moment,
            "retrieved_timestamp": moment,
            "source_metadata": {
                "source_name": f"{NAME}: {about['benchmark_title']}",
                "source_type": "documentation",
                "source_organization_name": NAME,
                "evaluator_relationship": "third_party",
                "additional_details": said,
            },
            "eval_library": {"name": "usl-leaderboard", "version": PROJECT_VERSION},
            "model_info": _model(row["llm"], leaderboard.titles[row["llm"]], (facts or {}).get(row["llm"])),
            "evaluation_results": _results(leaderboard, row, said),
        }
        for row in rows
        if row["win_rate"] is not None
    ]


def _model(llm: str, title: str, facts: LLMFacts | None) -> dict[str, Any]:
    known = availability(facts or LLMFacts(llm, title))
    details = {"deployment_type": "unknown", "model_availability": known["model_availability"]}
    return {"name": title, "id": llm, "developer": known["developer"], "additional_details": details}


def _results(
    leaderboard: Leaderboard, row: Mapping[str, Any], said: Mapping[str, str]
) -> list[dict[str, Any]]:
    title, slug = leaderboard.benchmark.info.title, leaderboard.benchmark.info.slug
    shared = {"source_data": _source(leaderboard), "metric_config": _metric(leaderboard, said)}
    overall = {
        "evaluation_result_id": f"{slug}.win_rate",
        "evaluation_name": title,
        **shared,
        "score_details": {"score": row["win_rate"], "details": _details(row), **_uncertainty(row)},
    }
    by_category = (
        {
            "evaluation_result_id": f"{slug}.{category}.win_rate",
            "evaluation_name": f"{title}: {category}",
            **shared,
            "score_details": {"score": score},
        }
        for category, score in row["categories"].items()
        if score is not None
    )
    return [overall, *by_category]


def _source(leaderboard: Leaderboard) -> dict[str, Any]:
    info = leaderboard.benchmark.info
    details = {
        "slug": info.slug,
        "version": info.version,
        "licence": info.licence,
        "attribution": info.attribution,
        "n_queries": str(leaderboard.n_queries),
    }
    place: dict[str, Any] = {"source_type": "other"}
    if info.source_url:
        place = {"source_type": "url", "url": [info.source_url]}
    said = {key: text for key, text in details.items() if text}
    return {"dataset_name": info.title, **place, "additional_details": said}


_EXPECTED = ", as Bradley-Terry strengths lead one to expect if all had answered everything"
_MEASURED: Mapping[tuple[Against, bool], str] = {
    (
        Against.BASELINE,
        False,
    ): "Share of queries on which the judge prefers the LLM's response (ties: half) to the baseline's",
    (Against.BASELINE, True): "Mean probability that the judge prefers the LLM's response to the baseline's",
    (Against.ALL, False): "Share of the other LLMs' responses to which the judge prefers the LLM's response "
    f"(ties: half){_EXPECTED}",
    (Against.ALL, True): "Mean probability that the judge prefers the LLM's response to another LLM's"
    f"{_EXPECTED}",
}
"""By what LLMs are ranked against, and whether scores are soft."""


def _metric(leaderboard: Leaderboard, said: Mapping[str, str]) -> dict[str, Any]:
    soft, control = leaderboard.view.soft, leaderboard.view.control
    against = leaderboard.against
    what = _MEASURED[against, soft]
    name = f"{'soft ' if soft else ''}{'expected ' if against is Against.ALL else ''}win rate"
    return {
        "evaluation_description": f"{what}; criteria: {said['criteria']}.",
        "metric_id": f"usl.{name.replace(' ', '_')}",
        "metric_name": name.capitalize(),
        "metric_kind": "win_rate",
        "metric_unit": "proportion",
        "metric_parameters": {
            "against": against.value,
            "baseline": leaderboard.benchmark.baseline if against is Against.BASELINE else None,
            "judge": leaderboard.judge,
            "judge_version": leaderboard.crm_version,
            "controlled_for": None if control is Control.NONE else control.value,
        },
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": 1.0,
    }


def _details(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what the schema has no place for, as texts."""
    keys = (
        *("rank", "rank_low", "rank_high", "n_queries", "n_effective", "answered"),
        *("under_floor", "rank_without_floor"),
    )
    found = {key: str(row[key]).lower() for key in keys if row.get(key) is not None}
    return found | ({"misses": "; ".join(row["misses"])} if row.get("misses") else {})


def _uncertainty(row: Mapping[str, Any]) -> dict[str, Any]:
    low, high = row["ci_low"], row["ci_high"]
    if low is None or high is None:
        return {}
    interval = {"lower": low, "upper": high, "confidence_level": LEVEL, "method": _INTERVAL}
    return {
        "uncertainty": {
            "confidence_interval": interval,
            "num_samples": row["n_queries"],
            "num_bootstrap_samples": RESAMPLES,
        }
    }
