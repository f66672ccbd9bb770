"""Customizable Reward Models: given criteria, a query and two responses, which one does this person prefer?

Where to look:

- ``criteria``: criteria with weight and polarity, normalised and hashed
- ``protocol``: what every judge offers, and what it may ask for
- ``registry``: the judges by name
- ``embedded``: the judge that runs anywhere, on stored representations; ``representation``, ``style`` and
  ``encoder`` make those, ``explanation`` puts its verdicts into words
- ``reference``: judges that any CRM must beat
- ``training``, ``evaluation``: how judges are fitted and measured; ``python -m crm`` is the command line
- ``errors``: everything that can go wrong, by name
"""
