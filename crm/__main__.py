"""``python -m crm``: see ``crm.cli``."""

from crm.cli import main

if __name__ == "__main__":
    main()
