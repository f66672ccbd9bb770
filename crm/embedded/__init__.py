"""The embedded CRM: a judge that runs anywhere, on stored representations of responses.

- ``model``: the judge, its weights file, and its verdicts in words
- ``representation``: what is stored of a response instead of its text, its relevance to the query included
- ``style``: the counted properties in it; ``encoder``: the sentence encoder
- ``guard``: holds back responses that are written for the judge
- ``validity``: the validity check, which warns of criteria that cannot be judged or contradict each other
"""
