"""Explains a placement: the decision with every step that was considered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from turnout.dispatcher.placement import MODE, PlacementSettings, Question, decide, order_of, shown
from turnout.dispatcher.routing import Router
from turnout.model.events import DispatchDecision
from turnout.model.spec import TaskSpec, WorkflowSpec

_MARKS = {"chosen": "✔", "passed": "·", "not reached": " "}


class TraceStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of the order: what it looked at, and what came of it."""

    number: int
    considered: str
    outcome: Literal["chosen", "passed", "not reached"]
    why: str
    details: tuple[str, ...] = ()
    """For the rules: each one, and whether it applies."""


class Explanation(msgspec.Struct, frozen=True):
    """A decision and its trace."""

    task_name: str
    decision: DispatchDecision
    steps: tuple[TraceStep, ...]
    mapped: bool = False
    """A mapped task: each of its items goes there."""

    def text(self) -> str:
        """The trace as text, one line for each step and rule."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        labels = f" {shown(self.decision.labels)}" if self.decision.labels else ""
        name = f"{self.task_name}[…]" if self.mapped else self.task_name
        asked = "" if self.decision.resources is None else f" {self.decision.resources.text()}"
        yield f"{name} → {self.decision.executor_key}{labels}{asked}"
        for step in self.steps:
            yield f"  {_MARKS[step.outcome]} {step.number}. {step.considered}: {step.why}"
            yield from (f"       {detail}" for detail in step.details)


def explain(
    task: TaskSpec,
    workflow: WorkflowSpec,
    settings: PlacementSettings,
    router: Router,
    run_id: str | None = None,
    input: Mapping[str, Any] | None = None,
) -> Explanation:
    """Runs the steps of ``decide`` and returns the decision with the result of each step."""
    if task.body.kind == "workflow":
        decision = decide(task, workflow, settings, router, run_id)
        return Explanation(task.full_name, decision, (TraceStep(1, "child run", "chosen", decision.reason),))
    question = Question(task, workflow, settings, router, run_id, input or {})
    steps: list[TraceStep] = []
    decided = False
    for number, (considered, step) in enumerate(order_of(workflow), 1):
        details = _rules(task.full_name, router, run_id) if considered == "routing rules" else ()
        if considered == MODE:
            considered = settings.mode_name  # noqa: PLW2901
        outcome = "not reached" if decided else step(question)
        if isinstance(outcome, DispatchDecision):
            decided = True
            steps.append(TraceStep(number, considered, "chosen", outcome.reason, details))
        else:
            steps.append(TraceStep(number, considered, "not reached" if decided else "passed", outcome, details))
    decision = decide(task, workflow, settings, router, run_id, input)
    return Explanation(task.full_name, decision, tuple(steps), task.map is not None)


def _rules(name: str, router: Router, run_id: str | None) -> tuple[str, ...]:
    matching = {route.number for route in router.candidates(name)}
    lines: list[str] = []
    for route in router.routes:
        if route.number not in matching:
            verdict = "does not match"
        elif not route.rule.applies_to(run_id):
            verdict = "matches, but this run is not in its share" if run_id else "matches, for a share of runs"
        elif route.rule.shadow:
            verdict = "matches, adds a shadow copy"
        else:
            verdict = "matches"
        lines.append(f"{route.reason}: {verdict}")
    return tuple(lines)
