"""HTML from the templates beside this module; whatever is filled in is escaped."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension

STYLE_SHEET = Path(__file__).with_name("style.css")
"""What the templates' HTML looks like; every page has it once."""
UNKNOWN = "–"


class _JoinedLines(Extension):
    """Joins the lines of a template without a space: they are broken for who reads the template alone."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(r"\s*\n\s*", "", source)


def render(template: str, **values: object) -> str:
    """Return a template, named without its ending, with these values filled in."""
    return _TEMPLATES.get_template(f"{template}.html.j2").render(values)


def frame(address: str) -> str:
    """Return the HTML that shows an embeddable page within another page."""
    return render("frame", address=address)


def percent(fraction: float, decimals: int = 1) -> str:
    """Return a fraction as a percentage without its sign; unknown is a dash."""
    return UNKNOWN if math.isnan(fraction) else f"{100 * fraction:.{decimals}f}"


def with_minus(number: str) -> str:
    """Return a written number with a minus sign instead of a hyphen."""
    return number.replace("-", "−")


class _Templates(Environment):
    """Looks into a dictionary for what a template takes from it before it looks for a method of that name.

    Jinja does the reverse, by way of an exception for each cell of a table.
    """

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return what a template calls ``obj.attribute``."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


_TEMPLATES = _Templates(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    auto_reload=False,
    undefined=StrictUndefined,
    extensions=[_JoinedLines],
)
_TEMPLATES.filters["percent"] = percent
_TEMPLATES.filters["css_percent"] = lambda fraction: f"{100 * fraction:.1f}%"
