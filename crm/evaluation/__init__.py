"""How good a judge is.

- ``sets``: the evaluation sets, made from annotations and stored as a folder
- ``metrics``: accuracy, calibration and biases from arrays of verdicts
- ``run``: asks a judge and measures its answers
- ``report``: one judge's results, as stored and as tables
- ``commands``: ``python -m crm evaluate``, ``evaluation-sets`` and ``criterion-clusters``
"""
