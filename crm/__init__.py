"""Customizable Reward Models: given criteria, a query and two responses, which one does this person prefer?

- `criteria`: criteria with weight and polarity, normalised and hashed, and lists of them
- `protocol`: what every judge offers, and what it may ask for
- `registry`: the judges by name; `config`: those of ``crms.toml``; `version`: when a judge is another one
- `embedded`: the judge that runs anywhere, on stored representations
- `backends`: what a configured judge can run on; `llm`: LLMs that are asked, and models that are loaded
- `baselines`: judges that any CRM must beat
- `scoring`: score matrices of judges that read texts; `batches`: as many texts as fit, and their order
- `data`: labelled pairs, noise in criteria, and criteria that mean alike
- `training`: how judges are fitted; `evaluation`: how good a judge is
- `doctor`: what is wrong with one
- `cli`: ``python -m crm``; `cli_runner`: how all command lines end on bad input
- `report_table`: tables of results; `progress`: bars, and lines in a log; `paths`: where bundled files lie;
  `processors`: how many there are, and how they are shared
- `errors`: what can go wrong, by what a caller can do about it
"""
