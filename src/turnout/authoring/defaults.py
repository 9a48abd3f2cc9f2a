"""What the tasks of a Runner have where their authors say nothing. It goes into the version, so a run keeps its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.authoring.task import Task
from turnout.model.spec import TaskSpec, WorkflowSpec


class TaskDefaults(msgspec.Struct, frozen=True):
    """Options of tasks that do not have them. A child run has none: its tasks have."""

    timeout: float | None = None
    retries: int = 0

    def applied(self, spec: WorkflowSpec, tasks: Mapping[str, Task[..., Any]]) -> WorkflowSpec:
        """The workflow with these defaults."""
        if self == NO_DEFAULTS:
            return spec
        filled = tuple(self._applied(each, tasks[each.name].given) for each in spec.tasks)
        return msgspec.structs.replace(spec, tasks=filled)

    def _applied(self, task: TaskSpec, given: Mapping[str, Any]) -> TaskSpec:
        if task.body.kind == "workflow":
            return task
        if "timeout" not in given and self.timeout is not None:
            task = msgspec.structs.replace(task, timeout=self.timeout)
        # A second start is what an at_most_once task rules out.
        if "retries" not in given and self.retries and not task.at_most_once:
            policy = msgspec.structs.replace(task.retry, attempts=self.retries + 1)
            task = msgspec.structs.replace(task, retry=policy)
        return task


NO_DEFAULTS = TaskDefaults()
