"""Whether a run is driven: the one answer that every command and the handle of a run give."""

from __future__ import annotations

from enum import StrEnum

from turnout.model.rows import Holder
from turnout.model.states import RunState

NOT_DRIVEN = "not driven: start `turnout orchestrate`, or `turnout runs resume RUN --here`"


class Driver(StrEnum):
    """What is known of who moves a run on."""

    DRIVEN = "driven"
    NOT_DRIVEN = "not_driven"
    """Nobody, until an orchestrator that can drive it comes, or looks: one that is there claims it within seconds."""
    NOT_NEEDED = "not_needed"
    """The run has ended."""


def driver(state: RunState, owner: Holder | None, *, gone: bool = False) -> Driver:
    """``owner`` is the session that the run belongs to, if any; ``gone``: its process is known to have died. A session
    of something else than an orchestrator owns a run for as long as it gives it a command.

    >>> driver(RunState.RUNNING, None).value
    'not_driven'
    """
    if state.terminal:
        return Driver.NOT_NEEDED
    if owner is None or gone or not owner.alive or owner.session.kind != "orchestrator":
        return Driver.NOT_DRIVEN
    return Driver.DRIVEN
