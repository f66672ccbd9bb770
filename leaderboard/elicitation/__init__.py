"""Learning a person's criteria from their choices between responses and from a short interview.

- `library`: the criteria that choices are explained by
- `margins`: how every response stands under each of them
- `choice_model`: what a person may answer to a pair, and how likely a person with given weights would
- `posterior`: what is known of a person's weights
- `acquisition`: which pair to show next, and what the posterior says of the ranking
- `interview`: questions, which to ask next, what a reply says, and their wording by an LLM
- `free_interview`: an interview with an LLM's own questions, answered in words
- `checklist`: the posterior as Essential, Important and Optional lines, with their evidence
- `clarifying`: which of several wishes that choices do not tell apart a person went by
- `tastes`: what is known of a person who may like other things in some categories
- `per_category`: checklists per category, where they differ
- `session`: choices and replies so far, with undo, and their checklist: what a page holds
- `taste_test`: a blind test of a ranking, whose choices are learnt from as well
- `checking`: pairs drawn at random, and a ranking corrected by what was chosen of them
- `choices_file`: choices and corrected rankings as CSV; `correcting_command`: ``… leaderboard corrected-by``
- `history`: the same from choices made elsewhere; `command`: ``python -m leaderboard criteria-from``
- `text`: sentences on what was learnt

Arrays in, frozen dataclasses out. K criteria, R responses to each of Q queries (one an LLM, the baseline's
last), N draws of the posterior.
"""
