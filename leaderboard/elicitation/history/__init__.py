"""A checklist from choices made elsewhere (docs/history.md).

- `read`: from an uploaded file to past choices; `choices`: what those are, and what an export is read as
- `rows`: tables of choices and of votes
- `chatgpt`, `open_webui`, `comparia`, `promptfoo`: the exports of each; `prism`: the files of that study
- `ratings`: from ratings of several answers to choices between them
- `learn`: from past choices to a checklist, and how far to trust it
"""
