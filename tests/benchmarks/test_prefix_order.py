from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.prefix_order import (
    BLOCK,
    CRITERIA,
    KINDS,
    ORDERS,
    CacheCounts,
    Kind,
    cache_counts,
    cached_tokens,
    measure,
    seconds_on,
    sent,
    written_prompts,
)
from crm.backends._classifier import CheckpointInfo
from crm.backends.vllm_server import VLLMServerSettings, connect
from crm.errors import CRMError, UnavailableError
from crm.protocol import Pair
from tests.checkpoints import make_checkpoint, make_tokenizer
from tests.crm.backends.scripted_server import Answer, ScriptedServer

LLMS = ("first", "second", "third")
QUERIES = 4


class FewAnswers:
    """Three LLMs and a baseline on four queries."""

    llms = LLMS
    n_queries = QUERIES

    def pairs(self, llm: str) -> Sequence[Pair | None]:
        return [Pair(f"Query {query}?", f"{llm} says {query}", f"so {query}") for query in range(QUERIES)]

    def representation(self, name: str) -> Mapping[str, Any]:
        raise AssertionError(name)


def prompts_of(kind: Kind) -> list[list[list[int]]]:
    words = [*LLMS, "Query", "says", "so", *(criterion.text for criterion in CRITERIA)]
    return written_prompts(kind, FewAnswers(), CheckpointInfo(), make_tokenizer(words), 1000)


def test_whole_blocks_of_what_is_still_held_are_saved() -> None:
    first, second = list(range(40)), [*range(35), 99, 98]
    other = [7] * 40

    assert cached_tokens([first], 5) == 0
    assert cached_tokens([first, second], 5) == 32
    assert cached_tokens([first, other, second], 1) == 0
    assert cached_tokens([first, other, second], 2) == 32
    assert cached_tokens([first, [1, *first]], 5) == 0
    assert cached_tokens([first, second], 5, block=10) == 30


def test_the_last_token_is_always_computed() -> None:
    assert cached_tokens([[3] * 2 * BLOCK, [3] * 2 * BLOCK], 5) == BLOCK


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (KINDS[0], len(LLMS) * QUERIES),
        (KINDS[1], 2 * len(LLMS) * QUERIES),
        (KINDS[2], len(CRITERIA) * len(LLMS) * QUERIES),
        (KINDS[3], (len(LLMS) + 1) * QUERIES),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else "",
)
def test_the_prompts_are_those_of_a_ranking(kind: Kind, asked: int) -> None:
    blocks = prompts_of(kind)

    assert len({tuple(prompt) for prompts in blocks for prompt in prompts}) == asked
    for order in ORDERS.values():
        assert sorted(sent(blocks, order)) == sorted(sent(blocks, ORDERS["as given"]))


def test_a_small_cache_saves_most_where_common_beginnings_are_neighbours() -> None:
    def prompts(queries: int, llms: int) -> list[list[int]]:
        return [[query] * 64 + [llm] * (10 + 7 * query) for llm in range(llms) for query in range(queries)]

    blocks = [prompts(5, 6)]
    saved = {name: cached_tokens(sent(blocks, order), 2) for name, order in ORDERS.items()}

    assert saved["as given"] == 0
    assert saved["by beginning"] == 5 * 5 * 64


def test_a_server_is_sent_each_order_as_prompts_that_are_new_to_it(tmp_path: Path) -> None:
    def even(body: dict[str, Any]) -> Answer:
        return Answer(
            {"data": [{"index": index, "probs": [0.5, 0.5]} for index in range(len(body["input"]))]}
        )

    folder = make_checkpoint(tmp_path / "pairs")
    blocks = [[[5, 6, 7], [5], [5, 6]], [[8]]]
    with ScriptedServer() as server:
        server.on("/v1/models", Answer({"data": [{"id": "tiny", "max_model_len": 512}]}))
        server.on("/classify", even)
        settings = VLLMServerSettings(url=server.url, model="tiny", concurrency=1)
        asked = connect("mine", "tiny", settings, tokenizer=str(folder), labels=2)

        assert seconds_on(asked, blocks, ORDERS["by length"]) > 0
    first, second = (body["input"] for body in server.asked["/classify"])
    assert [prompt[2:] for prompt in first] == [[5], [5, 6], [5, 6, 7]]
    assert [prompt[2:] for prompt in second] == [[8]]
    assert len({tuple(prompt[:2]) for prompt in [*first, *second]}) == 1


METRICS = """\
# HELP vllm:prefix_cache_queries_total Prefix cache queries, in terms of number of queried tokens.
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 3000.0
vllm:prefix_cache_queries_total{engine="1",model_name="tiny"} 1000.0
vllm:prefix_cache_queries_created{engine="0",model_name="tiny"} 1.7960206726044278e+09
vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 1.0e+03
vllm:external_prefix_cache_queries_total{engine="0",model_name="tiny"} 7.0
vllm:cache_config_info{_block_size_resolved="True",block_size="32",effective_attention_block_size="64",\
enable_prefix_caching="True",num_cpu_blocks="None",num_gpu_blocks="128",num_gpu_blocks_override="99"} 1.0
"""


def test_a_servers_counts_are_read() -> None:
    with ScriptedServer() as server:
        server.on("/metrics", Answer(METRICS))
        assert cache_counts(f"{server.url}/") == CacheCounts(4096, 32, 4000, 1000)


def test_the_share_saved_is_of_what_was_asked_since() -> None:
    before, after = CacheCounts(4096, 32, 1000, 900), CacheCounts(4096, 32, 1400, 1000)
    assert after.saved_since(before) == 0.25


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(METRICS.replace("True", "False")), "start it with --enable-prefix-caching"),
        (Answer("nothing to count"), "start it with --enable-prefix-caching"),
        (Answer("", 404), "tells no metrics: start vLLM there"),
    ],
    ids=["switched off", "another kind", "no metrics"],
)
def test_a_server_that_keeps_no_prefixes_is_said(answer: Answer, said: str) -> None:
    with ScriptedServer() as server:
        server.on("/metrics", answer)
        with pytest.raises(UnavailableError, match=said):
            cache_counts(server.url)


def test_a_server_without_a_judge_is_refused() -> None:
    with pytest.raises(CRMError, match="name its --model there, and its folder as --tokenizer"):
        measure(url=["http://127.0.0.1:9"])
