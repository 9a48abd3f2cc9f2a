"""Holds the options of tasks and workflows, checks them, and translates them for the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias, TypedDict, get_args

from turnout.authoring.limits import Limit
from turnout.authoring.schedules import Scheduled
from turnout.errors import InvalidInput, InvalidWorkflow
from turnout.model.deferral import condition_ref
from turnout.model.durations import Duration, seconds
from turnout.model.limits import LimitSpec
from turnout.model.names import suggest
from turnout.model.notifications import Notify
from turnout.model.resources import Given, Resources
from turnout.model.retention import KeepRule
from turnout.model.retry import Backoff, RetryPolicy
from turnout.model.rules import Rule
from turnout.model.spec import Affinity, WorkerSelector

ExceptionKinds: TypeAlias = type[BaseException] | str | Sequence[type[BaseException] | str]
"""Exception classes, or their names as ``module.qualname`` (a bare name is a builtin)."""
RetryPredicate: TypeAlias = Callable[[BaseException], bool]

DEFAULT_GROWING_DELAY = 1.0
"""Seconds before the first retry with a growing backoff and no ``retry_delay``."""


Hooks: TypeAlias = Any
"""A task or a list of tasks, called with the outcome if they take an argument."""


Limits: TypeAlias = Limit | LimitSpec | str | Sequence[Limit | LimitSpec | str]
"""A limit or a list of limits; a text is the name of a configured one."""


class TaskOptions(TypedDict, total=False):
    """The keywords of ``@task(…)`` and ``.options(…)``."""

    name: str
    """The task's name, by default the function's; ``"a::b"`` is its whole full name."""
    depends_on: Sequence[Any]
    """Context style only: names of tasks, or the tasks themselves."""
    retries: int
    """Retries of a failed task: 3 means up to 4 attempts. Default: 0."""
    retry_delay: Duration
    """The delay before the first retry. Default: 0; with a growing backoff 1 s."""
    backoff: Backoff
    """The growth of the delay: ``"fixed"`` (default), ``"linear"`` or ``"exponential"``."""
    max_delay: Duration | None
    """The longest delay. Default: no limit."""
    jitter: float
    """The largest random share (0 to 1) that is subtracted from each delay. Default: 0."""
    retry_on: ExceptionKinds
    """Exception classes, or their names, that are retried. Default: all."""
    never_on: ExceptionKinds
    """Exception classes, or their names, that are not retried; overrides ``retry_on``."""
    retry_if: RetryPredicate | None
    """Called with the exception, where the body ran; returns True if the task is to be retried."""
    conditions: Sequence[Callable[..., Any] | str]
    """The functions that the body may wait for with ``Defer(condition=…)``; no others are ever called. Of a remote task
    the names of its handler's, as ``"module:function"``."""
    timeout: Duration | None
    """The time that one attempt may take, from its start. Default: no limit."""
    priority: int
    """Among ready tasks of a run, those with a higher priority start first. Default: 0."""
    trigger_rule: Rule | None
    """Decides from the states of the dependencies whether the task runs or is skipped."""
    worker_selector: WorkerSelector
    """Labels that the worker must have, as ``{"gpu": "true"}``; ``"local"``: not on a worker."""
    executor: str | None
    """The key of the executor; a routing rule may override it."""
    resources: Given | Resources | None
    """What an attempt asks of its executor, as ``{"gpu": 1, "cpu": 4, "memory": "8GiB"}``; a routing rule may replace
    entries. Default: nothing."""
    at_most_once: bool
    """True: the body is never started a second time, even if the outcome of its attempt is unknown."""
    limits: Limits
    """Limits of which each attempt holds a slot, as ``[Limit("database", at_most=3)]``."""
    on_success: Hooks
    """Called when the task has completed."""
    on_failure: Hooks
    """Called when the task has failed, after the last retry."""
    on_cancel: Hooks
    """Called when the task was cancelled while it ran."""
    on_exit: Hooks
    """Called when the task has ended in any state, if an attempt was started.

    Hooks of a mapped task are called once, after all items have ended."""


class WorkflowOptions(TypedDict, total=False):
    """The keywords of ``@workflow(…)`` and ``Workflow(…)``."""

    package: str
    """The second part of the workflow's full name, by default ``"embedded"``."""
    timeout: Duration | None
    """The time that a run may take."""
    worker_selector: WorkerSelector
    """Applies to tasks without a selector of their own. A label may take the value of a parameter: ``"${zone}"``."""
    affinity: Affinity
    """``"run"``: the tasks of a run that these labels place all go to one worker. None: each to any that matches."""
    schedule: Scheduled
    """When the workflow runs by itself: a cron expression, a ``Schedule``, or a list of these. A server runs it."""
    timezone: str
    """The time zone of the schedules that have none of their own, by default ``"UTC"``."""
    max_active_runs: int | None
    """The greatest number of runs of this workflow at work at once; others wait. Default: no limit."""
    max_active_steps: int | None
    """The greatest number of tasks of one run at work at once. Default: no limit."""
    limits: Limits
    """Limits of which a run holds a slot from its start to its end, as ``[Limit("customer-${customer_id}",
    at_most=3)]``."""
    queue: str | None
    """The configured queue that runs wait in."""
    priority: int
    """The priority of runs that are submitted without one: among waiting runs a higher one starts first. Default: 0."""
    keep_for: Duration | None
    """The time for which runs are kept after their end. Default: as the configuration says."""
    keep_runs: int | None
    """The number of ended runs that are kept, the newest ones. Default: all."""
    on_success: Hooks
    """Called when everything else of the run has ended and the run completes."""
    on_failure: Hooks
    """Called when everything else of the run has ended and the run fails."""
    on_cancel: Hooks
    """Called when everything else of the run has ended and the run was cancelled."""
    on_exit: Hooks
    """Called when everything else of the run has ended, after the other hooks, with any end of the run."""
    notify: Notify | Sequence[Notify] | None
    """Sent at the end of a run: the address, the ends that are sent, and the secret that signs it."""


_SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda value: isinstance(value, str) and bool(value), "text"),
    "depends_on": (
        lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes | dict),
        'a list of tasks or of their names, such as ["extract"]',
    ),
    "retry_if": (lambda value: value is None or callable(value), "a function that takes the exception, or None"),
    "conditions": (
        lambda value: (
            isinstance(value, list | tuple) and all(callable(each) or isinstance(each, str) for each in value)
        ),
        "a list of functions, such as [os.path.exists]",
    ),
    "trigger_rule": (
        lambda value: value is None or isinstance(value, get_args(Rule)),
        'a rule, such as task_failed("fetch") or all_(…), or None',
    ),
    "executor": (lambda value: value is None or (isinstance(value, str) and bool(value)), "an executor's key, or None"),
    "at_most_once": (lambda value: isinstance(value, bool), "True or False"),
}


def checked(options: TaskOptions, task: str) -> TaskOptions:
    """Returns the options. Raises for an unknown option or a wrong type; ``model/validation.py`` checks ranges."""
    for name, value in options.items():
        if name not in TaskOptions.__annotations__:
            known = TaskOptions.__annotations__
            raise InvalidWorkflow(f"task {task!r} has no option {name!r}{suggest(name, known)}", code="unknown_option")
        fits, right = _SHAPES.get(name, (None, ""))
        if fits is not None and not fits(value):
            raise InvalidWorkflow(
                f"{name} of task {task!r} is {value!r}: write {right}",
                code="bad_option",
                task=task,
                option=name,
                value=value,
            )
    return options


def retry_policy(options: TaskOptions, task: str) -> RetryPolicy:
    """Returns the retry options as a policy."""
    retries: Any = options.get("retries", 0)
    backoff = options.get("backoff", "fixed")
    delay = options.get("retry_delay", 0.0 if backoff == "fixed" else DEFAULT_GROWING_DELAY)
    if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
        raise InvalidWorkflow(f"retries of task {task!r} is {retries!r}: write a whole number from 0", code="bad_retry")
    return RetryPolicy(
        attempts=retries + 1,
        backoff=backoff,
        delay=seconds(delay, f"retry_delay of task {task!r}"),
        max_delay=optional_seconds(options.get("max_delay"), f"max_delay of task {task!r}"),
        jitter=options.get("jitter", 0.0),
        retry_on=exception_names(options.get("retry_on", ()), "retry_on", task),
        never_on=exception_names(options.get("never_on", ()), "never_on", task),
    )


def predicates(options: TaskOptions, task: str) -> dict[str, Callable[..., Any]]:
    """Returns the declared conditions by their names in stored runs."""
    found: dict[str, Callable[..., Any]] = {}
    for ref, each in zip(predicate_names(options, task), options.get("conditions", ()), strict=True):
        if isinstance(each, str):
            _refuse_condition(f"{each!r} is a name: give the function itself; only remote(…) takes names", task)
        if found.setdefault(ref, each) is not each:
            _refuse_condition(f"two functions are named {ref}: give one another name", task)
    return found


def predicate_names(options: TaskOptions, task: str) -> tuple[str, ...]:
    """Returns the names of the declared conditions, in their order."""
    try:
        return tuple(condition_ref(each) for each in options.get("conditions", ()))
    except InvalidInput as error:
        _refuse_condition(error.message, task)


def _refuse_condition(why: str, task: str) -> NoReturn:
    raise InvalidWorkflow(f"conditions of task {task!r}: {why}", code="bad_condition", task=task, option="conditions")


def optional_seconds(value: Duration | None, what: str) -> float | None:
    return None if value is None else seconds(value, what)


def keep_rule(keep_for: Duration | None, keep_runs: Any, workflow: str) -> KeepRule | None:
    """Returns the rule of these options; None if neither is given."""
    if keep_for is None and keep_runs is None:
        return None
    if keep_runs is not None and (not isinstance(keep_runs, int) or isinstance(keep_runs, bool) or keep_runs < 1):
        raise InvalidWorkflow(
            f"keep_runs of workflow {workflow!r} is {keep_runs!r}: it must be a whole number of 1 or more",
            option="keep_runs",
        )
    return KeepRule(optional_seconds(keep_for, f"keep_for of workflow {workflow!r}"), keep_runs)


def exception_names(kinds: ExceptionKinds, option: str, task: str) -> tuple[str, ...]:
    """Returns the names of exception classes as stored errors have them."""
    given: Iterable[Any] = kinds if isinstance(kinds, list | tuple | set | frozenset) else (kinds,)
    return tuple(_exception_name(kind, option, task) for kind in given)


def _exception_name(kind: Any, option: str, task: str) -> str:
    if isinstance(kind, str) and all(part.isidentifier() for part in kind.split(".")):
        return kind
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return f"{kind.__module__}.{kind.__qualname__}"
    raise InvalidWorkflow(
        f"{option} of task {task!r} has {kind!r}: give exception classes, or names such as 'ValueError'",
        code="bad_retry",
        task=task,
        option=option,
    )


def selector(value: WorkerSelector) -> WorkerSelector:
    """Returns a copy of the worker selector, so that later changes of the author's dict have no effect."""
    return dict(value) if isinstance(value, dict) else value
