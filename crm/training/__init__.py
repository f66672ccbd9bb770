"""Training: preference data, the fitted representation, and the embedded CRM.

- ``preferences``: criterion-conditioned preference pairs, joined with the responses they speak of
- ``tones``: contrast sentences and the directions between them
- ``representation``: fits ``minilm-style-1``
- ``general``: pairs judged without criteria, for the default ranking
- ``embedded``: fits the embedded CRM
"""
