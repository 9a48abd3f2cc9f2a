"""The queue of attempts that have not begun: highest rank first, in order of arrival within a rank."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.runtime.priority_queue import MAX_EMPTY_QUEUES, PriorityQueue

Item = tuple[int, int, int]


def queue(*items: Item) -> PriorityQueue[Item]:
    made: PriorityQueue[Item] = PriorityQueue(lambda item: item[:2])
    made.extend(items)
    return made


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3))))
def test_items_come_by_rank_and_then_by_arrival(ranks: list[tuple[int, int]]) -> None:
    items = [(*rank, number) for number, rank in enumerate(ranks)]
    assert queue(*items).drain() == sorted(items, key=lambda item: (-item[0], -item[1], item[2]))


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3))), st.sets(st.integers(0, 20)))
def test_what_is_removed_does_not_come_and_the_order_stays(ranks: list[tuple[int, int]], gone: set[int]) -> None:
    items = [(*rank, number) for number, rank in enumerate(ranks)]
    made = queue(*items)
    made.remove([item for item in items if item[2] in gone])
    assert len(made) == sum(item[2] not in gone for item in items)
    assert made.drain() == [item for item in queue(*items).drain() if item[2] not in gone]


def test_an_empty_queue_says_so() -> None:
    made = queue()
    assert not made and len(made) == 0
    with pytest.raises(IndexError):
        made.popleft()


def test_ranks_that_are_not_in_use_are_forgotten() -> None:
    made = queue()
    for rank in range(10 * MAX_EMPTY_QUEUES):
        made.extend([(rank, 0, 0)])
        assert made.popleft() == (rank, 0, 0)
    assert len(made._queues) <= MAX_EMPTY_QUEUES + 2


def test_nothing_is_lost_or_taken_twice_by_many_threads() -> None:
    made = queue()
    taken: list[Item] = []

    def take() -> None:
        while len(taken) < 8_000:
            try:
                taken.append(made.popleft())
            except IndexError:
                continue

    takers = [threading.Thread(target=take) for _ in range(4)]
    for thread in takers:
        thread.start()
    for number in range(8_000):
        made.extend([(number % 200, 0, number)])
    for thread in takers:
        thread.join()
    assert sorted(item[2] for item in taken) == list(range(8_000))
