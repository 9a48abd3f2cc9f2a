"""Attempts that have not begun are taken back before their run is paused or cancelled.

A pause or a cancel is committed, and so acknowledged, only when every attempt of the run has begun or never will. Until
then the run gets no new attempts. An attempt that was taken back is answered ``returned``: it costs no budget, also if
the order is not carried out after all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from typing import Any

from turnout.contracts.dispatcher import Delivery
from turnout.model.children import CHILD
from turnout.model.events import TaskReadyEvent
from turnout.model.reasons import CANCELLED, PAUSED
from turnout.model.states import TaskState
from turnout.orchestration.active_run import ActiveRun, RunCommand
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background

log = logging.getLogger("turnout.withdrawal")

STOPS = {"pause": PAUSED, "cancel": CANCELLED}
"""Orders after which nothing new begins, and the reason that attempts come back with."""


class Withdrawal:
    """What precedes orders to pause and to cancel."""

    def __init__(self, delivery: Delivery, runs: ActiveRuns, background: Background, timeout: float) -> None:
        self._delivery = delivery
        self._runs = runs
        self._background = background
        self._timeout = timeout
        """Seconds that an executor has to say what has begun."""

    def prepared(self, owned: ActiveRun) -> tuple[list[RunCommand], Sequence[RunCommand]]:
        """The run's orders that may be carried out now, and those that have to wait, in their order."""
        for count, order in enumerate(owned.commands):
            if order.kind in STOPS and not self._withdrawn(owned, order):
                return owned.commands[:count], owned.commands[count:]
        return list(owned.commands), ()

    def _withdrawn(self, owned: ActiveRun, order: RunCommand) -> bool:
        if order.withdrawal is None:
            waits = self._delivery.withdraw(_running(owned), STOPS[order.kind])
            if waits:
                order.withdrawal = self._background.spawn(self._wait(owned, waits))
        return order.withdrawal is None or order.withdrawal.done()

    async def _wait(self, owned: ActiveRun, waits: Collection[asyncio.Future[Any]]) -> None:
        _, late = await asyncio.wait(waits, timeout=self._timeout)
        if late:
            log.warning("run %s: an executor did not say within %g s what has begun", owned.run_id, self._timeout)
        # From a later turn of the loop, when this is done.
        self._background.later(0.0, lambda: self._go_on(owned.run_id))

    def _go_on(self, run_id: str) -> None:
        owned = self._runs.get(run_id)
        if owned is not None:
            self._runs.enqueue(owned)


def _running(owned: ActiveRun) -> list[TaskReadyEvent]:
    machine = owned.machine
    return [
        machine.event(row.pos, row)
        for row in machine.tasks
        if row.state is TaskState.RUNNING and row.holder != CHILD and row.pos not in machine.graph.mapped
    ]
