"""Inline runs without a database, a manual clock and a scripted executor, for tests of users' own workflows."""

from __future__ import annotations

from turnout.testing.fakes import FakeExecutor, ManualClock, completes, crashes, fails, refuses, times_out, vanishes
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
