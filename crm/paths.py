"""Where the files of the bundled judges lie, what judges are trained on, and where new ones go."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME_VARIABLE = "USL_HOME"
"""Environment variable that names the folder with the files of this installation."""
HOME = Path(os.environ.get(HOME_VARIABLE) or ROOT).absolute()
"""Where the files of this installation lie: its judges, LLMs, facts, checkpoints and data; beside the code by
default."""
BUNDLED = ROOT / "bundled" / "crm"
REPRESENTATION_FILE = BUNDLED / "minilm-style-7.npz"
"""The bundled representation."""
EMBEDDED_FILE = BUNDLED / "embedded-18.npz"
"""The bundled weights."""
CONCEPTS_FILE = BUNDLED / "concepts-6.npz"
"""The bundled classifier of concepts."""
LIMITS_FILE = BUNDLED / "limits-1.npz"
"""The bundled model that tells which numbers in a wish are limits."""
CHECKPOINTS = HOME / "checkpoints"
"""Where what is trained goes by default: never over what is bundled."""

PREFERENCES = ROOT / "crm" / "training" / "criteria_annotations.jsonl"
"""The annotations that judges are trained and evaluated on; the texts that they speak of are not shipped."""
CORPORA_VARIABLE = "USL_CORPORA"
"""Environment variable that names the folder with the annotated texts."""


def corpora_folder() -> Path:
    """The folder with the annotated texts: the named one, else ``data/corpora``, where they are fetched to.

    A folder ``shared/corpora`` beside the project is taken where there is no other.
    """
    if named := os.environ.get(CORPORA_VARIABLE):
        return Path(named)
    fetched, beside = HOME / "data" / "corpora", ROOT.parent / "shared" / "corpora"
    return beside if beside.is_dir() and not fetched.is_dir() else fetched


CORPORA = corpora_folder()
