"""For the tests of your own workflows: runs without a database, a clock that you turn, executors that you script."""

from __future__ import annotations

from turnout.testing.clock import ManualClock
from turnout.testing.executor import FakeExecutor, completes, crashes, fails, refuses, times_out, vanishes
from turnout.testing.inline import inline, run_inline
from turnout.testing.inline_run import InlineRun, InlineTask

__all__ = [
    "FakeExecutor",
    "InlineRun",
    "InlineTask",
    "ManualClock",
    "completes",
    "crashes",
    "fails",
    "inline",
    "refuses",
    "run_inline",
    "times_out",
    "vanishes",
]
