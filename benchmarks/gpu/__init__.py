"""Measurements on a machine with a GPU; ``run.sh`` runs them one after the other.

- ``smoke``: whether the machine is ready
- ``memory``: what a training step of each size of backbone holds, beside what arithmetic says
- ``evaluation``: judges trained here beside each other, on the evaluation sets
- ``throughput``: tokens and examples a second, trained and judged
- ``ranking``: a benchmark ranked by a judge, in one process, through a server, or in actors of Ray
"""
