"""Every query to the database, one subject a module: functions over a session, records in and out.

- `benchmarks`: list, get, create or change, choose the baseline, freeze, delete
- `contents`: the topics, queries and LLMs of a benchmark, with the texts of queries and responses
- `llm_answers`: how responses were collected, and criteria extracted from preferences
- `collections`: with which settings and when responses were collected; marks of those to ask for again
- `batches`: requests that were handed in together and are not fetched yet
- `removal`: what belongs to an LLM, a benchmark or a pool, and goes with it
- `representations`: what embedded CRMs store of responses and queries; embeddings of texts
- `repacking`: arrays that an older version stored, packed as they are now
- `reuse`: what other benchmarks hold of the same queries and LLMs
- `scores`: score matrices, whole or in part, and the win rates they come to
- `bundles`: a benchmark from a bundle and back
- `preferences`: human preference data, read and written in batches
- `pools`: queries in which topics are looked for, the topics found, and what people changed in them
- `profiles`: what people chose, kept under private links

Importing is done in this order: `upsert_benchmark`, `upsert_llms`, `set_baseline`, `upsert_queries`,
`set_responses`, `put_representation`; each may be repeated without harm. A stored score matrix never outlives
what it was computed from: whatever changes queries, stored responses, representations or the baseline deletes
it.
"""
