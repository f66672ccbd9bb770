"""Sentence embeddings of queries and of topic names."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crm.encoder import DIMENSIONS, sentence_encoder

EmbedTexts = Callable[[Sequence[str]], NDArray[np.float32]]
"""From N texts to their unit-length embeddings ``[N, 384]``."""


def embed_texts(texts: Sequence[str]) -> NDArray[np.float32]:
    """Returns the unit-length embeddings ``[N, 384]`` of N texts by the bundled sentence encoder."""
    return sentence_encoder().embed(texts)


def remembering(embed: EmbedTexts) -> EmbedTexts:
    """Returns an `EmbedTexts` that asks for each text once: a query is embedded to be placed and stored."""
    known: dict[str, NDArray[np.float32]] = {}

    def embed_once(texts: Sequence[str]) -> NDArray[np.float32]:
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        if unknown:
            known.update(zip(unknown, embed(unknown), strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32).reshape(len(texts), DIMENSIONS)

    return embed_once
