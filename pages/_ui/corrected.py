"""A ranking corrected by the person's own votes, beside the judge's, once there are enough of them."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from leaderboard.elicitation.checking import CorrectedRanking, corrected_ranking
from leaderboard.elicitation.choices_file import choices_csv, corrected_csv
from leaderboard.elicitation.session import ElicitationSession, candidate_pairs
from leaderboard.elicitation.text import (
    corrected_ranking_sentences,
    votes_agreement_sentence,
    votes_wanted_sentence,
)
from leaderboard.render.corrected_table import corrected_table
from leaderboard.view import View
from pages._ui.session import errors_shown, offer_file, palette, plain, service

_KEPT = "corrected_ranking"


def has_votes(view: View) -> bool:
    """Return whether this session's choices on the view's benchmark hold any vote."""
    elicitation: ElicitationSession | None = st.session_state.get("elicitation")
    known = st.session_state.get("find_benchmark")
    here = view.benchmark, service().benchmark(view.benchmark).identity
    return elicitation is not None and known == here and bool(elicitation.checks)


def show_corrected(view: View, elicitation: ElicitationSession) -> None:
    """Draw what the votes say of the view's ranking, and both rankings; or how many votes it takes."""
    with errors_shown():
        ranking = _corrected(view, elicitation)
        benchmark = service().benchmark(view.benchmark)
        if ranking is None:
            st.caption(plain(votes_wanted_sentence(len(elicitation.checks))))
        else:
            st.markdown(f"**{plain(votes_agreement_sentence(ranking.n_agreeing, ranking.n_votes))}**")
            st.caption(plain(" ".join(corrected_ranking_sentences(ranking))))
            titles = {llm.name: llm.title for llm in benchmark.record.llms}
            st.html(corrected_table(ranking, titles, palette().accent))
            st.caption(
                "Scores are shares of duels with all other LLMs here. Votes are choices between answers that "
                "were drawn at random, foretold by what you had chosen before."
            )
        with st.container(horizontal=True):
            slug = view.benchmark
            if ranking is not None:
                note = votes_agreement_sentence(ranking.n_agreeing, ranking.n_votes)
                offer_file(
                    st, "Corrected ranking (CSV)", corrected_csv(ranking, note), f"usl-{slug}-corrected.csv"
                )
            choices = choices_csv(elicitation.choices, benchmark)
            offer_file(st, "Your choices (CSV)", choices, f"usl-{slug}-choices.csv")


def _corrected(view: View, elicitation: ElicitationSession) -> CorrectedRanking | None:
    """Return the corrected ranking, worked out once for a view and what was chosen."""
    key: Hashable = view.whole, elicitation.steps, service().benchmark(view.benchmark).identity
    kept: tuple[Hashable, CorrectedRanking | None] | None = st.session_state.get(_KEPT)
    if kept is None or kept[0] != key:
        candidates = candidate_pairs(service(), view.benchmark, view.topics)
        kept = key, corrected_ranking(service(), view, elicitation.checks, candidates)
        st.session_state[_KEPT] = kept
    return kept[1]
