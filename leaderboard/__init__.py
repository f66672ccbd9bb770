"""Win rates, rankings and how they compare: pure functions on arrays, without Streamlit.

Where to look:

- ``win_rate``: probabilities to outcomes to win rates
- ``interval``: stratified bootstrap over queries; intervals of win rates and ranks
- ``ranking``: the table a person sees, as arrays, and who climbed since another ranking
- ``estimate``: win rates and their bootstrap samples, plain or controlled for length and style;
  ``length_control``: the regression, ``control``: its terms, ``style_counts``: what they are counted from,
  ``removed``: what a control took out, in words
- ``certainty``: who can be told apart from whom; ``sensitivity``: what the top hangs on; ``how_sure``: both
  for a view
- ``correlation``: Kendall, NDCG, RBO, weighted τ and Spearman between two rankings
- ``compare``: several views side by side; ``permutation``: p-values of all five measures;
  ``compare_html``, ``likeness_html``, ``compare_charts``, ``compare_export``: drawn and written
- ``interpretation``: one plain sentence on such a comparison
- ``export``: rankings to CSV and JSON, and CSV back to ranks
- ``view``: what a person chose, as a value that a link carries; ``selection``: which queries that means
- ``service``: from a view to a leaderboard, the only place that joins this with ``db`` and ``crm``;
  ``request``: a view with what it names looked up; ``result``: what a page shows of it;
  ``contest``: a stored benchmark as a judge sees it; ``recent``: results kept in memory
- ``background``: leaderboards of slow judges, what there is so far; ``jobs``: who waits for which judge;
  ``filling``: one score matrix, filled and stored; ``matrix``, ``remaining``: what is judged, what is not;
  ``progress``, ``progress_line``: how far a judge is, in words and on a terminal; ``doubts``: what it doubts
- ``drilldown``: behind one LLM's rank; ``charts``, ``table_html``: drawn for a page
- ``judges``: evaluations side by side, and how two judges' rankings agree; ``judge_charts``, ``judges_html``
- ``topics``: the topics of query pools and their curation
- ``own_data``: benchmarks of one's own, imported and deleted from the browser
- ``admin``: who may change data from the browser; ``throttle``: waits after failures
- ``errors``: everything that can go wrong, by name
"""
