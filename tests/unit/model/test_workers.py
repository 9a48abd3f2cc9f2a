"""What hubs say of workers: a bounded list, sums that lose nothing, and who can run what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.figures import combine
from turnout.model.workers import LISTED, OTHERS, HubStatus, WorkerFacts, WorkerFigures, listed

FIGURES = st.builds(
    WorkerFigures,
    id=st.uuids().map(str),
    name=st.sampled_from(["a", "b", "c", ""]),
    credits=st.integers(0, 100),
    in_flight=st.integers(0, 100),
    ended=st.dictionaries(st.sampled_from(["completed", "failed", "lost", "crashed"]), st.integers(1, 1000)),
    breaker=st.sampled_from(["closed", "half_open", "open"]),
    draining=st.booleans(),
)


@given(st.lists(FIGURES, max_size=20, unique_by=lambda one: one.id))
def test_by_name_nothing_is_counted_twice_or_left_out(figures: list[WorkerFigures]) -> None:
    named = HubStatus(listed=tuple(figures)).by_name
    assert sum(one.in_flight for one in named.values()) == sum(one.in_flight for one in figures)
    assert sum(one.executed for one in named.values()) == sum(one.executed for one in figures)
    assert sum(one.lost for one in named.values()) == sum(one.lost for one in figures)
    assert any(one.breaker == "open" for one in named.values()) is any(one.breaker == "open" for one in figures)


@given(st.integers(0, 3 * LISTED), st.data())
def test_a_long_list_is_cut_and_what_needs_a_look_stays(count: int, data: st.DataObject) -> None:
    ill = data.draw(st.sets(st.integers(0, max(0, count - 1)), max_size=min(count, 5)))
    figures = [
        WorkerFigures(id=str(n), name=f"w{n:04}", in_flight=1, breaker="open" if n in ill else "closed")
        for n in range(count)
    ]
    some, others = listed(figures)
    assert len(some) == min(count, LISTED)
    assert len(some) + (0 if others is None else others.in_flight) == count
    assert {one.id for one in figures if one.breaker == "open"} <= {one.id for one in some}
    assert (others is None) is (count <= LISTED)
    assert others is None or others.name == OTHERS


def test_a_worker_has_executed_what_began_and_failed_what_went_wrong() -> None:
    ended = {"completed": 5, "failed": 3, "timed_out": 1, "crashed": 1, "deferred": 2, "lost": 4, "returned": 7}
    one = WorkerFigures(id="w", ended=ended)
    assert (one.executed, one.failed, one.lost) == (12, 5, 4)
    two = combine([one, one])
    assert (two.executed, two.failed, two.lost) == (24, 10, 8)


def test_a_worker_matches_if_it_has_the_handler_and_every_label_with_its_value() -> None:
    gpu = WorkerFacts(labels={"gpu": "true", "zone": "a"}, handlers=("train",))
    assert gpu.matches("train", {"gpu": "true"}) and gpu.matches("train", {})
    assert not gpu.matches("train", {"gpu": "false"})
    assert not gpu.matches("train", {"gpu": "true", "rack": "1"})
    assert not gpu.matches("ship", {"gpu": "true"})
    assert WorkerFacts(handlers=("*",)).matches("anything", {})
