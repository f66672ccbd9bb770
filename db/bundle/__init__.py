"""The benchmark bundle: one `.usl.zip` file with a benchmark, its representations and perhaps its texts.

Members: `manifest.json`; `queries.jsonl` {id, category, topic, text or null, sha256}; for each LLM with texts
`responses/<index>.jsonl` {id, text}; the packed arrays of `db.payload` as
`representations/<name>/<index>.npz` and `representations/<name>/queries.npz`. The index of an LLM is its
place in the manifest.
"""

from db.bundle._bundle import Bundle
from db.bundle._check import check_bundle
from db.bundle._reader import bundle_digest, bundle_slug, read_bundle
from db.bundle._writer import write_bundle

__all__ = ["Bundle", "bundle_digest", "bundle_slug", "check_bundle", "read_bundle", "write_bundle"]
