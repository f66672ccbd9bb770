"""Themes of criteria: of extracted ones, of annotations, or of the shipped ones; an LLM may name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from crm.criteria import normalise
from crm.data.clustering import N_THEMES, cluster_criteria, find_themes, read_criteria_lists
from crm.data.pairs import OWN_ANNOTATIONS
from crm.data.taxonomy import CriterionThemes, Theme, criterion_clusters
from crm.embedded.encoder import ProgressCallback
from crm.errors import CRMError, UnavailableError
from crm.llm import make_chat_models
from crm.llm.chat_model import FailureKind, LLMFailure, LLMReply, Outcome, Prompt
from crm.llm.prompt import read_prompt
from crm.llm.running import run_to_end
from crm.llm.settings import ConfiguredLLM
from crm.llm.structured import StructuredChatModel, UnusableReplyError, parse_json
from crm.paths import PREFERENCES
from crm.report_table import ReportTable
from db import Database
from db.database import job_locks
from db.repositories.llm_answers import get_extracted, get_themes, put_themes
from db.repositories.preferences import find_preference_set, get_preference_set
from db.source_records import AnswerStatus
from precompute.errors import PrecomputeError

_ADJECTIVES_IN_TABLE = 6


def themes_of_shipped(n_themes: int = N_THEMES) -> CriterionThemes:
    """Themes of the annotated criteria that judges are trained on, over the shipped clusters.

    Raises CRMError: The annotations or the clusters are not there.
    """
    lists = lists_of_annotations()
    return find_themes(criterion_clusters(), lists, "the annotations of this project", n_themes)


def themes_of_annotations(
    files: Sequence[Path], seed: int = 0, n_themes: int = N_THEMES, progress: ProgressCallback | None = None
) -> CriterionThemes:
    """Themes of the criteria in files of annotations, which are clustered again.

    Raises CRMError: A row is not as described, or there are too few criteria.
    """
    lists = lists_of_annotations(files)
    source = ", ".join(file.name for file in files)
    return find_themes(cluster_criteria(lists, seed, progress=progress), lists, source, n_themes)


def store_themes_of_preferences(
    database: Database,
    slug: str,
    seed: int = 0,
    n_themes: int = N_THEMES,
    *,
    change: Callable[[CriterionThemes], CriterionThemes] = lambda found: found,
    progress: ProgressCallback | None = None,
) -> CriterionThemes:
    """Find and stores the themes of the criteria extracted from a set of preferences.

    Names that were given to earlier themes of the set are kept where a theme is mostly the same.

    Args:
        change: what is done to the themes before they are stored, such as naming them.

    Raises:
        DatabaseError: another process is doing the same.
        NotFoundError: no set has this slug.
        PrecomputeError: nothing was extracted from it yet.
        CRMError: there are too few criteria.
    """
    with job_locks(database.engine, [f"finding themes in the criteria of {slug!r}"]):
        with database.session() as session:
            preference_set = find_preference_set(session, slug)
            title = get_preference_set(session, preference_set).info.title
            earlier = get_themes(session, preference_set)
            lists = lists_of_preferences(session, slug)
        clusters = cluster_criteria(lists, seed, progress=progress)
        found = find_themes(clusters, lists, title, n_themes)
        if earlier is not None:
            found = found.with_names_of(CriterionThemes.from_json(earlier))
        found = change(found)
        with database.session() as session:
            put_themes(session, find_preference_set(session, slug), found.to_json())
    return found


def with_names_in(themes: CriterionThemes, file: Path) -> CriterionThemes:
    """Return the themes with the names that people gave in a file that is there and is to be replaced."""
    try:
        return themes.with_names_of(CriterionThemes.load(file)) if file.is_file() else themes
    except CRMError:
        return themes


def themes_table(themes: CriterionThemes) -> ReportTable:
    """Return one row a theme: share, clusters and adjectives."""
    rows = (
        (
            theme.name,
            f"{100 * themes.share(theme):.1f} %",
            f"{theme.n:,}",
            f"{len(theme.parts)}",
            ", ".join(word for word, _ in theme.adjectives[:_ADJECTIVES_IN_TABLE]),
        )
        for theme in themes.themes
    )
    return ReportTable(
        f"Themes of criteria: {themes.source}",
        ("Theme", "share", "criteria", "clusters", "most frequent adjectives"),
        tuple(rows),
        f"{themes.n:,} criteria, {themes.n_different:,} of them different, in {themes.n_lists:,} lists. An "
        "adjective stands in the theme that has it most often.",
    )


def lists_of_annotations(files: Sequence[Path] = (PREFERENCES, OWN_ANNOTATIONS)) -> list[tuple[str, ...]]:
    """Return the criteria of every side of every annotated pair; by default of the shipped ones.

    Raises CRMError: A row is not as described.
    """
    return list(chain.from_iterable(map(read_criteria_lists, files)))


def lists_of_preferences(session: Session, slug: str) -> list[tuple[str, ...]]:
    """Return the criteria that were extracted from a set of preferences.

    Raises:
        NotFoundError: no set has this slug.
        PrecomputeError: nothing was extracted from it yet.
    """
    extracted = get_extracted(session, find_preference_set(session, slug)).values()
    lists = [record.criteria for record in extracted if record.status == AnswerStatus.OK]
    if not lists:
        raise PrecomputeError(
            f"No criteria of {slug!r} are stored: run "
            f"“python -m precompute extract-criteria --preferences {slug} --llm NAME” first."
        )
    return lists


_SHOWN_ADJECTIVES = 12
_MAX_WORDS = 5
_template = read_prompt(Path(__file__).parent / "prompts" / "theme.txt")


@dataclass(frozen=True)
class NamedThemes:
    """Themes after an LLM was asked for names.

    Attributes:
        themes: The themes; those that got no name keep the one they had.
        n_unnamed: How many those are.
        reason: Why the last of them got none; empty if all did.
    """

    themes: CriterionThemes
    n_unnamed: int
    reason: str


class _NameReply(BaseModel):
    name: Annotated[str, Field(min_length=2, max_length=40)]


def name_themes(themes: CriterionThemes, llm: ConfiguredLLM) -> NamedThemes:
    """Ask an LLM for a short name of every theme that has none but its keywords; no name is given twice.

    Raises ConfigError: An API key is not there. Raises CRMError: The LLM's model cannot be loaded.
    """
    keys = [f"theme {place}" for place in range(len(themes.themes))]
    asked = {key: theme for key, theme in zip(keys, themes.themes, strict=True) if not theme.is_named}
    provider = StructuredChatModel(
        make_chat_models([llm])[llm.name],
        check=lambda _, reply: _problem(reply),
        rephrase=lambda prompt, why: _prompt(prompt.external_id, asked[prompt.external_id], why),
    )
    answered: list[Outcome] = []
    reason = ""

    try:
        run_to_end(provider.ask([_prompt(name, theme) for name, theme in asked.items()], answered.append))
    except UnavailableError as error:
        reason = str(error)
    outcomes = {outcome.prompt.external_id: outcome for outcome in answered}
    names = {key: theme.name for key, theme in zip(keys, themes.themes, strict=True)}
    n_unnamed = 0
    for key in asked:
        found = _name_of(outcomes.get(key), reason)
        taken = {name.casefold() for name in names.values()}
        if isinstance(found, LLMFailure) or found.casefold() in taken:
            n_unnamed += 1
            reason = found.message if isinstance(found, LLMFailure) else f"{found!r} would be there twice."
        else:
            names[key] = found
    named = (replace(theme, name=names[key]) for key, theme in zip(keys, themes.themes, strict=True))
    return NamedThemes(replace(themes, themes=tuple(named)), n_unnamed, reason)


def _name_of(outcome: Outcome | None, stopped: str) -> str | LLMFailure:
    if outcome is None:
        return LLMFailure(FailureKind.UNUSABLE, stopped)
    if isinstance(outcome.result, LLMFailure):
        return outcome.result
    name = _name_in(outcome.result)
    return name if name is not None else LLMFailure(FailureKind.UNUSABLE, "The LLM refused to give a name.")


def _prompt(key: str, theme: Theme, problem: str = "") -> Prompt:
    adjectives = [word for word, _ in theme.adjectives[:_SHOWN_ADJECTIVES]]
    return Prompt(key, _template.render(theme=theme, adjectives=adjectives, problem=problem))


def _problem(reply: LLMReply) -> str | None:
    if _name_in(reply) is None:
        return f'It is no JSON object with a "name" of one to {_MAX_WORDS} words.'
    return None


def _name_in(reply: LLMReply) -> str | None:
    try:
        answer = parse_json(reply.text or "", _NameReply, str)
    except UnusableReplyError:
        return None
    name = normalise(answer.name).strip(" .\"'“”")
    return name if 1 <= len(name.split()) <= _MAX_WORDS else None
