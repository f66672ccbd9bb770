"""Critiques of responses by an LLM with an edit of its own, as in Critique-Post-Edit (2025).

- `critic`: the LLM that writes them, as `USL_CRITIC` names it
- `question`: what it is asked; the prompt is ``prompts/critique.txt``
- `answer`: its reply, checked
- `review`: a critique of a stored response with the judge's verdict; nothing of it is stored
"""
