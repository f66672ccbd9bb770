"""Win rates, intervals, rankings and how they compare: pure functions on arrays (docs/statistics.md).

- `win_rate`: probabilities to outcomes to win rates, and the weights of queries in them
- `bootstrap`: intervals of win rates and ranks; `ranking`: LLMs best first, with all that is known of each
- `answered`: how much of the queries each LLM answered
- `ranks`: ranks and quantiles, `kendall`: Kendall's τ, that need no statistics of SciPy
- `duels`: every LLM against every other on the queries that both answered, and who can be compared
- `bradley_terry`: rankings of LLMs that answered different queries, from their duels
- `anchoring`: the default ranking held to people's votes; `foretelling`: what people would rate
- `prediction_powered`: win rates by a judge, corrected by a person's votes
- `columns`: statistics with a column of their own
- `requirements`: what an LLM is asked for besides winning
- `style_control`: what a ranking can be controlled for, and the regression that does it
- `significance`: which LLMs can be told apart
- `correlation`: Kendall, NDCG, RBO, weighted τ and Spearman between two rankings, with p-values
- `agreement`: with which of several ratings a ranking agrees most; `frontier`: who is best for the money
"""
