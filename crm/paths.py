"""Where the files of the bundled judges lie."""

from pathlib import Path

BUNDLED = Path(__file__).resolve().parent.parent / "bundled" / "crm"
REPRESENTATION_FILE = BUNDLED / "minilm-style-1.npz"
EMBEDDED_FILE = BUNDLED / "embedded-1.npz"

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
CORPORA = SHARED / "corpora"
PREFERENCES = SHARED / "preferences" / "criteria_annotations.jsonl"
