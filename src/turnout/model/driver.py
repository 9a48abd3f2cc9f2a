"""Decides whether a run is driven, for every command and for the handle of a run."""

from __future__ import annotations

from enum import StrEnum

from turnout.model.rows import Holder
from turnout.model.states import RunState

NOT_DRIVEN = (
    "not driven: start the program again, or `turnout orchestrate FILE`, "
    "or `turnout runs resume RUN --here --target FILE`"
)


class Driver(StrEnum):
    """The states of driving: an orchestrator drives the run, none does, or none is needed."""

    DRIVEN = "driven"
    NOT_DRIVEN = "not_driven"
    """It has no live owner. A live orchestrator that can drive it claims it within seconds."""
    QUEUED = "queued"
    """It waits for its limits. An orchestrator claims it when it has its slots."""
    NOT_NEEDED = "not_needed"
    """The run has ended."""


def driver(state: RunState, owner: Holder | None, *, gone: bool = False, queued: bool = False) -> Driver:
    """Returns the driving state of the run.

    ``owner`` is the session that owns it, if any; ``gone``: its process is known to have died; ``queued``: it waits for
    its limits. A session of another kind than orchestrator owns a run only while it applies a command.

    >>> driver(RunState.RUNNING, None).value
    'not_driven'
    """
    if state.terminal:
        return Driver.NOT_NEEDED
    if queued:
        return Driver.QUEUED
    if owner is None or gone or not owner.alive or owner.session.kind != "orchestrator":
        return Driver.NOT_DRIVEN
    return Driver.DRIVEN
