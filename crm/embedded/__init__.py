"""The embedded CRM: a judge that runs anywhere, on stored representations of responses.

- ``model``: the judge, its weights file, and its verdicts in words
- ``representation``: what is stored of a response instead of its text, its relevance to the query included
- ``style``: the counted properties in it; ``encoder``: the sentence encoder
- ``countable``: wishes that say what to count, read from their wording; not yet part of the judge
- ``guard``: holds back responses that are written for the judge
- ``validity``: the validity check, which warns of criteria that cannot be judged or contradict each other
"""
