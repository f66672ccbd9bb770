"""What the pages draw: figures (Plotly), tables and texts (HTML), and their style.

- `chart_style`: colours, labels and places that all figures share
- `ranking_charts`, `price_chart`, `judge_charts`, `topic_charts`: figures
- `html`: templates filled in, and the stylesheet
- `tables`, `judge_tables`, `fact_tables`, `collection_table`, `corrected_table`: HTML tables made with it
- `answer_card`: the answer over a ranking, as HTML; `picture`: with the top ten as a PNG, drawn on a `canvas`
- `responses`: queries and responses with their Markdown laid out; `three_answers`: three of them with reasons
- `robustness_sentences`: how far a ranking can be relied on, in words

All names, texts and numbers of untrusted origin are escaped.
"""
