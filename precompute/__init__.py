"""Offline jobs, run as `python -m precompute`: whatever a benchmark needs before it can be ranked.

From queries to scores, each step resumable:

- `pool`: gathers queries; `clustering`: finds topics in them; `sampling`: draws a frozen benchmark from these
- `importers`: from public or own files to an `ImportedBenchmark`; pure reading and checking, no database
- `load`: writes an imported benchmark into the database, in one transaction and idempotently
- `matching`: which imported query is which stored one; `placement`: which category and topic it gets;
  `topics`: the nearest category and topic by meaning
- `collect`: asks LLMs for the responses that are missing; `llms`: what answers, and how it is asked
- `embed`: computes the representations that are missing or outdated; `encoding`: what workers do of it
- `score`: has judges fill score matrices and stores win rates; `judging`: judges in workers
- `bundles`: a benchmark as one file and back; `describe`: what it says about itself; `licences`: whether its
  texts may go along

Human preferences:

- `preferences`: writes preference data; `hub`: Parquet files by path or by name on the Hugging Face hub;
  `filter_table`: what its filter kept, as text
- `criteria`: criteria behind preferences, extracted by an LLM, and their themes

Shared:

- `commands`: the command line, a file for each group of commands
- `engines`: where the heavy steps run: in this process, or in Ray actors
- `text_embedding`: sentence embeddings of queries and of topic names
- `database`: the database of the command line, filled from the bundled benchmarks
- `progress`, `score_progress`: progress on a terminal
- `errors`: the named errors, all of them `PrecomputeError`
"""
