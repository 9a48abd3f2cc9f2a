"""Bands in the charts of the benchmarks: where a workload misses its bar."""

from __future__ import annotations

import pytest

from benchmarks.plot import Chart, Line, Panel, stretches


@pytest.mark.parametrize(
    ("missed", "found"),
    [
        ((False, False, False), []),
        ((False, False, True), [(2.0, 4.0)]),
        ((False, True, True), [(1.0, 4.0)]),
        ((False, True, False), [(1.0, 2.0)]),
    ],
)
def test_a_band_begins_at_the_last_point_before_one_that_is_marked(
    missed: tuple[bool, ...], found: list[tuple[float, float]]
) -> None:
    points = list(zip((1.0, 2.0, 4.0), missed, strict=True))
    assert stretches(points, "below") == [(start, end, "below") for start, end in found]


def test_a_band_of_a_panel_is_drawn_and_named_in_that_panel_only() -> None:
    line = Line("measured", [(1.0, 1.0), (2.0, 1.0)])
    panels = [Panel("first", [line]), Panel("second", [line], bands=[(1.0, 2.0, "below")])]
    drawn = Chart("title", "x", panels).svg()
    assert drawn.count(">below<") == 1 and drawn.index(">first<") < drawn.index(">below<") < drawn.index(">second<")
