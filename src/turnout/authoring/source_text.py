"""Reads the text of the module that a workflow in Python is written in."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

MAX_SOURCE = 1 << 20
"""Characters; a longer module is not read."""


def module_source(module: Mapping[str, Any]) -> str | None:
    """Returns the text of the module with these globals; None if there is none, as in a terminal, or if it is too
    long."""
    found = sys.modules.get(module.get("__name__", ""))
    if found is None or vars(found) is not module:
        return None
    try:
        text = inspect.getsource(found)
    except (OSError, TypeError):
        return None
    return text if len(text) <= MAX_SOURCE else None
