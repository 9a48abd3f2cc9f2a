"""Attempts that were committed to a worker by an orchestrator that is gone are given to that worker again.

Whether the first message reached the worker is not known. It need not be: a worker begins a token once, however often
and by whichever hub it is given. So an attempt that was never sent begins now, and any other goes on.
"""

from __future__ import annotations

import msgspec

from turnout.contracts.dispatcher import Delivery
from turnout.model.states import RunState, TaskState
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.session import OrchestratorSession


class Redelivery:
    """What precedes the loss of an attempt whose holder did not say in time that it has it."""

    def __init__(self, delivery: Delivery, session: OrchestratorSession) -> None:
        self._delivery = delivery
        self._session = session

    def takes(self, owned: ActiveRun, pos: int, attempt: int) -> bool:
        """Whether the attempt's holder is in session here, so that the attempt is not lost. The holder is given it as
        soon as it has room, unless the run is paused. An attempt of a run that is being cancelled is lost."""
        row, delivery = owned.machine.tasks[pos], self._delivery
        if row.state is not TaskState.RUNNING or row.attempt != attempt or not row.holder:
            return False
        if owned.machine.row.state is RunState.CANCELLING:
            return False
        event = msgspec.structs.replace(owned.machine.event(pos, row), again=True)
        for key, assigner in delivery.assigners.items():
            if not assigner.has_holder(row.holder):
                continue
            startable = owned.machine.row.state is RunState.RUNNING and not owned.commands and self._session.may_start
            if startable and assigner.assign_again(event):
                if delivery.reserve(key, body=event.body):
                    delivery.dispatch(key, [event])
                else:
                    assigner.unassign(row.holder)
            return True
        return False
