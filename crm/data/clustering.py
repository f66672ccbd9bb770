"""Find clusters of criteria, join them to themes, and describe these by keywords and adjectives.

Clusters come from the pipeline that finds the topics of queries (`crm.data.topic_model`). Their centroids
are joined by Ward's criterion to the wanted number of themes, which has no random part; keywords are those
of c-TF-IDF over themes (BERTopic). Adjectives are found by the Hanover Tagger (Wartena 2019), which tags
words in their sentence; its English model comes with its package and knows the tags of the British National
Corpus. So “easy-to-follow” and “bold” count where they are adjectives and not where they are something else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crm.criteria import CriteriaSet, normalise
from crm.data.corpora import read_json_lines
from crm.data.taxonomy import (
    CriterionCluster,
    CriterionClusters,
    CriterionThemes,
    Theme,
    ThemeCluster,
    name_from,
)
from crm.data.topic_model import TopicParameters, find_topics
from crm.embedded.encoder import ProgressCallback, sentence_encoder
from crm.errors import CRMError, UnavailableError

HELD_OUT_SHARE = 0.1
"""Share of all criteria in held-out clusters."""
_PARAMETERS = TopicParameters(density_neighbours=5)
_MIN_CRITERIA = 200
"""UMAP's spectral layout and HDBSCAN find nothing sensible in less."""
_EXTRA = ("keyword_{}", "avoid_{}")


def read_criteria_lists(path: Path, split: str | None = None) -> list[tuple[str, ...]]:
    """Return texts of the criteria of every side of every annotated pair, single extra criteria included.

    Args:
        split: Of one split only, ``train`` or ``dev``.

    Raises:
        CRMError: A row that is not as described.
    """
    return [
        side
        for number, row in read_json_lines(path)
        if split is None or row.get("split") == split
        for side in _sides(path, number, row)
    ]


def _sides(path: Path, number: int, row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for side in "ab":
        try:
            listed = CriteriaSet.from_json(row[f"criteria_{side}"])
        except (KeyError, ValueError) as error:
            raise CRMError(f"{path.name}, row {number}: no criteria for side {side}.") from error
        extra = [row[key] for pattern in _EXTRA if row.get(key := pattern.format(side))]
        yield (*(item.text for item in listed), *map(normalise, extra))


def cluster_criteria(
    lists: Sequence[Sequence[str]],
    seed: int = 0,
    share: float = HELD_OUT_SHARE,
    progress: ProgressCallback | None = None,
) -> CriterionClusters:
    """Cluster all criteria and choose the clusters to hold out.

    Args:
        lists: The criteria of every side of every pair.
        seed: Of UMAP's layout and of the first held-out cluster.
        progress: Told how many criteria are embedded.

    Raises:
        CRMError: There are too few criteria.
    """
    texts = sorted({text for criteria in lists for text in criteria})
    if len(texts) < _MIN_CRITERIA:
        raise CRMError(f"There are {len(texts)} different criteria: clusters need at least {_MIN_CRITERIA}.")
    embeddings = sentence_encoder().encode(texts, progress=progress).embedding
    topics = find_topics(texts, embeddings, replace(_PARAMETERS, seed=seed))
    if topics is None:
        raise CRMError("The criteria form no clusters: no group of 20 means alike.")
    found, keywords = topics.topic_of, topics.keywords
    number_of = dict(zip(texts, found.tolist(), strict=True))
    held_out = held_out_clusters([[number_of[text] for text in criteria] for criteria in lists], share, seed)
    members = [np.flatnonzero(found == number) for number in range(len(keywords))]
    centroids = np.stack([embeddings[rows].mean(axis=0) for rows in members])
    return CriterionClusters(
        tuple(
            CriterionCluster(words, number in held_out, tuple(texts[row] for row in members[number]))
            for number, words in enumerate(keywords)
        ),
        centroids / np.linalg.norm(centroids, axis=1, keepdims=True),
    )


def held_out_clusters(lists: Sequence[Sequence[int]], share: float, seed: int) -> frozenset[int]:
    """Cluster with at least ``share`` of all criteria that often stand together in lists.

    The first is drawn; then joins, again and again, the cluster that makes most lists have two held-out
    criteria, for its size. So a theme is withheld as a whole, with its neighbours, and there are lists to
    measure on. The largest cluster is never held out.

    Args:
        lists: Clusters of the criteria of every list.
    """
    size = 1 + max(number for numbers in lists for number in numbers)
    counts = np.zeros((len(lists), size), dtype=np.int64)
    for row, numbers in enumerate(lists):
        np.add.at(counts[row], list(numbers), 1)
    sizes = counts.sum(axis=0)
    free = sizes > 0
    free[sizes.argmax()] = False
    gain = np.where(free, np.random.default_rng(seed).random(size), 0.0)
    chosen: list[int] = []
    while free.any() and sizes[chosen].sum() < share * sizes.sum():
        chosen.append(int(np.where(free, gain, -1.0).argmax()))
        free[chosen[-1]] = False
        together = counts[:, chosen].sum(axis=1, keepdims=True)
        gain = ((together + counts > 1).sum(axis=0) - (together > 1).sum()) / np.maximum(sizes, 1)
    return frozenset(chosen)


N_THEMES = 12
_MAX_ADJECTIVES = 30
_MAX_KEYWORDS = 8
_PART_KEYWORDS = 3
_MAX_EXAMPLES = 5
_EXAMPLE_WORDS = range(4, 15)
"""Words of a criterion that says enough and is still read at a glance."""
_KEYWORD_PATTERN = r"(?u)\b[a-z][a-z-]+[a-z]\b"


def find_themes(
    clusters: CriterionClusters, lists: Sequence[Sequence[str]], source: str, n_themes: int = N_THEMES
) -> CriterionThemes:
    """Join clusters to themes and describe them.

    Args:
        clusters: Clusters of the criteria, or of others: an unknown criterion belongs to the nearest.
        lists: The criteria of every side of every pair.
        source: Where they come from, in a few words.
        n_themes: Themes at most; there are never more than clusters.

    Raises:
        CRMError: There are no criteria.
        UnavailableError: The tagger that finds adjectives is not installed.
    """
    occurrences = Counter(normalise(text) for criteria in lists for text in criteria)
    if not occurrences:
        raise CRMError("There are no criteria to find themes in.")
    texts = sorted(occurrences)
    number_of = dict(zip(texts, clusters.assigned(texts), strict=True))
    theme_of = _joined(clusters, n_themes)
    members = [
        {text: n for text, n in occurrences.items() if theme_of[number_of[text]] == theme}
        for theme in range(int(theme_of.max()) + 1)
    ]
    members = [counted for counted in members if counted]
    members.sort(key=lambda counted: -sum(counted.values()))
    adjectives = each_in_one([adjective_counts(counted) for counted in members], _MAX_ADJECTIVES)
    themes = []
    for counted, words, kept in zip(members, _keywords(members), adjectives, strict=True):
        in_theme = Counter({number_of[text]: 0 for text in counted})
        for text, n in counted.items():
            in_theme[number_of[text]] += n
        ordered = sorted(in_theme, key=lambda number: (-in_theme[number], number))
        parts = tuple(
            ThemeCluster(clusters.clusters[number].keywords[:_PART_KEYWORDS], in_theme[number])
            for number in ordered
        )
        of_largest = [[text for text in counted if number_of[text] == number] for number in ordered]
        examples = tuple(islice(_examples(clusters, ordered, of_largest), _MAX_EXAMPLES))
        n_criteria = sum(counted.values())
        themes.append(Theme(name_from(words), words, n_criteria, kept, examples, parts))
    return CriterionThemes(source, len(lists), len(occurrences), tuple(themes))


def _joined(clusters: CriterionClusters, n_themes: int) -> NDArray[np.int64]:
    """Theme of every cluster ``[K]``."""
    from sklearn.cluster import AgglomerativeClustering  # noqa: PLC0415

    n_clusters = len(clusters.clusters)
    if n_themes >= n_clusters:
        return np.arange(n_clusters)
    joined: NDArray[np.int64] = AgglomerativeClustering(n_themes, linkage="ward").fit_predict(
        clusters.centroids
    )
    return joined


def _keywords(members: Sequence[dict[str, int]]) -> list[tuple[str, ...]]:
    """Return the most typical words of every theme, no two of one dictionary form."""
    from bertopic.vectorizers import ClassTfidfTransformer  # noqa: PLC0415
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    vectorizer = CountVectorizer(stop_words="english", token_pattern=_KEYWORD_PATTERN)
    counts = vectorizer.fit_transform(
        [" ".join(f"{text}\n" * n for text, n in counted.items()) for counted in members]
    )
    weights = ClassTfidfTransformer(reduce_frequent_words=True).fit_transform(counts).toarray()
    vocabulary = vectorizer.get_feature_names_out()
    found = []
    for row in weights:
        ranked = [str(vocabulary[column]) for column in np.argsort(-row, kind="stable")[: 4 * _MAX_KEYWORDS]]
        distinct = {lemma: word for word, lemma in reversed(list(zip(ranked, lemmas(ranked), strict=True)))}
        found.append(tuple(word for word in ranked if word in distinct.values())[:_MAX_KEYWORDS])
    return found


def _examples(
    clusters: CriterionClusters, numbers: Sequence[int], members: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield one criterion of each cluster: of those that read well, the one nearest to the centroid."""
    for number, texts in zip(numbers, members, strict=True):
        readable = [text for text in texts if len(text.split()) in _EXAMPLE_WORDS]
        if readable:
            nearness = sentence_encoder().embed(readable) @ clusters.centroids[number]
            yield readable[int(nearness.argmax())]


_TAGGER_MODEL = "morphmodel_en.pgz"
_ADJECTIVE_TAGS = frozenset(("AJ0", "AJC", "AJS"))
"""Tags of adjectives: plain, comparative, superlative."""
_SENTENCE_TOKEN = re.compile(r"\w+(?:[-’']\w+)*|[^\w\s]")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_MIN_LETTERS = 3


def adjective_counts(texts: Mapping[str, int]) -> Counter[str]:
    """Return how often each adjective occurs, in lower case, in texts that occur so often each.

    Raises UnavailableError: The tagger is not installed.
    """
    tagger, ignored = _tagger()
    counts: Counter[str] = Counter()
    for text, n in texts.items():
        tokens = _SENTENCE_TOKEN.findall(text.lower())
        for word, _, tag in tagger.tag_sent(tokens) if tokens else ():
            if (
                tag in _ADJECTIVE_TAGS
                and len(word) >= _MIN_LETTERS
                and _WORD.fullmatch(word)
                and word not in ignored
            ):
                counts[word] += n
    return counts


def lemmas(words: Sequence[str]) -> list[str]:
    """Return the dictionary form of every word, in lower case.

    Raises UnavailableError: The tagger is not installed.
    """
    tagger, _ = _tagger()
    return [str(tagger.analyze(word)[0]).lower() for word in words]


def each_in_one(counts: Sequence[Mapping[str, int]], limit: int) -> list[tuple[tuple[str, int], ...]]:
    """Return the most frequent adjectives of every theme, each only where it is most frequent.

    As in the paper's Table 6, an adjective of several themes stays with the one that has it most often; of
    equals with the first.

    Args:
        counts: Occurrences by adjective, one mapping a theme.
        limit: Adjectives kept of a theme at most.

    Returns:
        Adjectives with their occurrences in the theme, the most frequent first.
    """
    home: dict[str, int] = {}
    for theme, counted in enumerate(counts):
        for word, n in counted.items():
            if word not in home or n > counts[home[word]][word]:
                home[word] = theme
    return [
        tuple(
            sorted(
                ((word, n) for word, n in counted.items() if home[word] == theme),
                key=lambda item: (-item[1], item[0]),
            )[:limit]
        )
        for theme, counted in enumerate(counts)
    ]


@lru_cache(maxsize=1)
def _tagger() -> tuple[Any, frozenset[str]]:
    """Return the tagger, and words of no content that it calls adjectives."""
    try:
        from HanTa.HanoverTagger import HanoverTagger  # noqa: PLC0415
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415
    except ImportError as error:
        raise UnavailableError(
            "Adjectives are found with the package hanta: install requirements.txt."
        ) from error
    return HanoverTagger(_TAGGER_MODEL), frozenset(ENGLISH_STOP_WORDS)
