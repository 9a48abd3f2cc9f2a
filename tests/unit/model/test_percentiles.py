"""Percentiles of durations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.percentiles import Spread, percentile, spread


def test_percentiles_lie_between_the_nearest_two_values() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([0.0, 10.0], 0.95) == 9.5


def test_without_values_there_are_no_percentiles() -> None:
    assert spread([]) == Spread(count=0)
    assert spread([]).p50 is None


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_percentiles_are_within_the_values_and_ascend(values: list[float]) -> None:
    found = spread(values)
    assert found.count == len(values)
    assert found.p50 is not None and found.p95 is not None
    assert min(values) <= found.p50 <= found.p95 + 1e-6 <= max(values) + 2e-6
