"""Measurements on a machine with a GPU; ``run.sh`` runs them one after the other."""
