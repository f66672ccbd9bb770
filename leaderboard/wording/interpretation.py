"""One plain sentence on how a person's ranking relates to the default one, for readers without statistics."""

from leaderboard.statistics.correlation import Correlations

# With four LLMs even identical rankings come about by chance one time in twelve (Kendall's exact test, both
# directions), so fewer than five cannot show anything at the usual 5 %.
FEWEST_LLMS = 5
SIGNIFICANCE = 0.05

# Below so many queries the 95 % interval of a win rate near one half is wider than ± 20 points.
FEWEST_QUERIES = 25

# Kendall's τ: nine of ten pairs in the same (or, negative, the opposite) order; three of four; three of five.
CLOSE = 0.8
LARGELY = 0.5
WEAK = 0.2

# NDCG with a dozen LLMs: the crowd's best two in place and the rest reversed give 0.95, the best two swapped
# 0.88, the best one moved to sixth place 0.73 and to the last 0.68.
TOP_KEPT = 0.9
TOP_CHANGED = 0.75

# Coefficients are compared after rounding, so that a τ of four fifths is four fifths however it was summed.
_DECIMALS = 9


def interpret(correlations: Correlations, *, queries: int | None = None) -> str:
    """Say in one sentence how "your ranking" relates to the crowd's, the default ranking.

    Args:
        correlations: of the person's ranking (predicted) with the default ranking (reference).
        queries: how many queries the person's ranking rests on, for a caution where they are few.

    Returns:
        An English sentence; equal arguments give equal sentences.
    """
    if correlations.n == 1:
        return "Only one LLM is ranked, so there is nothing to compare with the crowd's ranking."
    if correlations.n < FEWEST_LLMS:
        return _on_few_llms(correlations)
    relation = _relation(correlations)
    if queries is not None and queries < FEWEST_QUERIES:
        return f"Judging by only {queries} {'query' if queries == 1 else 'queries'}, your ranking {relation}."
    return f"Your ranking {relation}."


def _on_few_llms(correlations: Correlations) -> str:
    """What can be said of two to four LLMs."""
    same = round(correlations.tau, _DECIMALS) == 1
    verdict = "Your ranking is the same as the crowd's" if same else "Your ranking differs from the crowd's"
    return f"{verdict}, but with only {correlations.n} LLMs that could well be chance."


def _relation(correlations: Correlations) -> str:
    """What "your ranking" does; the first of these descriptions that holds."""
    tau = round(correlations.tau, _DECIMALS)
    chance = correlations.p_value >= SIGNIFICANCE
    if tau >= LARGELY and correlations.ndcg < TOP_CHANGED and not chance:
        return "puts other LLMs first but largely follows the crowd's after that"
    if abs(tau) >= CLOSE:
        return _near_extreme(tau)
    if correlations.ndcg >= TOP_KEPT:
        return "keeps the crowd's favourites near the top but reorders the rest"
    if chance:
        return f"shows no clear relation to the crowd's: with {correlations.n} LLMs, this could be chance"
    return _in_between(tau)


def _near_extreme(tau: float) -> str:
    """Words for a τ close to 1 or to −1."""
    if tau == 1:
        return "is the same as the crowd's"
    if tau == -1:
        return "is the exact reverse of the crowd's"
    return "hardly differs from the crowd's" if tau > 0 else "is nearly the reverse of the crowd's"


def _in_between(tau: float) -> str:
    """Words for a τ that is neither chance nor extreme."""
    if tau >= LARGELY:
        return "largely agrees with the crowd's, with some LLMs changing places"
    if tau >= WEAK:
        return "partly agrees with the crowd's"
    if tau > -WEAK:
        return "has little to do with the crowd's"
    return "leans the opposite way to the crowd's"
