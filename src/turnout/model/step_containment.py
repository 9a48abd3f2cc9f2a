"""Decides which steps do nothing on their machine but make requests and compare texts, and restricts those to that."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from turnout.model.interpolation import Text, commands_in
from turnout.model.spec import TaskSpec
from turnout.model.step import Check, Evaluation, Request, StepSpec


def contained(task: TaskSpec) -> TaskSpec:
    """Returns the task; a step that starts no command and reads and writes no file may run on the server then, where
    it sees no variables of the machine, and its requests reach public addresses only."""
    step = task.body.step
    if step is None or not _is_containable(step):
        return task
    # The folder that a request is made in makes no difference to it.
    made = msgspec.structs.replace(step, contained=True, working_dir=None)
    return msgspec.structs.replace(task, body=msgspec.structs.replace(task.body, step=made))


def _is_containable(step: StepSpec) -> bool:
    if not all(isinstance(each, Request | Evaluation) for each in step.actions):
        return False
    if step.dotenv or step.secrets or step.stdout is not None or step.stderr is not None:
        return False
    checks = [*step.preconditions, *([step.repeat.check] if step.repeat is not None and step.repeat.check else [])]
    if any(check.command is not None for check in checks):
        return False
    return not any(commands_in(text) for text in _texts(step, checks))


def _texts(step: StepSpec, checks: list[Check]) -> Iterator[Text]:
    yield from (each.value for each in (*step.env, *step.variables))
    yield from (each.text for each in checks)
