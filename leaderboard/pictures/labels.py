"""Texts as labels of figures."""

from __future__ import annotations


def plain_label(text: str) -> str:
    """A text that Plotly shows as it stands: it reads some HTML in labels, and % marks its templates."""
    return text.replace("<", "‹").replace(">", "›").replace("%{", "% {")
