import re
import shutil
from pathlib import Path

import pytest

from crm.errors import ConfigError
from crm.llm import shared_limits
from crm.llm.settings import (
    PROVIDERS,
    ConfiguredLLM,
    EndpointLLMSettings,
    Limits,
    TransformersLLMSettings,
    llms_file,
    read_llms,
)

EXAMPLE = Path(__file__).parents[3] / "llms.example.toml"


def digest(folder: Path, keys: str) -> str:
    (folder / "llms.toml").write_text(f'[mine]\nmodel = "m"\n{keys}\n')
    [llm] = read_llms(folder / "llms.toml")
    return llm.digest


def test_every_llm_of_the_example_can_be_read(tmp_path: Path) -> None:
    llms = read_llms(Path(shutil.copy(EXAMPLE, tmp_path / "llms.toml")))
    assert {type(llm.settings) for llm in llms} == set(PROVIDERS.values())


@pytest.mark.parametrize(
    "keys",
    [
        'system = "Be brief."',
        "temperature = 0.0",
        "max_tokens = 9",
        "seed = 1",
        "extra_body = { top_p = 0.5 }",
        'max_tokens_key = "max_completion_tokens"',
    ],
)
def test_what_can_change_an_answer_changes_the_digest(tmp_path: Path, keys: str) -> None:
    assert digest(tmp_path, keys) != digest(tmp_path, "")


def test_the_discount_of_batches_is_an_llms_else_its_providers_else_the_files(tmp_path: Path) -> None:
    (tmp_path / "llms.toml").write_text(
        "[defaults]\nbatch_discount = 0.1\n[provider.acme]\nurl = 'http://acme/v1'\nbatch_discount = 0.2\n"
        "[a]\nprovider = 'acme'\nmodel = 'm'\nprice_prompt = 10\nbatch_discount = 0.3\n"
        "[b]\nprovider = 'acme'\nmodel = 'm'\nprice_prompt = 10\n[c]\nmodel = 'm'\nprice_prompt = 10\n"
    )
    in_batches = [llm.settings.in_batches for llm in read_llms(tmp_path / "llms.toml")]
    assert [settings.price_prompt for settings in in_batches] == pytest.approx([7, 8, 9])
    assert EndpointLLMSettings(model="m", price_prompt=10).in_batches.price_prompt == 5
    assert "price_completion" not in in_batches[0].model_fields_set  # that is still not known
    (tmp_path / "llms.toml").write_text("[a]\nmodel = 'm'\nbatch_discount = 1.5\n")
    with pytest.raises(ConfigError, match="the key 'batch_discount' should be less than or equal to 1"):
        read_llms(tmp_path / "llms.toml")


def test_nothing_else_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = digest(tmp_path, "")
    assert plain == digest(
        tmp_path,
        'title = "T"\nnote = "N"\nurl = "http://elsewhere/v1"\napi_key_env = "KEY"\nconcurrency = 2\n'
        "requests_per_minute = 3\ntimeout = 4\nretries = 5\nprice_prompt = 6\nprice_completion = 7\n"
        "batch_discount = 0.2\n"
        'provider = "openai"\nsystem = ""',
    )
    (tmp_path / "m").mkdir()
    monkeypatch.chdir(tmp_path)
    assert digest(tmp_path, "") == plain


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[a]\nmodel = "m"\nprovider = "x"',
            "llms.toml, LLM 'a': the key 'provider' must be one of openai",
        ),
        ('[a]\nurl = "http://h"', "llms.toml, LLM 'a': the key 'model' is missing"),
        (
            '[a]\nmodel = "m"\ntemperture = 1',
            "llms.toml, LLM 'a': the key 'temperture' is unknown: choose",
        ),
        ('[a]\nmodel = "m"\napi_key_env = "sk-1"', "must be the name of an environment variable in capital"),
        ('model = "m"', "llms.toml: 'model' is not a table: write [model] above an LLM's keys."),
        ('[a.5]\nmodel = "m"', 'llms.toml: a name with a dot stands in quotes: write ["a.5"].'),
        ("", "llms.toml holds no LLM"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "llms.toml").write_text(text)
    with pytest.raises(ConfigError) as said:
        read_llms(tmp_path / "llms.toml")
    assert problem in str(said.value)
    assert re.fullmatch(r"[^\n]+\.", str(said.value))


def test_a_wrong_table_takes_no_other_down(tmp_path: Path) -> None:
    (tmp_path / "llms.toml").write_text('[bad]\n[good]\nmodel = "m"\n')
    assert [llm.name for llm in read_llms(tmp_path / "llms.toml", ["good"])] == ["good"]


def test_the_file_is_the_one_named_or_the_one_beside_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crm.llm.settings.DEFAULT_FILE", tmp_path / "llms.toml")
    monkeypatch.delenv("USL_LLMS", raising=False)
    with pytest.raises(ConfigError, match=r"^There is no file of LLMs: copy llms\.example\.toml"):
        llms_file()
    (tmp_path / "llms.toml").touch()
    assert llms_file() == tmp_path / "llms.toml"
    monkeypatch.setenv("USL_LLMS", "other.toml")
    assert llms_file() == Path("other.toml")
    assert llms_file(Path("third.toml")) == Path("third.toml")


def read(folder: Path, text: str) -> dict[str, ConfiguredLLM]:
    (folder / "llms.toml").write_text(text, encoding="utf-8")
    return {llm.name: llm for llm in read_llms(folder / "llms.toml")}


COMMON = """
[defaults]
provider = "acme"
temperature = 0.5
max_tokens = 100
batch_tokens = 64

[provider.acme]
url = "https://acme.example/v1"
api_key_env = "ACME_API_KEY"
concurrency = 40
tokens_per_minute = 1000

[provider.openai]
requests_per_minute = 500

[one]
model = "m1"

[two]
model = "m2"
temperature = 0.0
concurrency = 2

[three]
provider = "openai"
model = "m3"

[four]
provider = "transformers"
model = "org/m4"
"""


class TestCommonTables:
    def test_what_a_table_lacks_comes_from_its_provider_and_then_from_the_defaults(
        self, tmp_path: Path
    ) -> None:
        llms = read(tmp_path, COMMON)
        assert list(llms) == ["one", "two", "three", "four"]
        one, two, three, four = (llm.settings for llm in llms.values())
        assert isinstance(one, EndpointLLMSettings)
        assert isinstance(two, EndpointLLMSettings)
        assert isinstance(three, EndpointLLMSettings)
        assert isinstance(four, TransformersLLMSettings)
        assert (one.url, one.api_key_env, one.temperature) == ("https://acme.example/v1", "ACME_API_KEY", 0.5)
        assert (one.limits, two.limits) == (Limits(40, None, 1000), Limits(2, None, 1000))
        assert (two.temperature, two.max_tokens) == (0.0, 100)
        assert (three.url, three.requests_per_minute) == ("https://api.openai.com/v1", 500)
        assert (four.batch_tokens, four.temperature, four.max_tokens) == (64, 0.5, 100)

    def test_llms_of_a_provider_share_its_limits_and_others_the_largest_of_their_address(
        self, tmp_path: Path
    ) -> None:
        address = "".join(
            f'[{name}]\nprovider = "openai"\nurl = "http://h/v1"\nmodel = "m"\nconcurrency = {n}\n'
            for name, n in (("five", 3), ("six", 9))
        )
        own = COMMON.replace("[provider.openai]\nrequests_per_minute = 500\n", "") + address
        assert shared_limits(read(tmp_path, own).values()) == {
            "acme": Limits(40, None, 1000),
            "https://api.openai.com/v1": Limits(8),
            "http://h/v1": Limits(9),
        }

    def test_an_answer_does_not_depend_on_where_its_keys_stand(self, tmp_path: Path) -> None:
        digest_of_two = read(tmp_path, COMMON)["two"].digest
        assert (
            digest_of_two
            == read(tmp_path, '[x]\nmodel = "m2"\ntemperature = 0.0\nmax_tokens = 100')["x"].digest
        )

    def test_a_providers_key_never_goes_to_another_address(self, tmp_path: Path) -> None:
        text = '[provider.openai]\napi_key_env = "A_KEY"\n[a]\nmodel = "m"\nurl = "http://mine/v1"\n'
        settings = read(tmp_path, text)["a"].settings
        assert isinstance(settings, EndpointLLMSettings)
        assert (settings.url, settings.api_key_env) == ("http://mine/v1", None)

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('[defaults]\nmodel = "m"', "[defaults]: the key 'model' cannot stand for all LLMs"),
            ("[defaults]\nheat = 1", "[defaults]: the key 'heat' cannot stand for all LLMs"),
            ('[defaults]\napi_key_env = "A_KEY"', "[defaults]: the key 'api_key_env' cannot stand for all"),
            (
                '[provider.acme]\nurl = "http://h"\n[a]\nmodel = "m"\nprovider = "acme"\nurl = "http://x"',
                "the key 'url' stands in [provider.acme]",
            ),
            ('[provider.acme]\nmodel = "m"', "provider 'acme': the key 'model' is unknown"),
            ('[provider.acme]\napi_key = "sk-1"', "an API key does not belong in a file"),
            ("[provider.vllm]\nretries = 1", "[provider.vllm] runs in this process"),
            ('provider = "acme"', "'provider' is not a table"),
            ('[provider]\nurl = "http://h"', "write [provider.NAME] above the keys of a provider"),
            ('[a]\nmodel = "m"\nprovider = "acme"', "must be one of openai, transformers, vllm"),
        ],
    )
    def test_a_wrong_key_is_one_sentence(self, tmp_path: Path, text: str, problem: str) -> None:
        with pytest.raises(ConfigError) as refused:
            read(tmp_path, text + '\n[z]\nmodel = "m"\n')
        assert problem in str(refused.value)
        assert "sk-1" not in str(refused.value)
