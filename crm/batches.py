"""Batches: texts that are read together, as many as fit, and the order in which servers read least."""

from collections.abc import Iterator, Sequence


def by_beginning(prompts: Sequence[list[int]] | Sequence[str]) -> list[int]:
    """Indices of the prompts, those with the longest common beginning beside each other ``[N]``.

    A vLLM server, and many another, keeps what it computed of a prompt's beginning for the next prompts that
    begin alike, as those with the same criteria and query do, until it needs the memory.

    Args:
        prompts: In tokens or as texts ``[N]``.
    """
    return sorted(range(len(prompts)), key=prompts.__getitem__)


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
