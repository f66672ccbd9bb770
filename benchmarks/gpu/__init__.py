"""Measurements on a machine with a GPU; ``run.sh`` runs them one after the other.

- ``memory``: what a training step of each size of backbone holds, beside what arithmetic says
- ``throughput``: tokens and examples a second, trained and judged
"""
