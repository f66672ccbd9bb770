"""Offline jobs, run as `python -m precompute`: whatever a benchmark needs before it can be ranked.

From queries to scores, each step resumable:

- `pool`: gathers queries; `topics`: finds topics in them; `sampling`: draws a frozen benchmark from
  these, without what `safety` leaves out
- `importers`: from public or own files to an `ImportedBenchmark`; pure reading and checking, no database
- `load`: writes an imported benchmark into the database, in one transaction and idempotently
- `collect`: asks LLMs for the responses that are missing
- `embed`: computes the representations that are missing or outdated
- `score`: has judges fill score matrices and stores win rates
- `bundles`: a benchmark as one file and back
- `status`: what of benchmarks is stored and missing, and the next command
- `lifecycle`: what is stored of LLMs, benchmarks and pools, asking again, and removing them
- `answers`: answers as a file
- `llm_facts`: refreshes prices, context windows and human ratings of LLMs

Human preferences:

- `preferences`: imports preference data, from files or the Hugging Face hub
- `criteria`: criteria behind preferences, extracted by an LLM, and their themes

Shared:

- `commands`: the command line, a file for each group of commands
- `engines`: where the heavy steps run: in this process, or in Ray actors
- `progress`: progress on a terminal
- `errors`: the errors, all of them `PrecomputeError`
"""
