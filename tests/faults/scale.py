"""How much of each fault is injected: little by default, the published counts with ``TURNOUT_FAULTS=full``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.kit.forked import Forked

FULL = os.environ.get("TURNOUT_FAULTS") == "full"
TIMEOUT = 900 if FULL else 120
"""Seconds that one test may take."""
PATIENCE = TIMEOUT - 20
"""Seconds to wait for what must happen, so that a test fails with a message before it is stopped."""


def scaled(little: int, full: int) -> int:
    return full if FULL else little


def start_python(arguments: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """A Python program, started anew for the full counts: what is killed then may be anywhere in its imports."""
    if FULL:
        return subprocess.Popen([sys.executable, *arguments], text=True, **options)
    return Forked(arguments, **options)
