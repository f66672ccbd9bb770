"""Criteria read out of human preferences: an LLM is asked what a person who prefers either side may want.

- `prompts`: what an LLM reads
- `question`: what the LLM is asked about one side of a pair, and its reply, checked
- `extraction`: the whole of it, from what is missing to the table at the end
- `training_data`: the criteria as training data for CRMs
- `themes`: what the criteria are about, in a dozen themes, which an LLM may name

Both directions of a preference are asked for, as in section 3 of the USL paper: what people reject is
acceptable to somebody, and a CRM learns from both.
"""

from precompute.criteria.extraction import ExtractionSummary, extract_criteria
from precompute.criteria.training_data import write_training_data

__all__ = ["ExtractionSummary", "extract_criteria", "write_training_data"]
