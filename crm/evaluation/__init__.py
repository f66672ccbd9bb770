"""How good a judge is.

- ``sets``: the evaluation sets, made from annotations and stored as a folder
- ``metrics``: accuracy, calibration and biases from arrays of verdicts
- ``run``: asks a judge and measures its answers
- ``report``: one judge's results, as stored and as tables
- ``benchmarks``: the same on benchmarks from outside, by domain
- ``rubric_judge``: an LLM that marks single responses by a rubric
- ``downstream``: judges ranked by the responses that they choose
- ``making_sets``: ``python -m crm evaluation-sets`` and ``criterion-clusters``
- ``commands``: ``python -m crm evaluate`` and ``best-of-n``
"""
