"""Lays out a graph in layers, in which no line crosses a box.

Each task is in a column to the right of its dependencies. A line that passes intermediate columns occupies a position
of its own in each of them, like a task, so it runs beside the boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise

import msgspec

SWEEPS = 6
"""Passes that improve the order within columns, forwards and backwards in turn."""
MAX_PASSAGES = 20_000
"""Positions of lines in intermediate columns. A graph with more of them gets straight lines, which may cross boxes."""


class GridPosition(msgspec.Struct, frozen=True):
    """The column and row of a task or of a passing line. The rows of a column are one apart."""

    column: int
    row: float


class Layout(msgspec.Struct, frozen=True):
    tasks: dict[str, GridPosition]
    lines: dict[tuple[str, str], list[GridPosition]]
    """For each dependency, the positions of its line: both ends, and, unless it is straight, one in every column in
    between."""
    columns: int
    rows: int


class _Node(msgspec.Struct, eq=False):
    column: int
    name: str | None
    before: list[_Node] = []
    after: list[_Node] = []
    row: float = 0.0


def layout(depends_on: Mapping[str, Sequence[str]]) -> Layout:
    """Returns positions for the tasks of an acyclic graph and for the lines between them."""
    depth = _depths(depends_on)
    nodes = {name: _Node(depth[name], name) for name in depends_on}
    columns: list[list[_Node]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node in nodes.values():
        columns[node.column].append(node)
    passages: dict[tuple[str, str], list[_Node]] = {}
    straight = sum(depth[name] - depth[each] - 1 for name in depends_on for each in depends_on[name]) > MAX_PASSAGES
    for name, befores in depends_on.items():
        for before in dict.fromkeys(befores):
            line = [nodes[before]]
            for column in () if straight else range(depth[before] + 1, depth[name]):
                passage = _Node(column, None)
                columns[column].append(passage)
                line.append(passage)
            line.append(nodes[name])
            for one, next_ in pairwise(line):
                one.after.append(next_)
                next_.before.append(one)
            passages[before, name] = line
    _order(columns)
    return Layout(
        {name: GridPosition(node.column, node.row) for name, node in nodes.items()},
        {ends: [GridPosition(node.column, node.row) for node in line] for ends, line in passages.items()},
        len(columns),
        max((len(column) for column in columns), default=0),
    )


def _depths(depends_on: Mapping[str, Sequence[str]]) -> dict[str, int]:
    depth: dict[str, int] = {}
    for name in TopologicalSorter(depends_on).static_order():
        depth[name] = 1 + max((depth[each] for each in depends_on[name]), default=-1)
    return depth


def _order(columns: Sequence[list[_Node]]) -> None:
    """Assigns each node a row near its neighbours, so that few lines cross."""
    tallest = max((len(column) for column in columns), default=0)
    for column in columns:
        _number(column, tallest)
    for sweep in range(SWEEPS):
        forwards = sweep % 2 == 0
        for column in columns if forwards else reversed(columns):
            column.sort(key=lambda node: _middle(node.before if forwards else node.after, node.row))
            _number(column, tallest)


def _number(column: Sequence[_Node], tallest: int) -> None:
    """Numbers the rows of a column so that it is centred in the drawing."""
    for number, node in enumerate(column):
        node.row = number + (tallest - len(column)) / 2


def _middle(neighbours: Sequence[_Node], own: float) -> float:
    return sum(node.row for node in neighbours) / len(neighbours) if neighbours else own
