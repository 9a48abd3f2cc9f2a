"""Checks at submission where the tasks of a new run go: the caller gets warnings, or the run is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from turnout.dispatcher.default import DefaultDispatcher
from turnout.dispatcher.placement import (
    WORKERS,
    PlacementSettings,
    depends_on_input,
    hub_warning,
    lacks_hub,
    require_hub,
    require_resources,
)
from turnout.dispatcher.routing import RoutingConfig
from turnout.model.events import DispatchDecision
from turnout.model.spec import TaskSpec, WorkflowSpec

Need: TypeAlias = tuple[TaskSpec, DispatchDecision]
"""A task that goes to workers, runs locally only because no hub is configured, or asks for resources."""

MAX_REMEMBERED_WORKFLOWS = 10_000


class _Known(msgspec.Struct, frozen=True):
    """The needs of a workflow, and what they were computed from."""

    family: tuple[WorkflowSpec, ...]
    settings: PlacementSettings
    routing: RoutingConfig
    needs: tuple[Need, ...]

    def holds_for(self, family: Sequence[WorkflowSpec], dispatcher: DefaultDispatcher) -> bool:
        known = self.family
        same = family is known or (
            len(family) == len(known) and all(a is b for a, b in zip(family, known, strict=True))
        )
        return same and self.settings is dispatcher.settings and self.routing is dispatcher.routing


class Admission:
    """Decides for every task of a new run, with those of the workflows that it calls, before anything is stored."""

    def __init__(self, dispatcher: DefaultDispatcher, other_hub: Callable[[], bool] | None = None) -> None:
        self._dispatcher = dispatcher
        self._other_hub = other_hub
        """Where runs are only stored for other orchestrators: True if one of those has a hub. None: runs are driven
        here."""
        self._known: dict[str, _Known] = {}

    def check(self, family: Sequence[WorkflowSpec], run_id: str, input: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns a warning for each task that runs locally only because no hub is configured.

        Raises HubUnavailable for a task that goes to workers while the hub is not up, or not configured, and
        ResourcesUnavailable for one whose executor can never give what it asks for. The executors of other
        orchestrators are not known, so those resources are checked only where runs are driven.
        """
        needs = self._needs(family, run_id, input)
        if not needs or (self._other_hub is not None and self._other_hub()):
            return ()
        up = self._other_hub is None and self._dispatcher.hub_up
        settings = msgspec.structs.replace(self._dispatcher.settings, hub_up=up)
        for task, decision in needs:
            require_hub(decision, settings, task.full_name)
            if self._other_hub is None and decision.resources is not None:
                require_resources(task, decision, self._dispatcher.misfit(decision))
        return tuple(hub_warning(task, decision) for task, decision in needs if lacks_hub(decision))

    def _needs(self, family: Sequence[WorkflowSpec], run_id: str, input: Mapping[str, Any]) -> tuple[Need, ...]:
        dispatcher, name = self._dispatcher, family[0].full_name
        known = self._known.get(name)
        if known is not None and known.holds_for(family, dispatcher):
            return known.needs
        needs = tuple(self._computed(family, run_id, input))
        if dispatcher.decides_per_run or any(depends_on_input(task, spec) for spec in family for task in spec.tasks):
            return needs
        if len(self._known) >= MAX_REMEMBERED_WORKFLOWS:
            self._known.clear()
        self._known[name] = _Known(tuple(family), dispatcher.settings, dispatcher.routing, needs)
        return needs

    def _computed(self, family: Sequence[WorkflowSpec], run_id: str, input: Mapping[str, Any]) -> Iterator[Need]:
        """The ids and inputs of child runs are not known yet: rules for a share of runs do not apply to them."""
        for number, spec in enumerate(family):
            for task in spec.tasks:
                given = (run_id, input) if number == 0 else (None, None)
                decision = self._dispatcher.explain(task, spec, *given).decision
                if decision.executor_key == WORKERS or lacks_hub(decision) or decision.resources is not None:
                    yield task, decision
