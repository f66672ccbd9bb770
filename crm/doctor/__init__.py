"""What is wrong with a judge, where something is: ``python -m crm doctor``.

- `pairs`: pairs that any reader of criteria judges alike, and a long one
- `examination`: asks a judge about them, and measures it
- `complaints`: what looks wrong, in plain sentences
- `command`: the command and what it prints
"""
