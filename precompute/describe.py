"""What a bundle says about itself, from a file that a person wrote."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from db import Bundle
from precompute.errors import ImportFileError

_TEXTS = ("title", "description", "version", "licence", "attribution", "source_url", "text_import_command")


def described(bundle: Bundle, path: Path) -> Bundle:
    """The bundle with title, licence and the like, and the LLMs' titles, taken from a JSON file.

    The file is an object with any of the fields of `db.BenchmarkInfo`, and `titles`: from LLM name to the
    name it is shown by.

    Raises:
        ImportFileError: the file is no such object, or names an LLM that the bundle lacks.
    """
    about = _read(path)
    titles = about.pop("titles", {})
    known = {llm.name for llm in bundle.llms}
    for field in about:
        if field not in _TEXTS:
            raise ImportFileError(path, f"the field {field!r} is none of {', '.join(_TEXTS)} and titles")
        if not isinstance(about[field], str) and (field, about[field]) != ("text_import_command", None):
            raise ImportFileError(path, f"the field {field!r} is not a text")
    for name, title in titles.items():
        if not isinstance(title, str):
            raise ImportFileError(path, f"the title of {name!r} is not a text")
        if name not in known:
            raise ImportFileError(path, f"there is no LLM {name!r} in {bundle.info.slug}")
    return replace(
        bundle,
        info=replace(bundle.info, **about),
        llms=tuple(replace(llm, title=titles.get(llm.name, llm.title)) for llm in bundle.llms),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ImportFileError(path, f"it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ImportFileError(path, f"it is not JSON ({error})") from error
    if not isinstance(about, dict) or not isinstance(about.get("titles", {}), dict):
        raise ImportFileError(path, "it is not a JSON object with titles by LLM")
    return about
