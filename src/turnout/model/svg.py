"""What does a workflow look like as a picture? A small SVG, with states and colours if it is a run's."""

from __future__ import annotations

from html import escape
from itertools import pairwise

import msgspec

from turnout.model.diagrams import FILLS, States
from turnout.model.layered import Layout, Place, layout
from turnout.model.spec import WorkflowSpec
from turnout.model.states import TaskState

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
    """Boxes, and lines as lists of points: level inside of columns, bent in the gaps between them."""

    width: float
    height: float
    boxes: list[Box]
    lines: list[list[tuple[float, float]]]


def drawing(spec: WorkflowSpec) -> Drawing:
    """Coordinates for a workflow's tasks and for what they wait for."""
    names = {task.name for task in spec.tasks}
    placed = layout({task.name: [each for each in task.depends_on if each in names] for task in spec.tasks})
    widths = [_width(placed, column) for column in range(placed.columns)]
    lefts = [MARGIN + sum(widths[:column]) + GAP * column for column in range(placed.columns)]

    def top(place: Place) -> float:
        return MARGIN + place.row * ROW_HEIGHT

    boxes = [Box(name, lefts[at.column], top(at), _text_width(name)) for name, at in placed.tasks.items()]
    by_name = {box.name: box for box in boxes}
    lines: list[list[tuple[float, float]]] = []
    for (before, _), places in placed.lines.items():
        start, end = by_name[before], places[-1]
        points = [
            (start.x + start.width, start.middle),
            (lefts[places[0].column] + widths[places[0].column], start.middle),
        ]
        for place in places[1:-1]:
            level = top(place) + BOX_HEIGHT / 2
            points += [(lefts[place.column], level), (lefts[place.column] + widths[place.column], level)]
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
    """The workflow as an SVG document."""
    drawn = drawing(spec)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawn.width:g}" height="{drawn.height:g}" '
        f'viewBox="0 0 {drawn.width:g} {drawn.height:g}" font-family="ui-monospace, Menlo, monospace" font-size="12">',
        f"<title>{escape(spec.name)}</title>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#71717a"/></marker></defs>',
        f'<rect width="{drawn.width:g}" height="{drawn.height:g}" fill="#ffffff"/>',
    ]
    for points in drawn.lines:
        parts.append(f'<path d="{_path(points)}" fill="none" stroke="#71717a" marker-end="url(#arrow)"/>')
    for box in drawn.boxes:
        parts.append(_box(box, (states or {}).get(box.name)))
    return "\n".join([*parts, "</svg>", ""])


def _path(points: list[tuple[float, float]]) -> str:
    """Level pieces inside columns, curves in the gaps between them."""
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
