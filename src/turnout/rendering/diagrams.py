"""Renders the graph of a workflow for Mermaid and Graphviz, coloured by the states of a run where given."""

from __future__ import annotations

import json
from collections.abc import Mapping

from turnout.model.spec import WorkflowSpec
from turnout.model.states import TaskState

FILLS: Mapping[TaskState, tuple[str, str]] = {
    TaskState.PENDING: ("#f4f4f5", "#a1a1aa"),
    TaskState.READY: ("#fef3c7", "#d97706"),
    TaskState.RUNNING: ("#dbeafe", "#2563eb"),
    TaskState.COMPLETED: ("#dcfce7", "#16a34a"),
    TaskState.FAILED: ("#fee2e2", "#dc2626"),
    TaskState.SKIPPED: ("#fafafa", "#d4d4d8"),
    TaskState.CANCELLED: ("#fae8ff", "#a21caf"),
}
"""The fill and the outline of a task in each state."""

States = Mapping[str, TaskState]


def edges(spec: WorkflowSpec) -> list[tuple[str, str]]:
    """Returns the dependencies as pairs (before, after)."""
    known = {task.name for task in spec.tasks}
    return [(before, task.name) for task in spec.tasks for before in task.depends_on if before in known]


def mermaid(spec: WorkflowSpec, states: States | None = None) -> str:
    """Returns a Mermaid flowchart.

    >>> from turnout.model.spec import Body, TaskSpec
    >>> body = Body("python", "m:f")
    >>> print(mermaid(WorkflowSpec("two", (TaskSpec("a", body), TaskSpec("b", body, depends_on=("a",))))))
    flowchart LR
        t0["a"]
        t1["b"]
        t0 --> t1
    """
    ids = {task.name: f"t{number}" for number, task in enumerate(spec.tasks)}
    lines = ["flowchart LR"]
    for name, id in ids.items():
        state = (states or {}).get(name)
        lines.append(f'    {id}["{_escaped(name)}"]' + (f":::{state}" if state else ""))
    lines += [f"    {ids[before]} --> {ids[after]}" for before, after in edges(spec)]
    for state in sorted(set((states or {}).values())):
        fill, stroke = FILLS[state]
        lines.append(f"    classDef {state} fill:{fill},stroke:{stroke},color:#18181b")
    return "\n".join(lines)


def _escaped(name: str) -> str:
    return name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def dot(spec: WorkflowSpec, states: States | None = None) -> str:
    """Returns a graph in the DOT language of Graphviz."""
    lines = [f"digraph {json.dumps(spec.name)} {{", "    rankdir=LR;", '    node [shape=box, style="rounded,filled"];']
    for task in spec.tasks:
        fill, stroke = FILLS[(states or {}).get(task.name, TaskState.PENDING)]
        lines.append(f'    {json.dumps(task.name)} [fillcolor="{fill}", color="{stroke}"];')
    lines += [f"    {json.dumps(before)} -> {json.dumps(after)};" for before, after in edges(spec)]
    return "\n".join([*lines, "}"])
