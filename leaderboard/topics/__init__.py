"""The topics of a query pool, and what people change in them, without Streamlit.

- `tree`: topics in categories, parts in topics, which query belongs where; two trees compared
- `actions`: what a person can do to a tree, as values with a JSON form for the log
- `curation`: reads and writes all that in the database: changed, undone and logged
- `yaml_file`: the curated tree as YAML, to be reviewed in a pull request, and back
- `split`: a topic taken apart by meaning, and words that tell its parts from each other
- `atlas`: topics of a pool or of a benchmark as a page draws them; `quality`: the figures that judge them
"""
