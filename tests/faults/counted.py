"""A chain of three tasks that counts its executions in memory, for Runners in the test's own process."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from turnout import TaskInfo, Workflow, task, workflow

PATIENCE = 30
STEPS = ("first", "second", "third")


class Bodies:
    """Can be held at its first task."""

    def __init__(self) -> None:
        self.ran: Counter[tuple[str, str]] = Counter()
        self.gate = threading.Event()
        self.gate.set()
        self.workflow: Workflow[..., Any] = self._draw()

    def _draw(self) -> Workflow[..., Any]:
        def count(key: str, info: TaskInfo) -> str:
            self.ran[key, info.task_name.rpartition("::")[2]] += 1
            self.gate.wait(PATIENCE)
            return key

        steps = [task(name=name)(count) for name in STEPS]

        @workflow
        def counted(key: str) -> str:
            return steps[2](steps[1](steps[0](key)))

        return counted

    def each_ran_once(self, keys: list[str]) -> None:
        assert self.ran == {(key, name): 1 for key in keys for name in STEPS}
