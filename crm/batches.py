"""Batches: texts that are read together, as many as fit."""

from collections.abc import Iterator, Sequence


def batches(lengths: Sequence[int], most_tokens: int, most: int | None = None) -> Iterator[list[int]]:
    """Yield indices of texts, in their order, of together at most so many tokens; a longer one is alone.

    Args:
        lengths: Tokens of each text ``[N]``.
        most: Texts in a batch; without it any number.
    """
    batch: list[int] = []
    tokens = 0
    for index, length in enumerate(lengths):
        if batch and (len(batch) == most or tokens + length > most_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(index)
        tokens += length
    if batch:
        yield batch
