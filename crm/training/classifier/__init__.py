"""Training of judges that read texts: sequence classification over any Hugging Face backbone.

- ``options``: what can be chosen
- ``examples``: what is trained on, held out, and reported on
- ``questions``: what is asked about an example, and its tokens
- ``lessons``: how MiniLM learns by default
- ``backbone``: loads, freezes and adapts the model; the prompt as a user's turn
- ``packing``: several prompts in one row, each read as if alone
- ``processes``: several that train together, started by ``torchrun``
- ``trainer``: the two losses, accuracy, the optimizer, and lines while it goes
- ``output``: the run's folder, with the trained judge, results and curves
- ``run``: joins all of it
- ``command``: ``python -m crm train classifier``
"""
