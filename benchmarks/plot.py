"""Draws line charts as SVG: panels above one another that share their x axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800, 74, 200, 44, 46
BETWEEN = 26
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""A palette that is distinct for people with red-green colour blindness."""
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
"""One per line, so that lines on top of one another stay distinct."""

Points = Sequence[tuple[float, float]]
Band = tuple[float, float, str]
"""Where it begins and ends, and its name."""


@dataclass
class Line:
    name: str
    points: Points
    stepped: bool = False
    """A value that holds until the next one, as a count does."""
    marked: bool = False


@dataclass
class Panel:
    label: str
    """What the y axis shows, with its unit."""
    lines: list[Line]
    top: float | None = None
    """Where the y axis ends, if not with the largest value."""
    bands: list[Band] = field(default_factory=list)
    """Stretches of the x axis that have a name in this panel."""


@dataclass
class Chart:
    title: str
    label: str
    """What the x axis shows, with its unit."""
    panels: list[Panel]
    bands: list[Band] = field(default_factory=list)
    """Stretches of the x axis with a name, in all panels."""
    ticks: list[float] | None = None
    panel: int = 150
    """How high each panel is."""

    def svg(self) -> str:
        height = TOP + len(self.panels) * self.panel + (len(self.panels) - 1) * BETWEEN + BOTTOM
        xs = [x for panel in self.panels for line in panel.lines for x, _ in line.points]
        across = Axis(min(0.0, *xs), max(xs), LEFT, WIDTH - RIGHT)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
            f' font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" fill="#333">',
            f"<title>{escape(self.title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            _text(LEFT, 22, self.title, size=15, weight="bold"),
        ]
        for number, panel in enumerate(self.panels):
            top = TOP + number * (self.panel + BETWEEN)
            parts += self._panel(panel, across, top, named_bands=number == 0)
        bottom = height - BOTTOM
        for tick in self.ticks or ticks(across.low, across.high, 10):
            parts.append(_text(across.at(tick), bottom + 17, f"{tick:g}", anchor="middle"))
        parts.append(_text((LEFT + WIDTH - RIGHT) / 2, bottom + 36, self.label, anchor="middle"))
        return "\n".join([*parts, "</svg>", ""])

    def _panel(self, panel: Panel, across: Axis, top: float, *, named_bands: bool) -> list[str]:
        bottom, right = top + self.panel, WIDTH - RIGHT
        largest = max((y for line in panel.lines for _, y in line.points), default=0.0)
        marks = ticks(0.0, panel.top or largest or 1.0, 4)
        if panel.top is None and marks[-1] < largest:
            marks.append(marks[-1] + marks[1])
        upwards = Axis(0.0, panel.top or marks[-1], bottom, top)
        parts: list[str] = []
        for start, end, name in (*self.bands, *panel.bands):
            left, wide = across.at(start), across.at(end) - across.at(start)
            parts.append(f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{self.panel}" fill="#f1f1f1"/>')
            if named_bands or panel.bands:
                parts.append(_text(left + wide / 2, top - 4, name, anchor="middle", size=11, fill="#777"))
        for mark in marks:
            y = upwards.at(mark)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>')
            parts.append(_text(LEFT - 8, y + 4, f"{mark:,g}", anchor="end"))
        parts.append(f'<path d="M{LEFT} {top}V{bottom}H{right}" stroke="#333" fill="none"/>')
        parts.append(
            _text(0, 0, panel.label, anchor="middle", place=f"translate(18 {top + self.panel / 2}) rotate(-90)")
        )
        for number, line in enumerate(panel.lines):
            colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
            where = [(across.at(x), upwards.at(y)) for x, y in line.points]
            style = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
            parts.append(f'<path d="{_path(where, stepped=line.stepped)}" {style}/>')
            if line.marked:
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in where]
            key = top + 10 + 18 * number
            parts.append(f'<path d="M{right + 12} {key}h22" {style}/>')
            parts.append(_text(right + 40, key + 4, line.name))
        return parts


@dataclass
class Axis:
    """From values to places."""

    low: float
    high: float
    first: float
    last: float

    def at(self, value: float) -> float:
        return self.first + (value - self.low) / ((self.high - self.low) or 1.0) * (self.last - self.first)


def stretches(points: Sequence[tuple[float, bool]], name: str) -> list[Band]:
    """Returns a band for each stretch whose points are marked, from the unmarked point before it to its last one."""
    found: list[Band] = []
    for (before, _), (x, marked) in itertools.pairwise(points):
        if marked and found and found[-1][1] == before:
            found[-1] = (found[-1][0], x, name)
        elif marked:
            found.append((before, x, name))
    return found


def ticks(low: float, high: float, about: int) -> list[float]:
    """Returns round numbers from the one below ``low`` to the one that ``high`` reaches, roughly ``about`` of them."""
    raw = (high - low) / about or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw * 0.999)
    first, last = math.floor(low / step), math.floor(high / step * 1.0001)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _path(points: Points, *, stepped: bool) -> str:
    parts: list[str] = []
    for x, y in points:
        if not parts:
            parts.append(f"M{x:.1f} {y:.1f}")
        else:
            parts.append(f"H{x:.1f}V{y:.1f}" if stepped else f"L{x:.1f} {y:.1f}")
    return "".join(parts)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 12,
    weight: str = "normal",
    fill: str = "#333",
    place: str = "",
) -> str:
    moved = f' transform="{place}"' if place else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
        f' fill="{fill}"{moved}>{escape(text)}</text>'
    )
