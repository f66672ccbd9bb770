"""Training: how judges are fitted.

- `concepts`: the classifier that reads wishes; `wish_decoder`: the language model beside it
- `mixtures`: fits what reads wishes as several concepts at once
- `limits`: fits what tells limits from other numbers in wishes
- `encoded`: encoded responses, kept between trainings
- `comparisons`: which of two responses has more of a style; `styles`: the directions fitted to them
- `token_axes`: fits what hears the manner of a response, to the same comparisons
- `tones`: passages that contrast in tone or style; `adversarial`: gaming responses and ordinary ones
- `embedded`: fits the representation and the networks of the embedded CRM
- `passages`: the space in which criteria are held against passages, and how much that counts
- `general`: its default ranking; `duels`: current LLMs' ratings as targets of it
- `safeguards`: fits its guard and its scope classifier; `reliability`: what foretells how often it is right
- `classifier`: trains a sequence classifier on any backbone
- `cli`: ``python -m crm train``
"""
