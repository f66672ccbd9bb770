"""From files to an `ImportedBenchmark`: pure reading and checking, nothing is written.

Every importer refuses a malformed file as a whole, with an `ImportFileError` that names file, row and reason.
"""

from precompute.importers._alpaca_eval import read_alpaca_eval
from precompute.importers._base import ImportedBenchmark, ImportedQuery
from precompute.importers._dailybench import read_dailybench
from precompute.importers._table import read_table

__all__ = ["ImportedBenchmark", "ImportedQuery", "read_alpaca_eval", "read_dailybench", "read_table"]
