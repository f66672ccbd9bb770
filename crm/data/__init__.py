"""What judges learn from: labelled pairs, and what is known about their criteria.

- ``corpora``: the texts that annotations speak of; ``fetching``: ``python -m crm corpora``, which loads them
- ``conversations``: of several turns, as pairs
- ``pairs``: the one labelled pair, and the files that hold it
- ``topics``: topics of queries, and which of them are held out
- ``judge_benchmarks``: RewardBench 2, Personalized RewardBench and RubricBench, as published
- ``noise``: criteria changed in ways that leave the label alone
- ``taxonomy``: clusters and themes of criteria, as shipped
- ``chosen_criteria``: whether criteria of chosen responses are apart from those of rejected ones
- ``kinds``: whether criteria are about content, style, structure, tone or logic
- ``clustering``: how these are found; ``topic_model``: BERTopic's pipeline, also used for topics of queries
"""
