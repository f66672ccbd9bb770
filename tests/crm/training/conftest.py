import gzip
import json
from pathlib import Path

import pytest


@pytest.fixture
def two_answers(tmp_path: Path) -> Path:
    folder = tmp_path / "modern_llms" / "s"
    folder.mkdir(parents=True)
    with gzip.open(folder / "responses.jsonl.gz", "wt", encoding="utf-8") as file:
        for llm, response in (("one", "Ha!"), ("two", "Sir.")):
            row = {"prompt_id": "p", "prompt": "Well?", "llm": llm, "response": response}
            file.write(json.dumps(row) + "\n")
    return tmp_path
