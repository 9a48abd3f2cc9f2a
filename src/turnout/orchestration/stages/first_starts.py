"""Begins the runs of one batch: their first tasks start, and runs that begin in the same way share what they change."""

from __future__ import annotations

import random
from collections.abc import Callable

from turnout.model.events import TaskReadyEvent
from turnout.model.first_transition import FirstTransition
from turnout.model.graph import Graph
from turnout.model.rows import RunWrite
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.stages.task_starter import TaskStarter


class FirstStarts:
    """The first transitions of the runs of one batch."""

    def __init__(self, starter: TaskStarter, now: float) -> None:
        self._starter = starter
        self.now = now
        self._known: dict[Graph, FirstTransition] = {}

    def begin(
        self,
        owned: ActiveRun,
        events: list[tuple[str, TaskReadyEvent]],
        write: Callable[[Transition], RunWrite],
    ) -> tuple[Transition, RunWrite]:
        """Returns the first transition of a run and its write, which ``write`` makes. Attempts that start are appended
        to ``events``."""
        machine = owned.machine
        known = self._known.get(machine.graph)
        if known is not None and known.fits(machine) and self._starter.repeat(owned, known, events):
            return known.repeated(machine, random.random), known.written(machine)
        before = list(machine.tasks) if known is None else []
        transition = Transition(machine, self.now, random.random)
        transition.begin()
        self._starter.start_ready(owned, transition, events)
        transition.finish()
        made = write(transition)
        if known is None and machine.graph.plain:
            first = FirstTransition.of(before, transition, made, [event for _, event in events])
            if first is not None:
                self._known[machine.graph] = first
        return transition, made
