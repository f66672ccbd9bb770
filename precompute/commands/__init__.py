"""The commands of ``python -m precompute``, each group in a file of its own.

- `importing`: import benchmarks, preferences and bundles
- `pools`: gather queries, find topics in them, sample benchmarks
- `topics`: look at topics and curate them
- `jobs`: collect, embed, score and bundle
- `criteria`: criteria behind preferences, and their themes
- `facts`: facts of LLMs
- `lifecycle`: stored LLMs, benchmarks and pools: list, ask again, remove; answers as a file
- `options`: arguments that several of them share
"""
