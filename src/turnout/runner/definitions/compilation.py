"""Declares how the text of a definition becomes workflows, and the errors of that as findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.findings import Finding
from turnout.errors import TurnoutError
from turnout.model.spec import WorkflowSpec

AnyWorkflow: TypeAlias = Workflow[..., Any]
AnyTask: TypeAlias = Task[..., Any]

read_findings = msgspec.json.Decoder(tuple[Finding, ...]).decode


class Compiled(Protocol):
    """The workflows of one text: the first is the main one, others are local to it. None if there are errors."""

    @property
    def workflows(self) -> Sequence[AnyWorkflow]: ...

    @property
    def findings(self) -> Sequence[Finding]: ...


class Compile(Protocol):
    """Compiles a text. ``tasks`` are those that it may name, ``workflows`` those that it may call."""

    def __call__(
        self,
        text: str,
        *,
        name: str,
        base: str | None,
        tasks: Mapping[str, AnyTask],
        workflows: Mapping[str, AnyWorkflow],
    ) -> Compiled: ...


def finding_of(error: TurnoutError) -> Finding:
    """Returns an error as a finding, at its line if it has one."""
    line, column = error.fields.get("line", 1), error.fields.get("column", 1)
    return Finding("error", error.code, error.message, line, column)


def findings_text(findings: Sequence[Finding]) -> str:
    return msgspec.json.encode(findings).decode()


def callees_first(calls: Mapping[str, Iterable[str]]) -> list[str]:
    """Returns the names in an order in which each comes after those that it calls.

    >>> callees_first({"a": ["b", "elsewhere"], "b": [], "c": ["a"]})
    ['b', 'a', 'c']
    """
    ordered: dict[str, None] = {}
    open_: set[str] = set()

    def visit(name: str) -> None:
        if name in calls and name not in ordered and name not in open_:
            open_.add(name)
            for called in sorted(calls[name]):
                visit(called)
            ordered[name] = None

    for name in calls:
        visit(name)
    return list(ordered)


def called_by(specs: Sequence[WorkflowSpec]) -> frozenset[str]:
    """Returns the full names of the workflows that these call, but for these themselves."""
    called = {task.body.ref for spec in specs for task in spec.tasks if task.body.kind == "workflow"}
    return frozenset(called - {spec.full_name for spec in specs[1:]})


class Attempted(msgspec.Struct, frozen=True):
    """The outcome of compiling a text."""

    workflows: tuple[AnyWorkflow, ...] = ()
    """The main one first; empty if there are errors."""
    findings: tuple[Finding, ...] = ()
    called: frozenset[str] = frozenset()
    """Full names of the workflows that it calls."""
