"""Inline runs without a database, a manual clock, simulated schedules and a scripted executor, for users' own tests."""

from __future__ import annotations

from turnout.testing.fakes import FakeExecutor, ManualClock, completes, crashes, fails, refuses, times_out, vanishes
from turnout.testing.inline import inline, run_inline
from turnout.testing.inline_run import InlineRun, InlineTask
from turnout.testing.schedules import SimulatedDecision, decisions, due_times

__all__ = [
    "FakeExecutor",
    "InlineRun",
    "InlineTask",
    "ManualClock",
    "SimulatedDecision",
    "completes",
    "crashes",
    "decisions",
    "due_times",
    "fails",
    "inline",
    "refuses",
    "run_inline",
    "times_out",
    "vanishes",
]
