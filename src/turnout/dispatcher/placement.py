"""Decides where a task of a run goes, and why: one pure decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.dispatcher.routing import Route, Router
from turnout.errors import HubUnavailable, NoExecutor, ResourcesUnavailable
from turnout.model.children import CHILD
from turnout.model.events import DispatchDecision
from turnout.model.labels import has_parameters, with_parameters
from turnout.model.resources import merged, origin
from turnout.model.spec import Labels, TaskSpec, WorkflowSpec

WORKERS = "workers"
"""The key of the executor that sends attempts to workers through the hub."""
SHELL = "shell"
"""The key of the executor for shell bodies that the default executor cannot run."""
HANDLER = "handler"
"""The kind of body that another program runs."""
NO_HUB = "but no hub is configured"
"""Part of the reason of every decision that would be ``workers`` with a hub."""
STRICT = "strict_selectors does not let it run locally"
"""Part of the reason of a decision for workers without a hub."""

REMOTE_ONLY = "the definition may run on workers only"
"""The reason of every task of a workflow with ``remote_only``, but handlers and contained steps."""

MODE = "default_execution_mode"
MODES = ("local", "distributed")


class PlacementSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that the decision depends on besides the rules."""

    hub_configured: bool = False
    hub_up: bool = True
    """Does not change a decision: ``workers`` while the hub is down is an error or a wait, never a local run."""
    default_execution_mode: Literal["local", "distributed"] = "local"
    mode_name: str = MODE
    """The name of that setting where it was set."""
    strict_selectors: bool = False
    """A task that asks for labels while no hub is configured goes to workers, and its submission is refused, instead of
    running locally."""
    local_keys: tuple[str, ...] = ("default",)
    """Executors that run on this machine, in order of preference; the dispatcher fills it in at registration."""
    kinds: dict[str, frozenset[str]] = {}
    """What each executor that is registered here can run; filled in at registration too."""
    polled_keys: frozenset[str] = frozenset()
    """Keys that are not registered here because pollers, or another orchestrator, serve them."""


class Question(msgspec.Struct, frozen=True):
    """One task of one run, with everything that the decision looks at."""

    task: TaskSpec
    workflow: WorkflowSpec
    settings: PlacementSettings
    router: Router
    run_id: str | None = None
    """Without a run, rules for a share of runs do not apply."""
    input: Mapping[str, Any] = {}
    """The input of the run, whose values labels may take."""

    def default(self) -> tuple[str, str]:
        """Returns the executor of a task without rule or selector, and the name of that reason."""
        key, kind, kinds = self.router.config.default_executor, self.task.body.kind, self.settings.kinds
        if kind == HANDLER and kind not in kinds.get(key, ()):
            if self.settings.hub_configured:
                return WORKERS, "default executor of handlers"
            elsewhere = [each for each, runs in kinds.items() if kind in runs]
            if len(elsewhere) == 1:
                return elsewhere[0], "the only executor of handlers"
        if kind == "shell" and kind not in kinds.get(key, (kind,)) and kind in kinds.get(SHELL, ()):
            return SHELL, "default executor of shell bodies"
        return key, "default executor"

    def selector(self) -> tuple[Labels | Literal["local"] | None, str]:
        """Returns the selector that counts and its source. An empty map asks for nothing, so it counts as absent."""
        chosen, where = self.task.worker_selector, "task"
        if not chosen:
            chosen, where = self.workflow.worker_selector or None, "workflow"
        if isinstance(chosen, dict) and has_parameters(chosen):
            chosen = with_parameters(chosen, self.input)
        return chosen, where


Outcome: TypeAlias = DispatchDecision | str
"""The result of one step of the order: the decision, or why it makes none."""


def decide(
    task: TaskSpec,
    workflow: WorkflowSpec,
    settings: PlacementSettings,
    router: Router,
    run_id: str | None = None,
    input: Mapping[str, Any] | None = None,
) -> DispatchDecision:
    """Returns the choice of the first step of the order that makes one. A child run has no executor: its tasks have."""
    if task.body.kind == "workflow":
        return DispatchDecision(CHILD, f"child run of {task.body.ref}")
    question = Question(task, workflow, settings, router, run_id, input or {})
    for _, step in order_of(workflow):
        outcome = step(question)
        if isinstance(outcome, DispatchDecision):
            return outcome
    raise AssertionError("the last step always decides")


def depends_on_input(task: TaskSpec, workflow: WorkflowSpec) -> bool:
    """True if two runs of the workflow may ask for different labels."""
    return has_parameters(task.worker_selector or workflow.worker_selector)


def require_hub(decision: DispatchDecision, settings: PlacementSettings, task: str = "") -> None:
    """Raises HubUnavailable if a decision needs a hub that is not up, or that is not configured; checked at
    submission. ``task`` is the full name for the message."""
    if decision.executor_key != WORKERS:
        return
    what = f'task "{task}" goes to workers ({decision.reason})' if task else decision.reason
    if not settings.hub_configured and decision.reason.startswith(REMOTE_ONLY):
        raise HubUnavailable(
            f"{what}: configure a hub, or set allow_local_execution and upload the definition again",
            code="remote_only_without_hub",
            task=task,
        )
    if not settings.hub_configured:
        raise HubUnavailable(
            f"{what}: configure a hub, or leave the labels out",
            code="selector_without_hub",
            task=task,
            labels=decision.labels,
        )
    if not settings.hub_up:
        raise HubUnavailable(
            f"{what}, and the hub is not up here: start it, submit the run where it is up, or pin the task with "
            "worker_selector='local'",
            task=task,
            reason=decision.reason,
        )


def require_resources(task: TaskSpec, decision: DispatchDecision, misfit: str | None) -> None:
    """Raises ResourcesUnavailable if the decided executor can never give what the task asks for; checked at
    submission. ``misfit`` is what the executor says."""
    if misfit is None or decision.resources is None:
        return
    raise ResourcesUnavailable(
        f"{never_fits(task, decision, misfit)}: ask for less, or route the task to an executor that has it",
        task=task.full_name,
        executor=decision.executor_key,
        resources=decision.resources.document(),
    )


def never_fits(task: TaskSpec, decision: DispatchDecision, misfit: str) -> str:
    """Returns what is wrong with the resources of a task, in words."""
    return f'task "{task.full_name}" can never start in executor "{decision.executor_key}": it {misfit}'


def _remote_only(question: Question) -> Outcome:
    if question.task.body.kind == HANDLER:
        return "a handler is never part of an orchestrator"
    selector, where = question.selector()
    step = question.task.body.step
    if step is not None and step.contained and (selector == "local" or not question.settings.hub_configured):
        return "it makes requests to public addresses only, or none"
    labels = selector if isinstance(selector, dict) else None
    asked = f", worker_selector {shown(labels)} on the {where}" if labels else ""
    missing = "" if question.settings.hub_configured else f", {NO_HUB}"
    return _decision(WORKERS, f"{REMOTE_ONLY}{asked}{missing}", question, labels)


def _forced_local(question: Question) -> Outcome:
    selector, where = question.selector()
    if selector != "local":
        return "neither task nor workflow says it"
    return _local(f"worker_selector local on the {where}", question)


def _labels(question: Question) -> Outcome:
    selector, where = question.selector()
    if not isinstance(selector, dict):
        return "neither task nor workflow has any"
    reason = f"worker_selector {shown(selector)} on the {where}"
    return _send(WORKERS, f"{reason} → {WORKERS}", question, selector)


def _rule(question: Question) -> Outcome:
    route = question.router.match(question.task.full_name, question.run_id)
    if route is None:
        return "no rule applies"
    return _send(route.rule.executor, route.reason, question, route.rule.labels, route)


def _hint(question: Question) -> Outcome:
    key = question.task.executor
    if key is None:
        return "the task names none"
    return _send(key, f"executor={key} on the task", question)


def _mode(question: Question) -> Outcome:
    if question.settings.default_execution_mode != "distributed":
        return "it is local"
    if not question.settings.hub_configured:
        return "it is distributed, but no hub is configured"
    return _decision(WORKERS, f"{question.settings.mode_name} distributed → {WORKERS}", question)


def _default(question: Question) -> Outcome:
    return _send(*question.default(), question)


ORDER: tuple[tuple[str, Callable[[Question], Outcome]], ...] = (
    ("worker_selector local", _forced_local),
    ("worker_selector labels", _labels),
    ("routing rules", _rule),
    ("the task's executor", _hint),
    (MODE, _mode),
    ("default executor", _default),
)


def order_of(workflow: WorkflowSpec) -> tuple[tuple[str, Callable[[Question], Outcome]], ...]:
    """Returns the steps for tasks of this workflow."""
    return (("remote only", _remote_only), *ORDER) if workflow.remote_only else ORDER


def _send(
    key: str, reason: str, question: Question, labels: Labels | None = None, route: Route | None = None
) -> DispatchDecision:
    if key == WORKERS and not question.settings.hub_configured:
        if labels and question.settings.strict_selectors:
            return _decision(key, f"{reason}, {NO_HUB}, and {STRICT}", question, labels, route)
        return _local(f"{reason}, {NO_HUB}", question)
    return _decision(key, reason, question, labels, route)


def _decision(
    key: str, reason: str, question: Question, labels: Labels | None = None, route: Route | None = None
) -> DispatchDecision:
    """Returns the decision with the resources of the task and of the rule that made it, which its reason names."""
    asked, ruled = question.task.resources, None if route is None else route.resources
    if asked is None and ruled is None:
        return DispatchDecision(key, reason, labels)
    rule = "" if route is None else f"rule {route.number}"
    return DispatchDecision(key, f"{reason}; {origin(asked, ruled, rule)}", labels, merged(asked, ruled))


def _local(why: str, question: Question) -> DispatchDecision:
    """Applies rules, the task's executor and the default again, among local executors only."""
    task, router, local = question.task, question.router, question.settings.local_keys
    for route in router.candidates(task.full_name):
        rule = route.rule
        if not rule.shadow and rule.executor in local and rule.applies_to(question.run_id):
            return _decision(rule.executor, f"{why}: {route.reason}", question, route=route)
    if task.executor is not None and task.executor in local:
        return _decision(task.executor, f"{why}: executor={task.executor} on the task", question)
    key, called = question.default()
    if key in local:
        return _decision(key, f"{why}: {called}", question)
    if not local:
        raise NoExecutor(f"{why}, and no local executor is registered", task=task.full_name)
    kind, kinds = task.body.kind, question.settings.kinds
    first = next((each for each in local if kind in kinds.get(each, (kind,))), local[0])
    return _decision(first, f"{why}: first local executor → {first}", question)


def lacks_hub(decision: DispatchDecision) -> bool:
    """True if the decision is local only because no hub is configured."""
    return needs_hub_config(decision) and decision.executor_key != WORKERS


def needs_hub_config(decision: DispatchDecision) -> bool:
    """True if the decision would be another, or would not be refused, with a hub."""
    return NO_HUB in decision.reason


def hub_warning(task: TaskSpec, decision: DispatchDecision) -> str:
    """Returns the warning for a task whose decision lacks a hub, or is refused for that."""
    if decision.executor_key == WORKERS:
        return f'runs with task "{task.full_name}" are refused: {decision.reason}'
    return f'task "{task.full_name}" runs locally, in executor "{decision.executor_key}": {decision.reason}'


def shown(labels: Labels) -> str:
    """Returns labels as people write them, ``{gpu=true, zone=a}``."""
    return f"{{{', '.join(f'{key}={value}' for key, value in sorted(labels.items()))}}}"
