"""What is known of LLMs besides how they respond: who makes them, what they cost, how people rate them.

- `catalogue`: facts with their source and date, and the LLMs by every name that a benchmark gives them
- `files`: the catalogue's TOML files, the bundled ones and a person's own
- `votes`: how far a ranking agrees with people's votes, by kind of question
- `choosing`: what a month costs, who is best for the money, and the cheapest that is as good as the first
- `listing`: filters, order and use of LLMs that a person asks for, in the address like all else
- `configured`: what LLMs of ``llms.toml`` cost
- `columns`: facts as the columns of files
"""
