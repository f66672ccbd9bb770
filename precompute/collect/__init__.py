"""Asks LLMs for responses to a benchmark's queries and stores them as they come in.

- `collection`: the whole of it, from what is missing to the table at the end
- `costs`: what it will take, before anything is asked; `budget`: what it may spend
- `runner`: asks all LLMs at once; `stats`: what that has brought so far
- `batches`: hands them in at the provider instead, and fetches the answers
- `distributed`: asks with the workers of an engine
- `writer`: outcomes to the database, a few at a time
"""

from precompute.collect.collection import CollectSummary, collect_responses

__all__ = ["CollectSummary", "collect_responses"]
