"""What a critic is asked about one response."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from crm.criteria import CriteriaSet
from leaderboard.critique.answer import FEWEST, HIGHEST, LOWEST, MOST, SUGGESTION_WORDS

_template = Environment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
).from_string((Path(__file__).parent / "prompts" / "critique.txt").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Critiqued:
    """A response to be critiqued for a person.

    Attributes:
        query: What they asked.
        response: What was answered.
        criteria: What they like in an answer.
    """

    query: str
    response: str
    criteria: CriteriaSet

    def prompt(self, problem: str = "") -> str:
        """The question as it is put; ``problem`` says what was wrong with an earlier reply."""
        return _template.render(
            query=self.query,
            response=self.response,
            wishes=[f"{criterion} ({criterion.weight.value.lower()})" for criterion in self.criteria],
            lowest=LOWEST,
            highest=HIGHEST,
            fewest=FEWEST,
            most=MOST,
            words=SUGGESTION_WORDS,
            problem=problem,
        )
