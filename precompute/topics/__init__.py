"""Topics of queries.

- `settings`: how topics are found, from a TOML file with the paper's values as defaults
- `encoders`: embeddings of a pool's queries
- `templates`: prompts that data sets made from templates, which are set aside
- `discovery`: topics, parts of large topics, the categories they stand under, and a map
- `catalogue`: the list of topics that names come from
- `plain_names`: names without an LLM, from that list, by language (`languages`) or by a phrase
- `naming`: names and summaries by an LLM, and keywords
- `quality`: coherence, and stability over seeds
- `placement`: which topic a new query belongs to, and how sure that is
- `growth`: queries that are added to a pool, put beside its curated topics
- `cluster`: all of it for a pool, resumable, and a report
- `assignment`: the category and topic of an imported query
"""
