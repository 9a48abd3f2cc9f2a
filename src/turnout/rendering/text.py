"""Renders the graph of a workflow as plain text: one line for each task, box-drawing characters for dependencies."""

from __future__ import annotations

from graphlib import TopologicalSorter

from turnout.model.spec import WorkflowSpec


def text_diagram(spec: WorkflowSpec) -> str:
    """Returns the tasks in topological order. A line leads from each task to the tasks that depend on it.
    A mapped task is shown as ``name[…]``. Hooks have no dependencies and are listed below.

    >>> from turnout.model.spec import Body, TaskSpec
    >>> body = Body("python", "m:f")
    >>> a, b = TaskSpec("a", body), TaskSpec("b", body, depends_on=("a",))
    >>> print(text_diagram(WorkflowSpec("two", (a, b, TaskSpec("c", body, depends_on=("a", "b"))))))
    a ──┐
    b ◄─┤─┐
    c ◄─┘─┘
    """
    hooks = [task.name for task in spec.tasks if task.hook is not None]
    depends_on = {task.name: task.depends_on for task in spec.tasks if task.hook is None}
    labels = {task.name: task.name if task.map is None else f"{task.name}[…]" for task in spec.tasks}
    order = list(TopologicalSorter(depends_on).static_order())
    row_of = {name: row for row, name in enumerate(order)}
    last = {name: max((row_of[t] for t, deps in depends_on.items() if name in deps), default=-1) for name in order}
    columns = [name for name in order if last[name] >= 0]
    width = max(len(labels[name]) for name in order)
    lines = [
        f"{labels[name]:<{width}} {_edges(name, row, depends_on[name], columns, row_of, last)}".rstrip()
        for row, name in enumerate(order)
    ]
    return "\n".join([*lines, "", *hooks] if hooks else lines)


def _edges(
    name: str, row: int, deps: tuple[str, ...], columns: list[str], row_of: dict[str, int], last: dict[str, int]
) -> str:
    touched = [at for at, column in enumerate(columns) if column == name or column in deps]
    right = touched[-1] if touched else -1
    text = ("◄─" if deps else "──") if touched else "  "
    for at, column in enumerate(columns):
        crosses = row_of[column] < row < last[column]
        if column == name:
            mark = "┐"
        elif column in deps:
            mark = "┘" if last[column] == row else "┤"
        elif at < right:
            mark = "┼" if crosses else "─"
        else:
            mark = "│" if crosses else " "
        text += mark + ("─" if at < right else " ")
    return text
