"""A program that imports modules and files as a worker does, and ends with 1 if one cannot be imported."""

from __future__ import annotations

import sys

from turnout.errors import TurnoutError
from turnout.runner.modules import load_module
from turnout.runner.settings import configuration

if __name__ == "__main__":
    try:
        for _place in sys.argv[1:]:
            load_module(_place, (configuration().root,))
    except TurnoutError as _error:
        sys.exit(str(_error))
