"""Runs that wait for one another's limits in a circle, and those that only seem to."""

from __future__ import annotations

from turnout.model.limit_deadlocks import LimitSlots, NestedWaiter, find_deadlocks


def waiter(run_id: str, needs: str, parent: str, holds: str, slot: str | None = None) -> NestedWaiter:
    return NestedWaiter(run_id, -1, frozenset({needs}), {holds: {slot or parent}}, frozenset({parent}))


def keyed(*waiters: NestedWaiter) -> dict[tuple[str, int], NestedWaiter]:
    return {each.key: each for each in waiters}


ONE = waiter("one", "b", "A", "a")
TWO = waiter("two", "a", "B", "b")


def slots(at_most: int | None, *users: str) -> LimitSlots:
    return LimitSlots(at_most, {each: {each} for each in users})


def test_two_families_that_wait_for_one_another_are_found_with_the_runs_that_hold_the_slots() -> None:
    found = find_deadlocks(keyed(ONE, TWO), {"a": slots(1, "A"), "b": slots(1, "B")})
    assert found.limits == {"a": {"A"}, "b": {"B"}}
    assert found.waiters == {("one", -1): {"b": {"B"}}, ("two", -1): {"a": {"A"}}}
    assert found.sentence() == (
        "runs wait in a circle for the limits a, b, whose slots they hold themselves, and none of them ends: "
        "cancel one of A, B"
    )


def test_a_circle_of_three_is_found() -> None:
    three = [waiter("1", "b", "A", "a"), waiter("2", "c", "B", "b"), waiter("3", "a", "C", "c")]
    found = find_deadlocks(keyed(*three), {"a": slots(1, "A"), "b": slots(1, "B"), "c": slots(1, "C")})
    assert set(found.limits) == {"a", "b", "c"}


def test_one_slot_more_that_ends_by_itself_resolves_the_circle() -> None:
    found = find_deadlocks(keyed(ONE, TWO), {"a": slots(1, "A"), "b": slots(2, "B", "other")})
    assert not found.limits and not found.waiters


def test_what_waits_behind_a_circle_waits_for_ever_as_well() -> None:
    behind = waiter("third", "a", "C", "c")
    found = find_deadlocks(
        keyed(ONE, TWO, behind), {"a": slots(1, "A"), "b": slots(1, "B"), "c": slots(2, "C", "other")}
    )
    assert found.waiters["third", -1] == {"a": {"A"}} and set(found.limits) == {"a", "b"}


def test_a_slot_of_the_own_parents_is_shared_and_blocks_nothing() -> None:
    shared = waiter("child", "a", "A", "a")
    assert not find_deadlocks(keyed(shared), {"a": slots(1, "A")}).waiters


def test_a_shared_slot_whose_other_user_never_ends_blocks() -> None:
    """A child of A uses the slot of A, and waits below for b, whose holder waits for a."""
    brother = NestedWaiter("below", -1, frozenset({"b"}), {"a": {"A"}}, frozenset({"A", "user"}))
    waits = waiter("child", "a", "A", "a")
    limits = {"a": LimitSlots(1, {"A": {"A", "user"}}), "b": slots(1, "B")}
    found = find_deadlocks(keyed(brother, waits, TWO), limits)
    assert set(found.waiters) == {("below", -1), ("child", -1), ("two", -1)}
    assert not find_deadlocks(keyed(brother, waits), limits).waiters


def test_a_rate_and_a_limit_without_waiters_are_no_deadlock() -> None:
    assert not find_deadlocks(keyed(ONE, TWO), {"a": slots(None, "A"), "b": slots(1, "B")}).limits
    assert not find_deadlocks({}, {"a": slots(1, "A")}).limits
