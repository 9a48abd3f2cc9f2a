"""Workflows as pictures: everything is in them, and no line runs through a box."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.spec import Body, TaskSpec, WorkflowSpec
from turnout.model.states import TaskState
from turnout.rendering.diagrams import dot, edges, mermaid
from turnout.rendering.layout import layout
from turnout.rendering.svg import BOX_HEIGHT, Box, draw, svg

BODY = Body("python", "m:f")


@st.composite
def workflows(choose: st.DrawFn) -> WorkflowSpec:
    """Acyclic graphs of up to a dozen tasks with names of all lengths."""
    size = choose(st.integers(1, 12))
    names = [f"t{number}" + "x" * choose(st.integers(0, 20)) for number in range(size)]
    tasks = [
        TaskSpec(name, BODY, depends_on=tuple(choose(st.lists(st.sampled_from(names[:at]), unique=True))) if at else ())
        for at, name in enumerate(names)
    ]
    return WorkflowSpec("drawn", tuple(tasks))


DIAMOND = WorkflowSpec(
    "diamond",
    tuple(TaskSpec(name, BODY, depends_on=tuple(on)) for name, on in {"a": "", "b": "a", "c": "a", "d": "abc"}.items()),
)


@given(workflows())
def test_every_task_is_right_of_its_dependencies_and_positions_are_unique(spec: WorkflowSpec) -> None:
    placed = layout({task.name: task.depends_on for task in spec.tasks})
    for before, after in edges(spec):
        assert placed.tasks[before].column < placed.tasks[after].column
    taken = [(place.column, place.row) for place in placed.tasks.values()]
    taken += [(place.column, place.row) for line in placed.lines.values() for place in line[1:-1]]
    assert len(taken) == len(set(taken))
    assert set(placed.lines) == set(edges(spec))


@given(workflows())
def test_no_line_runs_through_a_box(spec: WorkflowSpec) -> None:
    drawing = draw(spec)
    for points in drawing.lines:
        for start, end in pairwise(points):
            for box in drawing.boxes:
                assert not touches(box, start, end), (box, start, end)


def touches(box: Box, start: tuple[float, float], end: tuple[float, float]) -> bool:
    """Whether a piece of a line enters a box. A bent piece stays within the rectangle between its ends."""
    left, right = sorted((start[0], end[0]))
    top, bottom = sorted((start[1], end[1]))
    return left < box.x + box.width and right > box.x and top < box.y + BOX_HEIGHT and bottom > box.y


@given(workflows())
def test_an_svg_holds_every_task_and_line_within_its_bounds(spec: WorkflowSpec) -> None:
    root = ElementTree.fromstring(svg(spec, {task.name: TaskState.FAILED for task in spec.tasks}))
    space = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in root.iter(f"{space}text")] == [task.name for task in spec.tasks]
    assert len([path for path in root.iter(f"{space}path") if path.get("marker-end")]) == len(edges(spec))
    drawing = draw(spec)
    for box in drawing.boxes:
        assert box.x >= 0 and box.x + box.width <= drawing.width
        assert box.y >= 0 and box.y + BOX_HEIGHT <= drawing.height


def test_names_are_escaped() -> None:
    spec = WorkflowSpec("a<b", (TaskSpec('x"<&>', BODY),))
    assert ElementTree.fromstring(svg(spec)) is not None
    assert '["x&quot;&lt;&amp;&gt;"]' in mermaid(spec)
    assert '"x\\"<&>"' in dot(spec)


def test_states_are_drawn_where_they_are_known() -> None:
    states = {"a": TaskState.COMPLETED, "b": TaskState.FAILED, "c": TaskState.COMPLETED, "d": TaskState.PENDING}
    assert 't1["b"]:::failed' in mermaid(DIAMOND, states) and "classDef failed" in mermaid(DIAMOND, states)
    assert "classDef" not in mermaid(DIAMOND)
    assert '"b" [fillcolor="#fee2e2"' in dot(DIAMOND, states)
    assert "b: failed" in svg(DIAMOND, states) and "failed" not in svg(DIAMOND)
    assert dot(DIAMOND).count("->") == 5
