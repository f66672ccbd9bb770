"""Topics of queries.

- `settings`: how topics are found, from a TOML file with the paper's values as defaults
- `encoders`: embeddings of a pool's queries
- `discovery`: topics, parts of large topics, the categories they stand under, and a map
- `naming`: names and summaries, by an LLM or from keywords
- `quality`: coherence, and stability over seeds
- `cluster`: all of it for a pool, resumable, and a report
- `assignment`: the category and topic of an imported query
"""
