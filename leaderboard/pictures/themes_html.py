"""The table of themes of criteria as HTML; all texts are escaped."""

from __future__ import annotations

from html import escape

from crm.criterion_themes import CriterionThemes, Theme

_STYLE = """
<style>
.usl-themes { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
.usl-themes th { font-weight: 500; font-size: 0.78rem; text-align: left; padding: 0.25rem 1rem 0.25rem 0;
  border-bottom: 1px solid rgba(128,128,128,0.4); color: color-mix(in srgb, currentColor 72%, transparent); }
.usl-themes td { padding: 0.6rem 1rem 0.6rem 0; vertical-align: top; line-height: 1.45;
  border-bottom: 1px solid rgba(128,128,128,0.16); }
.usl-themes .usl-theme { width: 11rem; }
.usl-themes .usl-theme b { font-weight: 600; display: block; }
.usl-themes .usl-theme small { font-size: 0.78rem; opacity: 0.75; font-variant-numeric: tabular-nums; }
.usl-themes .usl-examples { width: 40%; padding-right: 0; }
.usl-themes ul { margin: 0; padding: 0; list-style: none; }
.usl-themes li { margin: 0 0 0.2rem; padding: 0; font-size: 0.88rem; }
.usl-themes li::before { content: "“"; } .usl-themes li::after { content: "”"; }
@media (max-width: 640px) {
  .usl-themes thead { display: none; }
  .usl-themes, .usl-themes tbody, .usl-themes tr, .usl-themes td { display: block; width: auto; }
  .usl-themes tr { padding: 0.7rem 0; border-bottom: 1px solid rgba(128,128,128,0.3); }
  .usl-themes td { border: none; padding: 0 0 0.35rem; }
  .usl-themes .usl-theme, .usl-themes .usl-examples { width: auto; }
  .usl-themes .usl-theme b { display: inline; margin-right: 0.4rem; }
}
</style>
"""


def themes_table(themes: CriterionThemes, n_adjectives: int = 30, n_examples: int = 4) -> str:
    """The layout of the paper's Table 6, with shares and examples beside the adjectives.

    Args:
        themes: One row each.
        n_adjectives: Shown of a theme at most.
        n_examples: Shown of a theme at most.
    """
    rows = "".join(_row(themes, theme, n_adjectives, n_examples) for theme in themes.themes)
    return (
        f'{_STYLE}<table class="usl-themes" data-testid="themes"><thead><tr><th scope="col">Theme</th>'
        '<th scope="col">Most frequent adjectives</th><th scope="col">For example</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _row(themes: CriterionThemes, theme: Theme, n_adjectives: int, n_examples: int) -> str:
    adjectives = ", ".join(
        f'<span title="{n:,} times">{escape(word)}</span>' for word, n in theme.adjectives[:n_adjectives]
    )
    examples = "".join(f"<li>{escape(text)}</li>" for text in theme.examples[:n_examples])
    return (
        f'<tr><td class="usl-theme"><b>{escape(theme.name)}</b>'
        f"<small>{100 * themes.share(theme):.1f} % · {theme.n:,} criteria</small></td>"
        f'<td>{adjectives}</td><td class="usl-examples"><ul>{examples}</ul></td></tr>'
    )
