"""Checks the steps that call a workflow, a handler or a Python task, and names their arguments."""

from __future__ import annotations

import inspect
from typing import Any

from turnout.authoring.invocation import open_signature
from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.bodies import Reporter
from turnout.authoring.yaml.document import StepDocument
from turnout.model.names import suggest

AnyTask = Task[..., Any]
AnyWorkflow = Workflow[..., Any]


def named_arguments(
    step: StepDocument, task: AnyTask, child: AnyWorkflow | None, reporter: Reporter
) -> dict[str, Any] | None:
    """Returns the arguments by name; None after what is wrong with them was reported."""
    where = f"{step.where}.params"
    if child is not None:
        names = list(child.source.positional)
    else:
        names = list(open_signature(task.function).parameters) if step.python is not None else []
    given = step.params
    if len(given.positional) > len(names):
        takes = f"takes {len(names)} by position" if names else "takes its arguments by name"
        why = f"{where} has {len(given.positional)} arguments without a name, and {step.name!r} {takes}"
        reporter.report("error", "bad_arguments", why, where)
        return None
    found = {**dict(zip(names, given.positional, strict=False)), **given.named}
    if step.parallel is not None and not found:
        found = _from_items(step, names)
    known = [each.name for each in child.source.params] if child is not None else names
    takes_any = step.handler is not None or (child is None and _takes_any(task))
    called = step.call or step.python
    faults = [
        f"{where} has {name!r}, which {called!r} does not take{suggest(name, known)}"
        for name in (found if not takes_any else ())
        if name not in known
    ]
    faults += [
        f"{step.where} has no argument {name!r}, which {called!r} needs: write it under `params`"
        for name in (_required(task, child) if step.handler is None else ())
        if name not in found
    ]
    for why in faults:
        reporter.report("error", "bad_arguments", why, where)
    return None if faults else found


def refuse_commands_only(step: StepDocument, kind: str, reporter: Reporter) -> None:
    """Reports keys that only a step with a command can have."""
    on, retry = step.continue_on, step.retry_policy
    faults = {
        "repeat_policy": step.repeat_policy is not None,
        "select": step.select is not None,
        "stdout": step.stdout is not None,
        "stderr": step.stderr is not None,
        "signal_on_stop": step.signal_on_stop is not None,
        "script": step.script is not None,
        "continue_on": on is not None and bool(on.exit_code or on.output or on.mark_success),
        "retry_policy": retry is not None and bool(retry.exit_code),
    }
    for key, wrong in faults.items():
        if wrong:
            part = {"continue_on": ": write `failure` and `skipped` only", "retry_policy": " with `exit_code`"}
            why = f"{step.where} has `{key}`, which needs a command, and it has `{kind}`{part.get(key, '')}"
            reporter.report("error", "needs_command", why, f"{step.where}.{key}")


def _from_items(step: StepDocument, names: list[str]) -> dict[str, Any]:
    """Returns the arguments of a parallel step that has none of its own: the item, or its fields."""
    assert step.parallel is not None
    items = step.parallel.items or ()
    if items and all(isinstance(each, dict) for each in items):
        keys = dict.fromkeys(key for each in items for key in each)
        return {key: f"${{ITEM.{key}}}" for key in keys}
    return {names[0] if names else "item": "${ITEM}"}


def _required(task: AnyTask, child: AnyWorkflow | None) -> list[str]:
    if child is not None:
        return [each.name for each in child.source.params if each.required]
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = open_signature(task.function).parameters.values()
    return [each.name for each in parameters if each.default is each.empty and each.kind not in variable]


def _takes_any(task: AnyTask) -> bool:
    return any(each.kind is each.VAR_KEYWORD for each in open_signature(task.function).parameters.values())
