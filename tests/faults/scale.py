"""How much of each fault is injected: little by default, the published counts with ``TURNOUT_FAULTS=full``."""

from __future__ import annotations

import os

FULL = os.environ.get("TURNOUT_FAULTS") == "full"
TIMEOUT = 900 if FULL else 120
"""Seconds that one test may take."""
PATIENCE = TIMEOUT - 20
"""Seconds to wait for what must happen, so that a test fails with a message before it is stopped."""


def scaled(little: int, full: int) -> int:
    return full if FULL else little
