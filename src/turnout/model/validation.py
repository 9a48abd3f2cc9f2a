"""Validates a spec before a run is created from it."""

from __future__ import annotations

import math
from graphlib import CycleError, TopologicalSorter
from typing import Any, NoReturn, get_args

from turnout.errors import InvalidInput, InvalidWorkflow, NotJson, TooLarge
from turnout.model.bindings import params_in, tasks_in
from turnout.model.limits import BAD_LIMIT, MAX_SLOTS, validate_limits
from turnout.model.names import is_hook, is_identifier, suggest
from turnout.model.retry import Backoff
from turnout.model.rules import ContextValue, Op, leaves, names_in
from turnout.model.spec import DictOf, FromTask, Literally, TaskSpec, Template, WorkflowSpec
from turnout.model.texts import MAX_NAME_LENGTH, checked_text
from turnout.model.values import dump_output

MAX_PRIORITY = 1_000
"""Of runs, workflows and tasks, in files, in Python, by commands and by the API: as one level counts as a minute of
waiting, no run goes before others that have waited for a day."""


def validate(spec: WorkflowSpec) -> None:
    """Raises the ``InvalidWorkflow`` that names the field that is wrong and what would be right."""
    _names(spec)
    if all(task.hook is not None for task in spec.tasks):
        _refuse("empty_workflow", f"workflow {spec.name!r} has no tasks: a workflow needs at least one", field="tasks")
    _unique(spec)
    _timeout(f"workflow {spec.name!r}", spec.timeout)
    _worker_selector(f"workflow {spec.name!r}", spec.worker_selector)
    _affinity(spec)
    _run_limits(spec)
    known = [task.name for task in spec.tasks]
    names = frozenset(known)
    params = frozenset(param.name for param in spec.params)
    for task in spec.tasks:
        _dependencies(task, names, known)
        _arguments(spec, task, names, known, params)
        _rule(task, names, known)
        validate_task(task)
        _style(spec, task)
        _map(spec, task)
        _task_limits(task, params)
    _result(spec, names, known, params)
    if spec.gate and spec.gate not in names:
        _unknown_task(f"the gate of workflow {spec.name!r} is {spec.gate!r}", spec.gate, known)
    _acyclic(spec)


def check_run_priority(priority: int) -> None:
    """Raises InvalidInput for a priority of a run that is out of range."""
    if abs(priority) > MAX_PRIORITY:
        raise InvalidInput(
            f"priority is {priority:,}: write a whole number within ±{MAX_PRIORITY:,}",
            code="bad_priority",
            field="priority",
        )


def validate_task(task: TaskSpec) -> None:
    """Validates the options of one task."""
    _retry(task)
    _timeout(f"task {task.name!r}", task.timeout)
    _worker_selector(f"task {task.name!r}", task.worker_selector)
    _priority(task)


def _names(spec: WorkflowSpec) -> None:
    for field, value in (("name", spec.name), ("tenant", spec.tenant), ("package", spec.package)):
        _identifier(f"workflow {field}", value)
    for task in spec.tasks:
        _identifier("task name", task.name)
        _hook(task)
        for part in task.full_name.split("::") if task.full_name else ():
            _identifier(f"part of the full name {task.full_name!r} of task {task.name!r}", part)
    for param in spec.params:
        _identifier("parameter name", param.name)


def _hook(task: TaskSpec) -> None:
    if task.hook is None and is_hook(task.name):
        _refuse(
            "bad_identifier",
            f"task name {task.name!r} is one that only a hook has: choose a name without 'on_success.', 'on_failure.', "
            "'on_cancel.', 'on_exit.' or 'on_stuck.' in it",
            value=task.name,
        )


def _identifier(what: str, value: str) -> None:
    if not is_identifier(value):
        _refuse(
            "bad_identifier",
            f"{what} {value!r} is not an identifier: "
            "use a letter or _, then letters, digits, _, - or ., at most 128 characters",
            value=value,
        )


def _unique(spec: WorkflowSpec) -> None:
    for what, code, names in (
        ("task", "duplicate_task", [task.name for task in spec.tasks]),
        ("parameter", "duplicate_parameter", [param.name for param in spec.params]),
    ):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                _refuse(
                    code, f"two {what}s of workflow {spec.name!r} are named {name!r}: give one another name", value=name
                )
            seen.add(name)


def _dependencies(task: TaskSpec, names: frozenset[str], known: list[str]) -> None:
    for name in task.depends_on:
        if name not in names:
            _unknown_task(f"task {task.name!r} depends on {name!r}", name, known)


def _ancestors(spec: WorkflowSpec, task: TaskSpec) -> frozenset[str]:
    """Returns the tasks that have ended before this one can start."""
    depends_on = {each.name: each.depends_on for each in spec.tasks}
    found: set[str] = set()
    open_ = list(task.depends_on)
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_.extend(depends_on.get(name, ()))
    return frozenset(found)


def _arguments(
    spec: WorkflowSpec, task: TaskSpec, names: frozenset[str], known: list[str], params: frozenset[str]
) -> None:
    waits_for = frozenset(task.depends_on)
    earlier: frozenset[str] | None = None
    for template in (*task.args, *task.kwargs.values()):
        _template(f"an argument of task {task.name!r}", template, names, known, params)
        for name in tasks_in(template):
            # A hook is called when every task that it may take from has ended.
            if name in waits_for or task.hook is not None:
                continue
            earlier = _ancestors(spec, task) if earlier is None else earlier
            if name not in earlier:
                _refuse(
                    "missing_dependency",
                    f"task {task.name!r} takes the output of {name!r}: add {name!r} to its depends_on",
                    task=task.name,
                    value=name,
                )


def _result(spec: WorkflowSpec, names: frozenset[str], known: list[str], params: frozenset[str]) -> None:
    if spec.result is not None:
        _template(f"the result of workflow {spec.name!r}", spec.result, names, known, params)


def _template(what: str, template: Template, names: frozenset[str], known: list[str], params: frozenset[str]) -> None:
    for name in tasks_in(template):
        if name not in names:
            _unknown_task(f"{what} takes the output of {name!r}", name, known)
    for name in params_in(template):
        if name not in params:
            _refuse("unknown_parameter", f"{what} takes the parameter {name!r}{suggest(name, params)}", value=name)


def _rule(task: TaskSpec, names: frozenset[str], known: list[str]) -> None:
    for name in sorted(names_in(task.rule)):
        where = f"the trigger rule of task {task.name!r} names {name!r}"
        if name not in names:
            _refuse("rule_task", f"{where}, which is not a task here{suggest(name, known)}", task=task.name, value=name)
        if name not in task.depends_on:
            _refuse(
                "rule_task",
                f"{where}, which is not one of its dependencies: add {name!r} to its depends_on (or with .after)",
                task=task.name,
                value=name,
            )
    for leaf in leaves(task.rule):
        if isinstance(leaf, ContextValue):
            _context_rule(task, leaf)


def _context_rule(task: TaskSpec, rule: ContextValue) -> None:
    where = f"context_value({rule.key!r}, …) in the trigger rule of task {task.name!r}"
    if rule.op not in get_args(Op):
        _refuse("rule_op", f"{where} has the operator {rule.op!r}: use one of {', '.join(get_args(Op))}", value=rule.op)
    try:
        dump_output(rule.value, what=f"the value of {where}")
    except (NotJson, TooLarge) as error:
        raise InvalidWorkflow(error.message, code=error.code, task=task.name) from error


def _retry(task: TaskSpec) -> None:
    retry = task.retry
    faults = (
        (
            not _is_int(retry.attempts) or retry.attempts < 1,
            "retries",
            _retries(retry.attempts),
            "a whole number from 0",
        ),
        (retry.backoff not in get_args(Backoff), "backoff", retry.backoff, " or ".join(map(repr, get_args(Backoff)))),
        (not _is_seconds(retry.delay), "retry_delay", retry.delay, "a number of seconds from 0"),
        (
            retry.max_delay is not None and not _is_seconds(retry.max_delay),
            "max_delay",
            retry.max_delay,
            "a number of seconds from 0, or None",
        ),
        (not _is_seconds(retry.factor) or retry.factor < 1, "factor", retry.factor, "a number from 1"),
        (not _is_seconds(retry.jitter) or retry.jitter > 1, "jitter", retry.jitter, "a share between 0 and 1"),
        (
            task.at_most_once and retry.attempts != 1,
            "retries",
            _retries(retry.attempts),
            "0, because the task is at_most_once",
        ),
    )
    for wrong, field, value, right in faults:
        if wrong:
            _refuse("bad_retry", f"{field} of task {task.name!r} is {value!r}: it must be {right}", value=value)


def _retries(attempts: Any) -> Any:
    """Returns the number as the option ``retries`` has it."""
    return attempts - 1 if _is_int(attempts) else attempts


def _timeout(what: str, timeout: Any) -> None:
    if timeout is not None and not (_is_seconds(timeout) and timeout > 0):
        _refuse("bad_timeout", f"timeout of {what} is {timeout!r}: it must be a number of seconds above 0, or None")


def _priority(task: TaskSpec) -> None:
    if not _is_int(task.priority) or abs(task.priority) > MAX_PRIORITY:
        _refuse(
            "bad_priority",
            f"priority of task {task.name!r} is {task.priority!r}: it must be a whole number within ±{MAX_PRIORITY:,}",
        )


def _worker_selector(what: str, selector: Any) -> None:
    match selector:
        case None | "local":
            return
        case dict() if selector and all(isinstance(part, str) for pair in selector.items() for part in pair):
            for part in (part for pair in selector.items() for part in pair):
                checked_text(
                    part, f"a label in worker_selector of {what}", longest=MAX_NAME_LENGTH, error=InvalidWorkflow
                )
        case _:
            _refuse(
                "bad_worker_selector",
                f"worker_selector of {what} is {selector!r}: "
                'it must be "local" or labels, such as {"gpu": "true"} (text to text)',
                value=selector,
            )


def _affinity(spec: WorkflowSpec) -> None:
    if spec.affinity not in (None, "run"):
        _refuse("bad_affinity", f'affinity of workflow {spec.name!r} is {spec.affinity!r}: it must be "run" or None')
    if spec.affinity == "run" and not isinstance(spec.worker_selector, dict):
        _refuse(
            "bad_affinity",
            f'affinity of workflow {spec.name!r} is "run", and it has no labels: give it a worker_selector, such as '
            '{"disk": "true"}, or leave the affinity out',
        )


def _run_limits(spec: WorkflowSpec) -> None:
    what = f"workflow {spec.name!r}"
    validate_limits(what, spec.limits, [param.name for param in spec.params])
    for field, value in (("max_active_runs", spec.max_active_runs), ("max_active_steps", spec.max_active_steps)):
        if value is not None and (not _is_int(value) or not 1 <= value <= MAX_SLOTS):
            right = f"it must be a whole number from 1 to {MAX_SLOTS:,}, or None"
            _refuse(BAD_LIMIT, f"{field} of {what} is {value!r}: {right}", field=field, value=value)
    if spec.queue:
        _identifier(f"queue of {what}", spec.queue)
    if not _is_int(spec.priority) or abs(spec.priority) > MAX_PRIORITY:
        right = f"it must be a whole number within ±{MAX_PRIORITY:,}"
        _refuse("bad_priority", f"priority of {what} is {spec.priority!r}: {right}")


def _task_limits(task: TaskSpec, params: frozenset[str]) -> None:
    if not task.limits:
        return
    validate_limits(f"task {task.name!r}", task.limits, params)
    if task.body.kind == "workflow":
        right = "give them to the workflow that it calls"
        _refuse(BAD_LIMIT, f"task {task.name!r} is a child run and cannot have limits itself: {right}")


def _style(spec: WorkflowSpec, task: TaskSpec) -> None:
    if task.uses_context and not spec.context_style:
        _refuse(
            "mixed_styles", f"task {task.name!r} uses a Context, but workflow {spec.name!r} passes data by arguments"
        )
    if spec.context_style and (task.args or task.kwargs):
        _refuse(
            "mixed_styles", f"task {task.name!r} takes arguments, but workflow {spec.name!r} passes data in a Context"
        )


def _map(spec: WorkflowSpec, task: TaskSpec) -> None:
    mapped, where = task.map, f"the map of task {task.name!r}"
    if mapped is None:
        return
    if spec.context_style:
        _refuse("mixed_styles", f"task {task.name!r} is mapped, but workflow {spec.name!r} passes data in a Context")
    arguments: dict[int | str, Template] = {**dict(enumerate(task.args)), **task.kwargs}
    for which in mapped.over:
        template = arguments.get(which)
        if template is None:
            _refuse("not_a_list", f"{where} goes through argument {which!r}, which is not given", value=which)
        if isinstance(template, DictOf) or (isinstance(template, Literally) and not isinstance(template.value, list)):
            _refuse("not_a_list", f"{where} goes through argument {which!r}, which is not a list", value=which)
    if not mapped.over:
        _refuse("not_a_list", f"{where} goes through no list: it needs at least one")
    limit = mapped.max_parallel
    if limit is not None and (not _is_int(limit) or limit < 1):
        _refuse("bad_max_parallel", f"max_parallel of {where} is {limit!r}: it must be a whole number from 1, or None")
    lists = {part.name for part in (arguments[which] for which in mapped.over) if isinstance(part, FromTask)}
    known = {each.name for each in spec.tasks if each.map is not None}
    for name in mapped.piped:
        if name not in lists or name not in known or task.rule is not None:
            _refuse(
                "bad_pipe", f"{where} cannot go through {name!r} item by item: it is not a mapped task's whole list"
            )


def _acyclic(spec: WorkflowSpec) -> None:
    try:
        TopologicalSorter({task.name: task.depends_on for task in spec.tasks}).prepare()
    except CycleError as error:
        path: list[str] = error.args[1]
        _refuse(
            "cycle",
            f"the tasks of workflow {spec.name!r} wait for one another: {' → '.join(path)}. "
            "Remove one of these dependencies",
            path=path,
        )


def _unknown_task(what: str, name: str, known: list[str]) -> NoReturn:
    _refuse("unknown_dependency", f"{what}, which is not a task of this workflow{suggest(name, known)}", value=name)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _refuse(code: str, message: str, **fields: Any) -> NoReturn:
    raise InvalidWorkflow(message, code=code, **fields)
