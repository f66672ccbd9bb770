"""The benchmark bundle: one `.usl.zip` file with a benchmark, its representations and perhaps its texts.

Members: `manifest.json`; `queries.jsonl` {id, category, topic, text or null, sha256}; for each LLM with texts
`responses/<index>.jsonl` {id, text}; the packed arrays of `db.serialization` as
`representations/<name>/<index>.npz` and `representations/<name>/queries.npz`. The index of an LLM is its
place in the manifest.

Optional, and unknown to older code: `scores.jsonl` {crm, crm_version, criteria_key, criteria}, for each of
its lines the score matrix `scores/<line>.npz` and, if that is whole, `win_rates/<line>.jsonl` {llm, category,
hard, soft, ci_low, ci_high, n_queries}, lines counted from 0; and `sample.json` {family, version, digest,
settings, counts: [{step, kept}]} of a frozen benchmark.

- `contents`: a bundle in memory, and what must hold between its parts; `files`: read and written
- `win_rates`: those of a bundled benchmark, in a small file beside the bundle
"""

from db.bundle.contents import Bundle, BundledScores, check_bundle, pack_rows, unpack_rows
from db.bundle.files import bundle_digest, bundle_slug, read_bundle, write_bundle
from db.bundle.win_rates import BundledWinRates, read_win_rates, win_rates_file, write_win_rates

__all__ = [
    "Bundle",
    "BundledScores",
    "BundledWinRates",
    "bundle_digest",
    "bundle_slug",
    "check_bundle",
    "pack_rows",
    "read_bundle",
    "read_win_rates",
    "unpack_rows",
    "win_rates_file",
    "write_bundle",
    "write_win_rates",
]
