"""Replays stored decisions against other rules, and returns those that would change: pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from turnout.dispatcher.placement import PlacementSettings, decide
from turnout.dispatcher.routing import Router
from turnout.errors import DispatchError
from turnout.model.events import DispatchDecision
from turnout.model.labels import unpinned
from turnout.model.spec import TaskSpec, WorkflowSpec


class PastDecision(msgspec.Struct, frozen=True):
    """A decision that a run has stored."""

    run_id: str
    task: TaskSpec
    workflow: WorkflowSpec
    decision: DispatchDecision
    input: Mapping[str, Any] = {}
    """The input of the run, whose values labels may take."""


class ChangedDecision(msgspec.Struct, frozen=True):
    """A decision that other rules would make differently."""

    past: PastDecision
    now: DispatchDecision | None
    """None: the rules would refuse the task."""
    refusal: str = ""
    """Why it would be refused."""


def replay(decisions: Iterable[PastDecision], settings: PlacementSettings, router: Router) -> list[ChangedDecision]:
    """Returns the decisions whose executor, labels or resources would be others. Another reason alone is no change."""
    changed: list[ChangedDecision] = []
    for past in decisions:
        try:
            now = decide(past.task, past.workflow, settings, router, past.run_id, past.input)
        except DispatchError as error:
            changed.append(ChangedDecision(past, None, error.message))
            continue
        was = past.decision
        # The worker of a run that stays on one is no part of the rules.
        is_same = now.executor_key == was.executor_key and now.resources == was.resources
        if not is_same or (now.labels or None) != (unpinned(was.labels) or None):
            changed.append(ChangedDecision(past, now))
    return changed
