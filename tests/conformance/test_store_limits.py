"""Slots of limits are never lost and never doubled: they count only while what holds them is open."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from tests.conformance.store_rows import OWNER, WORKFLOW, begin, claim_one, insert, new_run, update
from turnout.contracts.store import Store
from turnout.model.definitions import NewDefinition
from turnout.model.limit_declarations import LimitDeclaration
from turnout.model.limits import LimitSize, LimitUse
from turnout.model.names import new_run_id
from turnout.model.reasons import LIMIT
from turnout.model.rows import RunRow, RunWrite, TaskRow
from turnout.model.slots import AGEING_INTERVAL, RUN, SlotRequest, begin_slack
from turnout.model.states import RunState, TaskState
from turnout.store.slot_admission import MAX_EXAMINED


def use(name: str = "db", at_most: int | None = 1, rate: int | None = None, per: float = 1.0) -> LimitUse:
    return LimitUse(name, name, LimitSize(at_most, rate, per))


def queued(*limits: LimitUse, **columns: Any) -> RunWrite:
    """A new run that waits for these limits."""
    write = new_run(
        owner=None, state=RunState.PENDING, tasks=[TaskRow(pos=0, name="a", state=TaskState.PENDING)], **columns
    )
    return msgspec.structs.replace(write, limits=limits, run=RunRow(state=RunState.PENDING, reason=LIMIT))


def queue(store: Store, *limits: LimitUse, **columns: Any) -> str:
    write = queued(*limits, **columns)
    insert(store, write)
    return write.run_id


def end(store: Store, run_id: str) -> None:
    """Claims a run and ends it."""
    loaded = claim_one(store, OWNER, run_id, 1000)
    assert loaded is not None
    moved = RunRow(state=RunState.CANCELLED, was=RunState.RUNNING)
    task = TaskRow(pos=0, state=TaskState.CANCELLED, was=TaskState.PENDING, seq=90)
    assert store.commit([update(run_id, task, epoch=loaded.run.epoch, run=moved)])[0].applied


def granted(store: Store, *names: str) -> list[str]:
    return [run_id for run_id, _ in store.admit_waiting(names or None).granted]


def test_a_run_that_waits_for_a_limit_is_not_claimed_until_it_has_its_slot(store: Store) -> None:
    begin(store)
    run = queue(store, use())
    assert store.claim_runs(OWNER, [WORKFLOW], 10, 1000) == []
    seen = store.glance(OWNER)
    assert seen.limited and not seen.unowned
    assert granted(store) == [run]
    seen = store.glance(OWNER)
    assert seen.unowned and not seen.limited
    (loaded,) = store.claim_runs(OWNER, [WORKFLOW], 10, 1000)
    assert (loaded.run.new.run_id, loaded.run.row.state, loaded.run.row.reason) == (run, RunState.RUNNING, None)


def test_a_waiting_run_is_among_the_open_runs(store: Store) -> None:
    begin(store)
    run = queue(store, use())
    assert [each.new.run_id for each in store.open_runs(10)] == [run]
    assert store.waiting()["runs"] == {"pending": {"owned": 0, "unowned": 1}} and store.waiting()["queued"] == 1
    found = store.run(run)
    assert found is not None and (found.row.state, found.row.reason) == (RunState.PENDING, LIMIT)


def test_no_more_hold_a_slot_than_the_limit_has_and_an_end_frees_one(store: Store) -> None:
    begin(store)
    runs = [queue(store, use(at_most=2)) for _ in range(5)]
    assert granted(store) == runs[:2]
    assert granted(store) == []
    end(store, runs[0])
    assert granted(store, "db") == [runs[2]]
    assert granted(store, "db") == []


def test_a_slot_outlives_the_owner_of_its_run(store: Store) -> None:
    begin(store)
    first, second = queue(store, use()), queue(store, use())
    assert granted(store) == [first]
    assert claim_one(store, OWNER, first, 1000)
    store.end_session(OWNER)
    assert granted(store) == []
    begin(store, "next")
    assert [each.run.new.run_id for each in store.claim_runs("next", [WORKFLOW], 10, 1000)] == [first]
    assert granted(store) == [] and store.runs_without_slots([first, second]) == {second}


def test_a_higher_priority_goes_first_and_then_the_older(store: Store) -> None:
    begin(store)
    low, older, newer = queue(store, use()), queue(store, use(), priority=5), queue(store, use(), priority=5)
    order: list[str] = []
    for _ in range(3):
        order += granted(store)
        end(store, order[-1])
    assert order == [older, newer, low]


def test_limits_of_a_run_are_taken_all_at_once_or_not_at_all(store: Store) -> None:
    begin(store)
    one = queue(store, use("a"))
    both = queue(store, use("a"), use("b"))
    other = queue(store, use("b"))
    assert granted(store) == [one, other]
    end(store, one)
    assert granted(store, "a") == []
    assert store.limits_of(both)[0].held is False and store.limits_of(both)[1].held is False
    end(store, other)
    assert granted(store, "b") == [both]
    assert [each.held for each in store.limits_of(both)] == [True, True]


def test_many_that_give_slots_at_once_never_give_one_twice(store: Store) -> None:
    begin(store)
    for _ in range(20):
        queue(store, use(at_most=3))
    found: list[str] = []
    gate = threading.Barrier(5)

    def give() -> None:
        gate.wait()
        found.extend(granted(store))

    threads = [threading.Thread(target=give) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 3


def test_a_run_that_exists_already_gets_no_second_slots(store: Store) -> None:
    begin(store)
    write = queued(use(), key="k")
    insert(store, write)
    assert granted(store) == [write.run_id]
    again = queued(use(), key="k")
    assert store.commit([again])[0].existing == write.run_id
    assert store.commit([write])[0].existing == write.run_id
    assert (
        store.glance(OWNER).limited is False and store.runs_without_slots([write.run_id, again.run_id]) == frozenset()
    )


def test_a_run_without_limits_in_the_same_commit_is_not_queued(store: Store) -> None:
    begin(store)
    plain = new_run(owner=None, state=RunState.PENDING)
    waits = queued(use())
    insert(store, plain, waits)
    assert [each.run.new.run_id for each in store.claim_runs(OWNER, [WORKFLOW], 10, 1000)] == [plain.run_id]


def test_the_size_of_the_configuration_wins_and_takes_effect_on_what_waits(store: Store) -> None:
    begin(store)
    runs = [queue(store, use(at_most=1)) for _ in range(4)]
    assert store.put_limit_sizes({"db": LimitSize(3), "other": LimitSize(None, 5, 60.0)}) == []
    assert granted(store) == runs[:3]
    assert store.put_limit_sizes({"db": LimitSize(4)}) == ["db", "other"]
    assert granted(store) == runs[3:]
    assert [(each.name, each.at_most, each.configured, each.held) for each in store.limits()] == [("db", 4, True, 4)]


def test_of_different_declared_sizes_the_smallest_is_in_force(store: Store) -> None:
    begin(store)
    for size in (3, 1, 2):
        queue(store, use(at_most=size))
    assert len(granted(store)) == 1
    (found,) = store.limits()
    assert found.conflict and (found.at_most, found.held, found.waiting) == (1, 1, 2)


def declared(workflow: str, at_most: int, *, uploaded: bool = False) -> LimitDeclaration:
    return LimitDeclaration(
        workflow=workflow,
        declared="db",
        place=f"workflow {workflow!r}",
        size=LimitSize(at_most),
        uploaded=uploaded,
    )


def test_the_smallest_size_that_any_workflow_declares_is_in_force_before_anything_of_it_is_open(store: Store) -> None:
    begin(store)
    store.put_limit_declarations({"one": [declared("one", 1)]})
    both = store.put_limit_declarations({"three": [declared("three", 3)], "none": []})
    assert [(each.workflow, each.size.at_most) for each in both] == [("one", 1), ("three", 3)]
    (idle,) = store.limits()
    assert idle.conflict and (idle.name, idle.at_most, idle.held) == ("db", 1, 0)
    runs = [queue(store, use(at_most=3)) for _ in range(3)]
    assert granted(store) == runs[:1]
    (found,) = store.limits()
    assert found.conflict and (found.at_most, found.held, found.waiting) == (1, 1, 2)
    detail = store.limit("db")
    assert detail is not None and [each.place for each in detail.declarations] == ["workflow 'one'", "workflow 'three'"]
    store.put_limit_sizes({"db": LimitSize(2)})
    assert granted(store) == runs[1:2] and not store.limits()[0].conflict


def test_a_size_that_is_not_declared_any_more_does_not_count(store: Store) -> None:
    begin(store)
    store.put_limit_declarations({"one": [declared("one", 1)], "three": [declared("three", 3)]})
    runs = [queue(store, use(at_most=3)) for _ in range(3)]
    assert granted(store) == runs[:1]
    store.put_limit_declarations({"one": [declared("one", 2)]})
    assert granted(store) == runs[1:2]
    store.put_limit_declarations({}, ["one"])
    assert granted(store) == runs[2:] and not store.limits()[0].conflict


def test_a_changed_size_holds_at_once_for_runs_that_were_submitted_with_another(store: Store) -> None:
    begin(store)
    store.put_limit_declarations({"one": [declared("one", 1)]})
    runs = [queue(store, use(at_most=1)) for _ in range(3)]
    assert granted(store) == runs[:1]
    store.put_limit_declarations({"one": [declared("one", 2)]})
    assert granted(store) == runs[1:2]
    assert (store.limits()[0].at_most, store.limits()[0].conflict) == (2, False)


def test_an_uploaded_definition_changes_no_limit_that_others_declare(store: Store) -> None:
    begin(store)
    store.put_limit_declarations({"mine": [declared("mine", 2)], "theirs": [declared("theirs", 1, uploaded=True)]})
    runs = [queue(store, use(at_most=size)) for size in (1, 2, 2)]
    assert granted(store) == runs[:2]
    (found,) = store.limits()
    assert found.conflict and found.at_most == 2
    assert [(each.workflow, each.uploaded) for each in store.limit_declarations()] == [
        ("mine", False),
        ("theirs", True),
    ]
    store.put_limit_declarations({}, ["mine"])
    assert store.limits()[0].at_most == 1


def test_the_declarations_of_a_removed_definition_end_with_the_next_look_of_any_orchestrator(store: Store) -> None:
    begin(store)
    new = NewDefinition(
        full_name="a::b::one", kind="yaml", origin="file", text="x", spec_version="1", actor="file", file="one.yaml"
    )
    store.put_definition(new, 0)
    store.put_limit_declarations({"a::b::one": [declared("a::b::one", 1)]})
    store.remove_definition("a::b::one", 1, "file")
    assert store.put_limit_declarations({"other": [declared("other", 3)]}) == [declared("other", 3)]


def test_a_limit_shows_its_holders_and_its_waiters_with_their_positions(store: Store) -> None:
    begin(store)
    holder = queue(store, use())
    granted(store)
    low, high = queue(store, use()), queue(store, use(), priority=1)
    found = store.limit("db")
    assert found is not None and store.limit("nothing") is None
    assert [(each.run_id, each.task, each.position) for each in found.holders] == [(holder, None, None)]
    assert [(each.run_id, each.position, each.priority) for each in found.waiters] == [(high, 1, 1), (low, 2, 0)]
    assert [(each.name, each.held, each.position) for each in store.limits_of(low)] == [("db", False, 2)]
    assert [(each.name, each.held, each.position) for each in store.limits_of(holder)] == [("db", True, None)]


def test_no_more_begin_within_the_period_than_the_rate_allows(store: Store) -> None:
    begin(store)
    runs = [queue(store, use(at_most=None, rate=2, per=0.4)) for _ in range(5)]
    asked = store.clock()
    admitted = store.admit_waiting()
    # Each start is known by a time before it and one after it: starts that were admitted together leave the period
    # one after the other.
    starts = [(asked, store.clock())] * 2
    assert [run for run, _ in admitted.granted] == runs[:2]
    assert admitted.next_in is not None and 0.4 < admitted.next_in <= 0.65
    for run in runs[:2]:
        end(store, run)
    while len(starts) < len(runs):
        asked = store.clock()
        granted_now = len(store.admit_waiting().granted)
        starts += [(asked, store.clock())] * granted_now
    assert all(later[1] - earlier[0] >= 0.6 for earlier, later in zip(starts, starts[2:], strict=False))


def test_a_cancelled_run_does_not_wait_any_more(store: Store) -> None:
    begin(store)
    holder, gone, next_ = queue(store, use()), queue(store, use()), queue(store, use())
    assert granted(store) == [holder]
    end(store, gone)
    end(store, holder)
    assert granted(store) == [next_]
    assert store.limits_of(gone) == []


def test_a_run_that_is_paused_before_its_turn_lets_others_pass(store: Store) -> None:
    begin(store)
    paused, other = queue(store, use()), queue(store, use())
    loaded = claim_one(store, OWNER, paused, 1000)
    assert loaded is not None
    moved = RunRow(state=RunState.PAUSED, was=RunState.RUNNING)
    assert store.commit([update(paused, epoch=loaded.run.epoch, run=moved)])[0].applied
    assert granted(store) == [other]
    assert store.runs_without_slots([paused, other]) == {paused}


def test_slots_are_deleted_with_their_run(store: Store) -> None:
    begin(store)
    run = queue(store, use())
    granted(store)
    end(store, run)
    store.delete_runs([run], 100)
    assert store.run(run) is None and store.limits() == []


# -- tasks ------------------------------------------------------------------------------------------------------
def ready(store: Store, count: int = 1) -> list[str]:
    """Runs of the owner with a task each that is ready."""
    writes = [new_run(tasks=[TaskRow(pos=0, name="a", state=TaskState.READY, seq=2)]) for _ in range(count)]
    insert(store, *writes)
    return [write.run_id for write in writes]


def ask(run_id: str, attempt: int = 1, *limits: LimitUse) -> SlotRequest:
    return SlotRequest(run_id, limits or (use(),), pos=0, attempt=attempt)


def start(store: Store, run_id: str, attempt: int = 1) -> None:
    row = TaskRow(
        pos=0, state=TaskState.RUNNING, was=TaskState.READY, was_attempt=attempt - 1, attempt=attempt, seq=10 * attempt
    )
    assert store.commit([update(run_id, row)])[0].applied


def retry(store: Store, run_id: str, attempt: int = 1) -> None:
    row = TaskRow(
        pos=0, state=TaskState.READY, was=TaskState.RUNNING, was_attempt=attempt, attempt=attempt, seq=10 * attempt + 1
    )
    assert store.commit([update(run_id, row)])[0].applied


def test_a_task_holds_its_slot_from_before_its_start_to_the_end_of_the_attempt(store: Store) -> None:
    begin(store)
    first, second = ready(store, 2)
    assert store.request_slots([ask(first), ask(second)]).granted == [(first, 0)]
    assert list(store.granted_tasks([first, second])) == [(first, 0, 1)]
    assert store.request_slots([ask(first)]).granted == []
    start(store, first)
    assert store.admit_waiting().granted == []
    retry(store, first)
    assert store.admit_waiting().granted == [(second, 0)]


def test_the_next_attempt_of_a_task_queues_anew(store: Store) -> None:
    begin(store)
    first, second = ready(store, 2)
    store.request_slots([ask(first), ask(second)])
    start(store, first)
    retry(store, first)
    assert store.request_slots([ask(first, 2)]).granted == [(second, 0)]
    assert [each.position for each in store.limits_of(first)] == [1]
    start(store, second)
    retry(store, second)
    assert store.request_slots([ask(second, 2)]).granted == [(first, 0)]
    assert list(store.granted_tasks([first, second])) == [(first, 0, 2)]


def test_a_slot_that_was_given_to_a_ready_task_is_found_by_its_next_owner(store: Store) -> None:
    begin(store)
    (run,) = ready(store)
    store.request_slots([ask(run)])
    store.end_session(OWNER)
    begin(store, "next")
    assert claim_one(store, "next", run, 1000)
    assert list(store.granted_tasks([run])) == [(run, 0, 1)]
    assert store.admit_waiting().granted == []


def test_a_hook_of_a_run_that_is_being_cancelled_gets_its_slot(store: Store) -> None:
    begin(store)
    (run,) = ready(store)
    moved = RunRow(state=RunState.CANCELLING, was=RunState.RUNNING)
    assert store.commit([update(run, run=moved)])[0].applied
    assert store.request_slots([ask(run)]).granted == [(run, 0)]


def test_runs_and_tasks_share_a_limit(store: Store) -> None:
    begin(store)
    run = queue(store, use())
    (task,) = ready(store)
    assert granted(store) == [run]
    assert store.request_slots([ask(task)]).granted == []
    found = store.limit("db")
    assert found is not None and [each.task for each in (*found.holders, *found.waiters)] == [None, "a"]


# -- slots that are shared --------------------------------------------------------------------------------------
def wait_for_children(store: Store, run_id: str) -> None:
    """Claims a run that has its slots, and starts the task that has child runs."""
    loaded = claim_one(store, OWNER, run_id, 1000)
    assert loaded is not None and loaded.run.epoch == 1
    row = TaskRow(pos=0, state=TaskState.RUNNING, was=TaskState.PENDING, was_attempt=0, attempt=1, seq=10)
    assert store.commit([update(run_id, row)])[0].applied


def end_parent(store: Store, run_id: str) -> None:
    row = TaskRow(pos=0, state=TaskState.CANCELLED, was=TaskState.RUNNING, was_attempt=1, attempt=1, seq=90)
    moved = RunRow(state=RunState.CANCELLED, was=RunState.RUNNING)
    assert store.commit([update(run_id, row, run=moved)])[0].applied


def call(store: Store, parent: str, *limits: LimitUse) -> str:
    """A child run that waits for these limits."""
    return queue(store, *limits, parent_run=parent, parent_pos=0, parent_attempt=1)


@pytest.fixture
def parent(store: Store) -> str:
    """A run that holds the only slot, and waits for child runs."""
    begin(store)
    run_id = queue(store, use())
    assert granted(store) == [run_id]
    wait_for_children(store, run_id)
    return run_id


def test_a_child_run_shares_the_slot_of_its_parent_and_counts_once(store: Store, parent: str) -> None:
    child, other = call(store, parent, use()), queue(store, use())
    assert granted(store) == [child]
    found = store.limit("db")
    assert found is not None and (found.limit.held, found.limit.waiting) == (1, 1)
    assert [(each.run_id, each.shared_with) for each in found.holders] == [(parent, None), (child, parent)]
    assert [each.shared_with for each in store.limits_of(child)] == [parent]
    end(store, child)
    assert granted(store) == []
    end_parent(store, parent)
    assert granted(store) == [other]


def test_a_grandchild_shares_the_slot_of_a_run_above_its_parent_one_at_a_time(store: Store, parent: str) -> None:
    middle = new_run(parent_run=parent, parent_pos=0, parent_attempt=1)
    insert(store, middle)
    first, second = call(store, middle.run_id, use()), call(store, middle.run_id, use())
    assert granted(store) == [first]
    wait_for_children(store, first)
    below = call(store, first, use())
    assert granted(store) == [below]
    end(store, below)
    assert granted(store) == []
    end_parent(store, first)
    assert granted(store) == [second]


def test_a_slot_is_held_by_what_shares_it_although_the_run_that_it_was_given_to_has_ended(
    store: Store, parent: str
) -> None:
    child = call(store, parent, use())
    assert granted(store) == [child]
    other = queue(store, use())
    end_parent(store, parent)
    assert granted(store) == [] and [each.held for each in store.limits()] == [1]
    end(store, child)
    assert granted(store) == [other]


def test_a_child_run_far_behind_in_the_queue_gets_the_slot_of_its_parent(store: Store, parent: str) -> None:
    insert(store, *(queued(use(), priority=9) for _ in range(MAX_EXAMINED + 1)))
    child = call(store, parent, use())
    assert granted(store) == [child]


def test_a_task_shares_the_slot_of_its_run(store: Store) -> None:
    begin(store)
    run = queue(store, use())
    assert granted(store) == [run]
    loaded = claim_one(store, OWNER, run, 1000)
    assert loaded is not None
    (task,) = ready(store)
    row = TaskRow(pos=0, state=TaskState.READY, was=TaskState.PENDING, seq=10)
    assert store.commit([update(run, row)])[0].applied
    assert store.request_slots([ask(task), ask(run)]).granted == [(run, 0)]
    assert list(store.granted_tasks([run, task])) == [(run, 0, 1)]
    assert [(each.task, each.shared_with) for each in store.limits_of(run)] == [(None, None), ("a", run)]
    assert store.request_slots([ask(run, 1)]).granted == []


def test_runs_that_wait_for_one_anothers_limits_are_a_deadlock_until_one_ends(store: Store) -> None:
    begin(store)
    first, second = queue(store, use("a")), queue(store, use("b"))
    assert granted(store) == [first, second] and not store.limit_deadlocks().waiters
    for run_id in (first, second):
        wait_for_children(store, run_id)
    one, two, behind = call(store, first, use("b")), call(store, second, use("a")), queue(store, use("a"))
    assert granted(store) == []
    found = store.limit_deadlocks()
    assert found.limits == {"a": {first}, "b": {second}} and set(found.waiters) == {(one, RUN), (two, RUN)}
    assert [each.deadlocked_with for each in store.limits_of(one)] == [[second]]
    assert [each.deadlocked_with for each in store.limits_of(behind)] == [[first]]
    assert [each.deadlocked_with for each in store.limits_of(first)] == [[]]
    assert [each.deadlock for each in store.limits()] == [True, True]
    detail = store.limit("a")
    assert detail is not None and [each.deadlocked_with for each in detail.waiters] == [[first], [first]]
    end(store, one)
    assert not store.limit_deadlocks().waiters and not any(each.deadlock for each in store.limits())


def test_a_limit_with_a_rate_says_when_the_next_may_begin(store: Store) -> None:
    begin(store)
    run = queue(store, use("mail", at_most=None, rate=2, per=60.0))
    idle = store.limit("mail")
    assert idle is not None and (idle.begun, idle.next_at) == (0, None)
    assert granted(store, "mail") == [run]
    one = store.limit("mail")
    assert one is not None and (one.begun, one.next_at) == (1, None)
    second = queue(store, use("mail", at_most=None, rate=2, per=60.0))
    before = store.clock()
    assert granted(store, "mail") == [second]
    full = store.limit("mail")
    assert full is not None and full.begun == 2 and full.next_at is not None
    assert before < full.next_at <= store.clock() + 60.0 + begin_slack(60.0)
    other = queue(store, use("db"))
    assert granted(store) == [other]
    plain = store.limit("db")
    assert plain is not None and (plain.begun, plain.next_at) == (None, None)


@pytest.mark.parametrize("name", ["ü" * 100, "a'b\"c", "customer-${x}"])
def test_any_text_is_a_name(store: Store, name: str) -> None:
    begin(store)
    run = queue(store, use(name))
    assert granted(store, name) == [run] and [each.name for each in store.limits()] == [name]


def test_runs_that_do_not_exist_have_no_limits(store: Store) -> None:
    assert store.limits_of("nonsense") == [] and store.limits_of(new_run_id()) == []
    assert store.runs_without_slots([]) == frozenset() and store.granted_tasks([]) == {}
    assert RUN == -1 and AGEING_INTERVAL > 0
