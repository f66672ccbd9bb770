"""A checklist from choices made elsewhere (docs/history.md).

- `read`: from an uploaded file to past choices; `chatgpt`: from ChatGPT's data export
- `learn`: from past choices to a checklist, and how far to trust it
"""
