"""``python -m turnout`` is ``turnout``."""

from turnout.cli import main

if __name__ == "__main__":
    main()
