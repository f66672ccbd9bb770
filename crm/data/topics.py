"""Topics of pairs' queries, and whole topics that are held out: what “new topics” are measured on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crm.data.pairs import Directions
from crm.data.topic_model import TopicParameters, find_topics
from crm.embedded.encoder import ProgressCallback, sentence_encoder
from crm.errors import CRMError

_MOST = 0.5


def topics_of_queries(
    pairs: Sequence[Directions], seed: int = 0, progress: ProgressCallback | None = None
) -> list[str]:
    """Return the topic of every pair's query: those given with all pairs, else those that the pipeline finds.

    Queries are embedded, compressed by UMAP and grouped by HDBSCAN as in section 4.1 of the USL paper; each
    different query counts once.

    Raises:
        CRMError: No topics are given, and there are too few queries to find some, or they form no groups.
    """
    given = [one.topic for one, _ in pairs]
    if all(given):
        return given
    queries = sorted({one.pair.query for one, _ in pairs})
    embeddings = sentence_encoder().encode(queries, progress=progress).embedding
    found = find_topics(queries, embeddings, TopicParameters(seed=seed))
    if found is None or len(found.keywords) < 2:  # noqa: PLR2004
        raise CRMError(
            f"No topics are found among {len(queries):,} different queries: give every line a topic, or more."
        )
    number_of = dict(zip(queries, found.topic_of.tolist(), strict=True))
    return [str(number_of[one.pair.query]) for one, _ in pairs]


def with_topics_held_out(
    pairs: Sequence[Directions], topics: Sequence[str], share: float, seed: int = 0
) -> list[Directions]:
    """Return the pairs, those of some topics in the split ``dev``, all others in ``train``.

    Topics are drawn until they have ``share`` of the pairs; one that would bring them to more than half is
    passed over.

    Raises:
        CRMError: No topic can be held out.
    """
    sizes = Counter(topics)
    held_out: set[str] = set()
    n_held = 0
    for place in np.random.default_rng(seed).permutation(len(sizes)):
        topic = sorted(sizes)[place]
        if n_held >= share * len(topics):
            break
        if n_held + sizes[topic] <= _MOST * len(topics):
            held_out.add(topic)
            n_held += sizes[topic]
    if not held_out:
        raise CRMError("All pairs are of one topic: none can be held out.")
    splits = ["dev" if topic in held_out else "train" for topic in topics]
    return [
        (replace(one, split=split, topic=topic), replace(other, split=split, topic=topic))
        for (one, other), split, topic in zip(pairs, splits, topics, strict=True)
    ]
