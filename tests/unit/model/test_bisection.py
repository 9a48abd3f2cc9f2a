"""Batches that fail are halved down to the items at fault."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.bisection import bisect_failing


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_every_item_at_fault_is_alone_and_the_order_stays(faults: list[bool]) -> None:
    items = list(enumerate(faults))
    parts = list(bisect_failing(items, lambda part: any(fault for _, fault in part), lambda failed: failed))
    assert [item for part, _ in parts for item in part] == items
    assert all(failed == any(fault for _, fault in part) for part, failed in parts)
    assert all(len(part) == 1 for part, failed in parts if failed)


def test_a_part_is_attempted_only_when_it_is_asked_for() -> None:
    attempted: list[Sequence[int]] = []

    def attempt(part: Sequence[int]) -> bool:
        attempted.append(part)
        return 3 in part

    parts = bisect_failing([1, 2, 3, 4], attempt, bool)
    assert next(parts) == ([1, 2], False)
    assert attempted == [[1, 2, 3, 4], [1, 2]]
