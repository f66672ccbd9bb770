"""Win rates, rankings and how they compare: pure functions on arrays, without Streamlit or a database.

Where to look:

- ``win_rate``: probabilities to outcomes to win rates
- ``interval``: stratified bootstrap over queries; intervals of win rates and ranks
- ``ranking``: the table a person sees, as arrays, and who climbed since another ranking
- ``correlation``: Kendall, NDCG, RBO, weighted τ and Spearman between two rankings
- ``interpretation``: one plain sentence on such a comparison
- ``export``: rankings to CSV and JSON, and CSV back to ranks
- ``errors``: everything that can go wrong, by name
"""
