"""Where the files of the bundled judges lie."""

from pathlib import Path

BUNDLED = Path(__file__).resolve().parent.parent / "bundled" / "crm"
REPRESENTATION_FILE = BUNDLED / "minilm-style-5.npz"
"""Where a newly fitted representation goes."""
EMBEDDED_FILE = BUNDLED / "embedded-5.npz"
"""Where newly trained weights go."""
CONCEPTS_FILE = BUNDLED / "concepts-1.npz"
"""Where a newly fitted classifier of concepts goes."""

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
CORPORA = SHARED / "corpora"
PREFERENCES = SHARED / "preferences" / "criteria_annotations.jsonl"
