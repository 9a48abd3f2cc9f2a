"""Bodies of requests and answers about routing rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.dispatcher.what_if import ChangedDecision
from turnout.model.events import DispatchDecision
from turnout.runner.routing_rules import RoutingOrigin, RulesInForce

MAX_RULES = 1_000
MAX_REPLAYED = 10_000

Text = Annotated[str, Meta(min_length=1, max_length=1_024)]


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


class Routing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All rules; the first that matches decides."""

    default_executor: Text = "default"
    rules: Annotated[tuple[Rule, ...], Meta(max_length=MAX_RULES)] = ()

    def config(self) -> RoutingConfig:
        """Returns the rules as the dispatcher takes them. Raises InvalidRouting for a rule that is malformed."""
        rules = tuple(
            RoutingRule(each.pattern, each.executor, each.labels, each.percent, each.shadow) for each in self.rules
        )
        return RoutingConfig(self.default_executor, rules)


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


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The executor of a task, and the reason."""

    executor: str
    labels: dict[str, str] | None = None
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


class WhatIfResult(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions that the rules would change."""

    replayed: int
    """Decisions that were looked at."""
    differences: list[Difference]
    warnings: list[str]


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


def _decision(made: DispatchDecision) -> Decision:
    return Decision(executor=made.executor_key, labels=made.labels, reason=made.reason)
