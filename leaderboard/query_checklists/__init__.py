"""A checklist for each query, written by an LLM from a person's past choices, after P-CHECK (Seo and Lee).

- `general`: the person's general preference, in words, from their choices, the later ones counting more
- `checklist`: what a checklist is, how one is asked for, and how a reply is checked
- `contrast`: answers that the person would not have chosen, and what of a checklist tells them apart
- `reward`: what a response is worth under a checklist
- `writer`: all of it together, from choices to whoever writes checklists
- `foretelling`: whether later choices are foretold by them
- `ranking`: LLMs of a benchmark by the checklist of each query
- `asked`: what a person's criteria come to for a question that they ask on the page
- `asking`: what the commands share: whose choices, and who is asked how much
- `command`: ``… leaderboard query-checklists``; `foretelling_command`: ``… foretell-choices``
- `training_file`: ``… checklist-training``, for a model that is to write checklists by itself

Equations are those of section 3 of the paper.
"""
