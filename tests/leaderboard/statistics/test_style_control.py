from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from benchmarks.length_control import read_official_results
from leaderboard.errors import LeaderboardError
from leaderboard.statistics.bootstrap import bootstrap_plan, bootstrap_win_rates
from leaderboard.statistics.correlation import correlate
from leaderboard.statistics.style_control import (
    BOLD,
    LENGTH,
    TERMS,
    Control,
    StyleCounts,
    bootstrap_controlled,
    control_terms,
    controlled_within,
    fit_controlled,
)
from leaderboard.statistics.win_rate import win_rates


def counts(length: list[list[float]], bold: list[list[float]] | None = None) -> StyleCounts:
    """Two queries; the last row is the baseline's."""
    words = np.array(length)
    none = np.zeros_like(words)
    marked = none if bold is None else np.array(bold)
    return StyleCounts(words, none, none, marked, ~np.isnan(words))


def test_the_difference_in_length_is_read_in_standard_deviations_of_the_llms_own() -> None:
    terms = control_terms(counts([[100, 300], [200, 200]]), Control.LENGTH)

    np.testing.assert_allclose(terms[0, :, 0], np.tanh([-1.0, 1.0]))


def test_an_llm_always_longer_by_the_same_is_simply_longer() -> None:
    terms = control_terms(counts([[150, 250], [50, 50], [100, 200]]), Control.LENGTH)

    assert terms[0, :, 0].tolist() == [1, 1]
    assert terms[1, 0, 0] > terms[1, 1, 0]


def test_the_baselines_own_responses_have_no_terms() -> None:
    assert not control_terms(counts([[100, 300], [100, 300]], [[1, 2], [1, 2]]), Control.STYLE).any()


def test_markdown_is_compared_in_proportion() -> None:
    terms = control_terms(counts([[9, 9], [9, 9]], [[4, 0], [2, 0]]), Control.STYLE)
    bold = terms[0, :, TERMS[Control.STYLE].index(BOLD)]

    np.testing.assert_allclose(bold, [BOLD.example, 0])


def test_a_missing_response_has_no_terms() -> None:
    terms = control_terms(counts([[100, np.nan], [200, 200]]), Control.LENGTH)

    assert terms[0, 1, 0] == 0


def test_the_style_includes_the_length() -> None:
    assert TERMS[Control.STYLE][0] is LENGTH
    assert control_terms(counts([[1, 2], [2, 2]]), Control.STYLE).shape == (1, 2, 4)
    assert control_terms(counts([[1, 2], [2, 2]]), Control.NONE).shape == (1, 2, 0)


def test_an_unknown_control_is_named() -> None:
    assert Control.named("style") is Control.STYLE
    with pytest.raises(LeaderboardError, match="no control 'width'"):
        Control.named("width")


Case = tuple[NDArray[np.float64], NDArray[np.float64]]

STRENGTH = np.array([-1.0, 0.0, 0.5, 2.0])
EFFECTS = np.array([1.5, -0.7])


def simulated(queries: int, seed: int = 0) -> Case:
    """Wins of four LLMs, the stronger the longer, as the regression has them."""
    rng = np.random.default_rng(seed)
    terms = np.tanh(rng.normal(size=(4, queries, 2)) + STRENGTH[:, np.newaxis, np.newaxis] / 2)
    prob = expit(STRENGTH[:, np.newaxis] + terms @ EFFECTS)
    return (rng.random(prob.shape) < prob).astype(float), terms


def with_gaps(case: Case, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    outcome, terms = case
    return np.where(rng.random(outcome.shape) < 0.2, np.nan, outcome), terms


def test_strengths_and_effects_are_recovered() -> None:
    fit = fit_controlled(*simulated(20_000))

    np.testing.assert_allclose(fit.strength, STRENGTH, atol=0.08)
    np.testing.assert_allclose(fit.effects, EFFECTS, atol=0.05)
    np.testing.assert_allclose(fit.win_rate, expit(STRENGTH), atol=0.015)


def test_the_fit_is_scikit_learns() -> None:
    outcome, terms = simulated(60)
    llm = np.repeat(np.eye(4), 60, axis=0)
    design = np.concatenate([llm, terms.reshape(-1, 2)], axis=1)
    weight = np.tile(np.linspace(0.1, 1, 60), 4)
    reference = LogisticRegression(C=100, fit_intercept=False, tol=1e-10, max_iter=1000)
    reference.fit(design, outcome.ravel(), sample_weight=weight)
    fit = fit_controlled(outcome, terms, weight[:60])

    np.testing.assert_allclose([*fit.strength, *fit.effects], reference.coef_[0], atol=1e-5)


def test_an_outcome_of_one_half_is_half_a_win_and_half_a_loss() -> None:
    halves = fit_controlled(np.full((1, 2), 0.5), np.array([[[1.0], [0.3]]]))
    doubled = fit_controlled(np.array([[1.0, 0.0, 1.0, 0.0]]), np.array([[[1.0], [1.0], [0.3], [0.3]]]))

    np.testing.assert_allclose(halves.win_rate, [0.5])
    np.testing.assert_allclose(doubled.win_rate, [0.5])


def test_where_terms_do_not_differ_win_rates_and_samples_are_the_plain_ones() -> None:
    outcome, terms = with_gaps(simulated(200), 1)
    strata = np.arange(200) // 20
    fit = fit_controlled(outcome, 0 * terms)

    np.testing.assert_allclose(fit.win_rate, win_rates(outcome), atol=2e-4)
    np.testing.assert_allclose(
        bootstrap_controlled(fit, outcome, 0 * terms, strata, resamples=50),
        bootstrap_win_rates(outcome, strata, resamples=50),
        atol=3e-4,
    )


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_exchanging_llm_and_baseline_mirrors_the_win_rates(seed: int) -> None:
    outcome, terms = with_gaps(simulated(40, seed), seed)
    one, other = fit_controlled(outcome, terms), fit_controlled(1 - outcome, -terms)

    np.testing.assert_allclose(one.win_rate, 1 - other.win_rate, atol=1e-6)
    np.testing.assert_allclose(one.effects, other.effects, atol=1e-5)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_the_order_of_llms_and_queries_does_not_matter(seed: int, order: list[int]) -> None:
    outcome, terms = with_gaps(simulated(40, seed), seed)
    shuffled = np.random.default_rng(seed).permutation(40)
    one = fit_controlled(outcome, terms)
    other = fit_controlled(outcome[order][:, shuffled], terms[order][:, shuffled])

    np.testing.assert_allclose(one.win_rate[order], other.win_rate, atol=1e-6)


def test_a_judge_of_nothing_but_length_leaves_all_llms_even() -> None:
    rng = np.random.default_rng(0)
    terms = np.tanh(rng.normal(size=(3, 300, 1)) + np.array([-1.0, 0.0, 1.0])[:, np.newaxis, np.newaxis])
    longer_wins = (terms[..., 0] > 0).astype(float)

    assert np.ptp(win_rates(longer_wins)) > 0.65
    np.testing.assert_allclose(fit_controlled(longer_wins, terms).win_rate, 0.5, atol=0.2)


def test_who_wins_everything_still_does_and_who_answers_nothing_is_unknown() -> None:
    outcome, terms = simulated(100)
    outcome[0], outcome[1] = 1.0, np.nan
    fit = fit_controlled(outcome, terms)
    samples = bootstrap_controlled(fit, outcome, terms, np.zeros(100, dtype=int), resamples=20)

    assert fit.win_rate[0] > 0.995
    assert np.isnan(fit.win_rate[1])
    assert np.isnan(samples[:, 1]).all()
    assert np.all((samples[:, [0, 2, 3]] >= 0) & (samples[:, [0, 2, 3]] <= 1))


@pytest.mark.parametrize(("queries", "mean_error", "spread_error"), [(400, 0.003, 0.05), (40, 0.02, 0.15)])
def test_one_step_from_the_whole_is_close_to_a_full_refit_on_every_resample(
    queries: int, mean_error: float, spread_error: float
) -> None:
    outcome, terms = simulated(queries)
    strata = np.arange(queries) % 5
    fit = fit_controlled(outcome, terms)
    quick = bootstrap_controlled(fit, outcome, terms, strata, resamples=200)
    counts = bootstrap_plan(strata, resamples=200).counts
    refitted = np.stack([fit_controlled(outcome, terms, drawn.astype(float)).win_rate for drawn in counts])

    assert np.mean(np.abs(quick - refitted)) < mean_error
    np.testing.assert_allclose(quick.std(axis=0), refitted.std(axis=0), rtol=spread_error)


def test_a_part_is_judged_by_the_effects_of_the_whole() -> None:
    outcome, terms = simulated(300)
    fit = fit_controlled(outcome, terms)

    np.testing.assert_allclose(controlled_within(fit, outcome, terms), fit.win_rate, atol=1e-4)
    part = controlled_within(fit, outcome[:, :60], terms[:, :60])
    np.testing.assert_allclose(part, fit.win_rate, atol=0.2)
    assert np.isnan(controlled_within(fit, np.full((4, 3), np.nan), terms[:, :3])).all()


def test_terms_of_other_responses_are_refused() -> None:
    with pytest.raises(LeaderboardError, match="of \\(2, 3\\) responses"):
        fit_controlled(np.ones((2, 3)), np.zeros((2, 4, 1)))


@pytest.mark.corpora
def test_the_order_is_that_of_alpaca_evals_official_length_controlled_win_rates(corpora: Path) -> None:
    results = read_official_results(corpora)
    controlled = 100 * fit_controlled(results.preference, results.terms).win_rate
    agreement = correlate(
        dict(zip(results.llms, -controlled, strict=True)),
        dict(zip(results.llms, -results.controlled, strict=True)),
    )
    changes = np.corrcoef(controlled - results.win_rate, results.controlled - results.win_rate)[0, 1]

    assert len(results.llms) == 30
    np.testing.assert_allclose(100 * win_rates(results.preference), results.win_rate, atol=0.001)
    assert agreement.spearman >= 0.99
    assert agreement.tau >= 0.95
    assert changes >= 0.98
