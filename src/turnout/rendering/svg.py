"""Renders the graph of a workflow as an SVG document, coloured by the states of a run where given."""

from __future__ import annotations

from html import escape
from itertools import pairwise

import msgspec

from turnout.model.spec import WorkflowSpec
from turnout.model.states import TaskState
from turnout.rendering.diagrams import FILLS, States
from turnout.rendering.layout import GridPosition, Layout, layout

BOX_HEIGHT, ROW_HEIGHT, GAP, MARGIN = 32, 48, 56, 16
CHARACTER, PADDING = 7.5, 24


class Box(msgspec.Struct, frozen=True):
    """A task's rectangle."""

    name: str
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.y + BOX_HEIGHT / 2


class Drawing(msgspec.Struct, frozen=True):
    """Boxes, and lines as lists of points: horizontal inside of columns, bent in the gaps between them."""

    width: float
    height: float
    boxes: list[Box]
    lines: list[list[tuple[float, float]]]


def draw(spec: WorkflowSpec) -> Drawing:
    """Returns the coordinates of a workflow's tasks and of the lines between them."""
    names = {task.name for task in spec.tasks}
    placed = layout({task.name: [each for each in task.depends_on if each in names] for task in spec.tasks})
    widths = [_width(placed, column) for column in range(placed.columns)]
    lefts = [MARGIN + sum(widths[:column]) + GAP * column for column in range(placed.columns)]

    def top(position: GridPosition) -> float:
        return MARGIN + position.row * ROW_HEIGHT

    boxes = [Box(name, lefts[at.column], top(at), _text_width(name)) for name, at in placed.tasks.items()]
    by_name = {box.name: box for box in boxes}
    lines: list[list[tuple[float, float]]] = []
    for (before, _), positions in placed.lines.items():
        start, end = by_name[before], positions[-1]
        points = [
            (start.x + start.width, start.middle),
            (lefts[positions[0].column] + widths[positions[0].column], start.middle),
        ]
        for position in positions[1:-1]:
            level, left = top(position) + BOX_HEIGHT / 2, lefts[position.column]
            points += [(left, level), (left + widths[position.column], level)]
        points.append((lefts[end.column], top(end) + BOX_HEIGHT / 2))
        lines.append(points)
    width = MARGIN * 2 + sum(widths) + GAP * max(placed.columns - 1, 0)
    height = MARGIN * 2 + max(placed.rows - 1, 0) * ROW_HEIGHT + BOX_HEIGHT
    return Drawing(width, height, boxes, lines)


def _width(placed: Layout, column: int) -> float:
    return max((_text_width(name) for name, at in placed.tasks.items() if at.column == column), default=0.0)


def _text_width(name: str) -> float:
    return len(name) * CHARACTER + PADDING


def svg(spec: WorkflowSpec, states: States | None = None) -> str:
    """Returns the workflow as an SVG document."""
    drawing = draw(spec)
    width, height = drawing.width, drawing.height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="ui-monospace, Menlo, monospace" font-size="12">',
        f"<title>{escape(spec.name)}</title>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#71717a"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
    ]
    for points in drawing.lines:
        parts.append(f'<path d="{_path(points)}" fill="none" stroke="#71717a" marker-end="url(#arrow)"/>')
    for box in drawing.boxes:
        parts.append(_box(box, (states or {}).get(box.name)))
    return "\n".join([*parts, "</svg>", ""])


def _path(points: list[tuple[float, float]]) -> str:
    """Returns the path of a line: straight inside columns, curved in the gaps between them."""
    path = f"M{points[0][0]:g},{points[0][1]:g}"
    for (x1, y1), (x2, y2) in pairwise(points):
        bend = (x1 + x2) / 2
        path += f" L{x2:g},{y2:g}" if y1 == y2 else f" C{bend:g},{y1:g} {bend:g},{y2:g} {x2:g},{y2:g}"
    return path


def _box(box: Box, state: TaskState | None) -> str:
    fill, stroke = FILLS[state or TaskState.PENDING]
    title = f"<title>{escape(box.name)}: {state}</title>" if state else ""
    return (
        f'<g>{title}<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{BOX_HEIGHT}" rx="6" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
        f'<text x="{box.x + box.width / 2:g}" y="{box.middle + 4:g}" text-anchor="middle" fill="#18181b">'
        f"{escape(box.name)}</text></g>"
    )
