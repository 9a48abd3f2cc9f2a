"""Bodies of requests and answers about routing rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.dispatcher.what_if import ChangedDecision
from turnout.errors import InvalidRouting
from turnout.model.events import DispatchDecision
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.orchestration.stages.results import ShadowComparison
from turnout.runner.routing_rules import RoutingOrigin, RulesInForce

MAX_RULES = 1_000
MAX_REPLAYED = 10_000
MAX_DIFFERENCES = 1_000
"""Differences of one answer."""

Text = Annotated[str, Meta(min_length=1, max_length=1_024)]
AskedResources: TypeAlias = dict[str, float | str]
"""Resources as people write them."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A routing rule: tasks whose full name matches the pattern go to the executor."""

    pattern: Text
    """Segments separated by ``::``; ``*`` stays within a segment, ``**`` spans any number of them."""
    executor: Text
    labels: dict[str, str] | None = None
    """Labels that the worker must have."""
    percent: Annotated[float, Meta(ge=0, le=100)] | None = None
    """The share of runs that the rule applies to; absent: all."""
    shadow: bool = False
    """True: adds a copy whose result is compared and logged, and decides nothing."""
    resources: AskedResources | None = None
    """What attempts ask of the executor, in place of the task's entries of the same names: ``cpu`` and ``gpu`` as
    numbers, ``memory`` in bytes or as ``8GiB``, other names as numbers."""


class Routing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All rules; the first that matches decides."""

    default_executor: Text = "default"
    rules: Annotated[tuple[Rule, ...], Meta(max_length=MAX_RULES)] = ()

    def config(self) -> RoutingConfig:
        """Returns the rules as the dispatcher takes them. Raises InvalidRouting, with the number of the rule, for one
        that is malformed."""
        return RoutingConfig(self.default_executor, tuple(map(_checked, range(1, len(self.rules) + 1), self.rules)))


def _checked(number: int, rule: Rule) -> RoutingRule:
    try:
        return RoutingRule(rule.pattern, rule.executor, rule.labels, rule.percent, rule.shadow, rule.resources)
    except InvalidRouting as error:
        raise InvalidRouting(error.message, code=error.code, **(error.fields | {"rule": number})) from error


class RoutingInForce(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules that a server decides by, and where they come from."""

    routing: Routing
    origin: RoutingOrigin
    """``config``: the configuration of the server. ``database``: they were put through the API, and every server on the
    database has them. ``program``: the program of the server gave them."""
    file: str | None = None
    """The file or variable of the configuration that the rules come from."""
    version: int
    """The number of the last change through the API; 0: there was none. It is the ETag."""
    updated_at: float | None = None
    """Seconds since 1970 of the last change through the API."""
    updated_by: str | None = None
    problem: str | None = None
    """Why the rules in the database are not in force on this server: they cannot work with its executors."""
    revert: str | None = None
    """How to return every server to the rules of its configuration."""
    warnings: list[str] = []
    """After a change: what is doubtful about the rules."""


class CheckedRouting(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that can work, and what is doubtful about them."""

    routing: Routing
    warnings: list[str]


class WhatIfRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules to be tried on decisions that were made."""

    routing: Routing
    limit: Annotated[int, Meta(ge=1, le=MAX_REPLAYED)] = 1_000
    """How many of the latest decisions are replayed."""
    created_from: Annotated[float, Meta(ge=0, le=1e11)] | None = None
    """Only decisions of runs that were submitted since then, in seconds since 1970."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The executor of a task, and the reason."""

    executor: str
    labels: dict[str, str] | None = None
    resources: AskedResources | None = None
    """What the attempt asks of the executor."""
    reason: str


class Difference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task that the rules would send elsewhere."""

    run_id: str
    task: str
    """The full name."""
    was: Decision
    now: Decision | None = None
    refusal: str | None = None
    """Why the rules would refuse the task."""


class ChangedTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Decisions about one task that would change in the same way."""

    task: str
    """The full name."""
    was: Decision
    now: Decision | None = None
    refusal: str | None = None
    count: int
    run_id: str
    """The newest of its runs."""


class WhatIfResult(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions that the rules would change."""

    replayed: int
    """Decisions that were looked at."""
    differences: list[Difference]
    """At most a thousand, the newest."""
    changes: list[ChangedTask] = []
    """All differences, by task and by what would change."""
    since: float | None = None
    """When the oldest run of the decisions that were looked at was submitted."""
    warnings: list[str]


class RoutedTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task of a workflow, and where it would go in a new run."""

    workflow: str
    task: str
    """The full name."""
    name: str
    executor: str | None = None
    labels: dict[str, str] | None = None
    resources: AskedResources | None = None
    reason: str
    rule: int | None = None
    """The number of the rule that decided, from 1; absent: none did."""
    refused: bool = False
    """True: the task would be refused, for the reason given."""
    mapped: bool = False
    """True: each of its items goes there."""


class RoutedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks by workflow, in the order of its graph. ``next`` is the cursor of the next page."""

    tasks: list[RoutedTask]
    next: str | None = None


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True):
    """The comparisons of shadow attempts with real ones, by the answering server since it started."""

    same: int
    different: int
    unanswered: int
    """One of the two ended without an answer."""
    without_room: int
    """Attempts that got no shadow for want of a slot."""
    forgotten: int
    """Attempts whose other result came too late to be compared."""
    differences: list[ShadowComparison]
    """The latest, newest first."""


REVERT = "DELETE /api/v1/routing with If-Match: the ETag"


def in_force_of(found: RulesInForce, file: str | None, warnings: Sequence[str] = ()) -> RoutingInForce:
    return RoutingInForce(
        routing=routing_of(found.routing),
        origin=found.origin,
        file=file if found.origin == "config" else None,
        version=found.version,
        updated_at=found.updated_at,
        updated_by=found.updated_by,
        problem=found.problem,
        revert=REVERT if found.origin == "database" or found.problem is not None else None,
        warnings=list(warnings),
    )


def routing_of(config: RoutingConfig) -> Routing:
    rules = tuple(
        Rule(
            pattern=each.pattern,
            executor=each.executor,
            labels=each.labels,
            percent=each.percent,
            shadow=each.shadow,
            resources=each.resources,
        )
        for each in config.rules
    )
    return Routing(default_executor=config.default_executor, rules=rules)


def difference_of(changed: ChangedDecision) -> Difference:
    past = changed.past
    return Difference(
        run_id=past.run_id,
        task=past.task.full_name,
        was=_decision(past.decision),
        now=None if changed.now is None else _decision(changed.now),
        refusal=changed.refusal or None,
    )


def changes_of(changed: Sequence[ChangedDecision]) -> list[ChangedTask]:
    """Returns the differences, newest first, by task and by what would change, the most frequent first."""
    found: dict[tuple[str, str, str], list[Difference]] = {}
    for each in map(difference_of, changed):
        now = each.refusal or "" if each.now is None else _placed(each.now)
        found.setdefault((each.task, _placed(each.was), now), []).append(each)
    ranked = sorted(found.values(), key=lambda some: -len(some))
    return [
        ChangedTask(
            task=some[0].task,
            was=some[0].was,
            now=some[0].now,
            refusal=some[0].refusal,
            count=len(some),
            run_id=some[0].run_id,
        )
        for some in ranked[:MAX_DIFFERENCES]
    ]


def routed_task(workflow: WorkflowSpec, task: TaskSpec, made: DispatchDecision | None, reason: str) -> RoutedTask:
    """Returns where a task goes; without a decision it is refused for this reason."""
    rule = _RULE.match(reason) if made is not None else None
    return RoutedTask(
        workflow=workflow.full_name,
        task=task.full_name,
        name=task.name,
        executor=None if made is None else made.executor_key,
        labels=None if made is None else made.labels,
        resources=None if made is None else asked_of(made),
        reason=reason,
        rule=None if rule is None else int(rule[1]),
        refused=made is None,
        mapped=task.map is not None,
    )


_RULE = re.compile(r"rule (\d+) ")


def _decision(made: DispatchDecision) -> Decision:
    return Decision(executor=made.executor_key, labels=made.labels, resources=asked_of(made), reason=made.reason)


def _placed(decision: Decision) -> str:
    return f"{decision.executor} {decision.labels} {decision.resources}"


def asked_of(made: DispatchDecision) -> AskedResources | None:
    return None if made.resources is None else made.resources.document()
