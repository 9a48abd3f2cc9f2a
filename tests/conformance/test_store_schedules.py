"""Schedules are changed by their authors, decided once by compare-and-swap, and carried out by any process."""

from __future__ import annotations

import threading
from typing import Any

import msgspec

from tests.conformance.store_rows import WORKFLOW, begin, insert, new_run
from turnout.contracts.store import Store
from turnout.model.names import new_run_id
from turnout.model.rows import TaskRow
from turnout.model.schedule_decisions import Facts, decide, skip_until
from turnout.model.schedule_rows import NewFire, ScheduleChange, ScheduleTurn, StoredSchedule
from turnout.model.schedules import ScheduleSpec
from turnout.model.states import RunState, TaskState

HOUR = 3_600.0
START = 1_800_000_000.0
HOURLY = ScheduleSpec(name="hourly", every=3_600)
DONE = TaskRow(pos=0, name="first", state=TaskState.SKIPPED)


def change(spec: ScheduleSpec = HOURLY, workflow: str = WORKFLOW, **given: Any) -> ScheduleChange:
    columns: dict[str, Any] = {"anew": True, "decided_until": START, "next_at": START + HOUR}
    return ScheduleChange(
        workflow=workflow, name=spec.name, spec=msgspec.json.encode(spec).decode(), **(columns | given)
    )


def put(store: Store, spec: ScheduleSpec = HOURLY, **given: Any) -> StoredSchedule:
    store.put_schedules([change(spec, **given)], "ada")
    return store.schedules_page(workflow=given.get("workflow", WORKFLOW))[-1]


def fresh(store: Store, schedule: StoredSchedule) -> StoredSchedule:
    return store.schedules_by_id([schedule.id])[0]


def turn(schedule: StoredSchedule, now: float, **facts: Any) -> ScheduleTurn:
    made = decide(schedule.spec, schedule.key, schedule.decided_until, Facts(now=now, **facts), new_run_id)
    keeps = schedule.spec.overlap != "allow"
    return ScheduleTurn(schedule_id=schedule.id, expected=schedule.decided_until, turn=made, keeps_open=keeps)


def fire(store: Store, schedule: StoredSchedule, now: float, **facts: Any) -> str:
    """Decides the due time that has come; returns the run that it starts."""
    made = turn(schedule, now, **facts)
    assert store.record_turns([made]).applied == {schedule.id}
    run_id = made.turn.decisions[-1].run_id
    assert run_id is not None
    return run_id


def test_a_schedule_comes_back_as_it_was_put(store: Store) -> None:
    spec = ScheduleSpec(name="daily", cron="0 3 * * *", timezone="Europe/Rome", params={"n": [1, "ü"]}, jitter=2.5)
    made = put(store, spec)
    assert (made.spec, made.workflow, made.decided_until, made.next_at) == (spec, WORKFLOW, START, START + HOUR)
    assert (made.paused, made.removed, made.changed_by) == (False, False, "ada")
    assert store.schedules() == store.schedules_page() == store.upcoming_schedules(5) == [made]
    assert store.schedules(since=made.revision) == []
    assert made.key == f"{WORKFLOW}/daily"


def test_a_schedule_that_is_put_again_as_it_is_stays_as_it_is(store: Store) -> None:
    made = put(store)
    assert put(store, decided_until=START + 9 * HOUR, next_at=START + 10 * HOUR) == made


def test_other_options_keep_its_place_and_other_times_begin_anew(store: Store) -> None:
    made = put(store)
    fire(store, made, START + HOUR)
    options = msgspec.structs.replace(HOURLY, overlap="allow")
    changed = put(store, options, anew=False, decided_until=START + 5 * HOUR)
    assert (changed.id, changed.spec) == (made.id, options)
    assert (changed.decided_until, changed.next_at) == (START + HOUR, START + 2 * HOUR)
    times = msgspec.structs.replace(HOURLY, every=60)
    anew = put(store, times, decided_until=START + 5 * HOUR, next_at=START + 5 * HOUR + 60)
    assert (anew.decided_until, anew.next_at) == (START + 5 * HOUR, START + 5 * HOUR + 60)
    back = put(store, HOURLY, decided_until=START, next_at=START + 7 * HOUR)
    assert back.decided_until == START + 5 * HOUR
    assert [each.id for each in store.schedules(since=made.revision)] == [made.id]


def test_a_removed_schedule_is_not_listed_and_begins_anew_when_it_is_put_again(store: Store) -> None:
    made = put(store)
    store.remove_schedules([made.id], "ada")
    assert store.schedules_page() == store.upcoming_schedules(5) == []
    assert [each.removed for each in store.schedules(since=made.revision)] == [True]
    assert store.record_turns([turn(made, START + HOUR)]).applied == frozenset()
    again = put(store, decided_until=START + 3 * HOUR, next_at=START + 4 * HOUR)
    assert (again.id, again.removed, again.decided_until) == (made.id, False, START + 3 * HOUR)


def test_a_run_that_has_not_begun_ends_with_its_schedule(store: Store) -> None:
    made = put(store)
    fire(store, made, START + HOUR)
    store.remove_schedules([made.id], "ada")
    assert store.pending_decisions() == []
    assert [(each.outcome, each.reason) for each in store.schedule_decisions(made.id)] == [("skipped", "removed")]


def test_many_schedules_are_put_at_once_and_listed_in_pages(store: Store) -> None:
    store.put_schedules([change(workflow=f"public::embedded::w{n}", next_at=START - n) for n in range(2_500)], "ada")
    pages = [store.schedules_page(limit=2_000)]
    pages.append(store.schedules_page(limit=2_000, after=pages[0][-1].id))
    assert [len(page) for page in pages] == [2_000, 500]
    assert [each.workflow for each in store.upcoming_schedules(2)] == [
        f"public::embedded::w{n}" for n in (2_499, 2_498)
    ]
    assert [each.next_at for each in store.upcoming_schedules(1, since=START - 5.5)] == [START - 5]
    assert [each.workflow for each in store.schedules_page(workflow="public::embedded::w7")] == ["public::embedded::w7"]


def test_a_due_time_is_decided_once_however_many_decide_it_at_once(store: Store) -> None:
    schedules = [put(store, workflow=f"public::embedded::w{number}") for number in range(5)]
    gate, applied = threading.Barrier(4), list[int]()

    def decide_all(number: int) -> None:
        turns = [turn(each, START + HOUR) for each in schedules]
        gate.wait()
        applied.extend(store.record_turns(turns if number % 2 else turns[::-1]).applied)

    threads = [threading.Thread(target=decide_all, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(applied) == [each.id for each in schedules]
    assert [len(store.schedule_decisions(each.id)) for each in schedules] == [1] * 5
    assert {each.decided_until for each in store.schedules()} == {START + HOUR}
    assert len(store.pending_decisions()) == 5


def test_decisions_come_back_newest_first_with_their_reasons(store: Store) -> None:
    made = put(store)
    run_id = fire(store, made, START + 3 * HOUR)
    fired, skipped = store.schedule_decisions(made.id)
    assert (skipped.outcome, skipped.reason, skipped.due_times) == ("skipped", "missed", 2)
    assert (skipped.due_at, skipped.last_due_at, skipped.state) == (START + HOUR, START + 2 * HOUR, "closed")
    assert (fired.outcome, fired.reason, fired.run_id, fired.state) == ("fired", "on_time", run_id, "pending")
    assert abs(fired.decided_at - store.clock()) < 60
    assert store.schedule_decisions(made.id, outcome="fired") == [fired]
    assert store.schedule_decisions(made.id, before=fired.id) == [skipped]


def test_a_pending_decision_is_there_until_it_is_settled(store: Store) -> None:
    made = put(store)
    run_id = fire(store, made, START + HOUR)
    assert store.glance("none").undone
    [pending] = store.pending_decisions()
    assert (pending.run_id, pending.workflow, pending.spec, pending.kind) == (run_id, WORKFLOW, HOURLY, "due")
    assert (pending.due_at, pending.blocked, pending.exists, pending.cancels) == (START + HOUR, False, False, ())
    assert pending.age < 60
    store.settle_decisions(opened=[pending.id])
    assert store.pending_decisions() == [] and not store.glance("none").undone


def test_a_decision_that_cannot_be_carried_out_becomes_a_skip(store: Store) -> None:
    made = put(store)
    fire(store, made, START + HOUR)
    store.refuse_decision(store.pending_decisions()[0].id, "invalid_input{n}")
    [refused] = store.schedule_decisions(made.id)
    assert (refused.outcome, refused.reason, refused.state) == ("skipped", "invalid_input{n}", "closed")


def test_due_times_that_are_skipped_one_after_the_other_for_one_reason_are_one_entry(store: Store) -> None:
    made = put(store)
    run_id = fire(store, made, START + HOUR)
    for hours in (2, 3, 4):
        store.record_turns([turn(fresh(store, made), START + hours * HOUR, unfinished=[run_id])])
    skipped, fired = store.schedule_decisions(made.id)
    assert (skipped.reason, skipped.due_times) == (f"overlap{{{run_id}}}", 3)
    assert (skipped.due_at, skipped.last_due_at) == (START + 2 * HOUR, START + 4 * HOUR)
    assert fired.run_id == run_id
    store.record_turns([turn(fresh(store, made), START + 5 * HOUR, unfinished=["another"])])
    assert [each.due_times for each in store.schedule_decisions(made.id)] == [1, 3, 1]


def test_refused_due_times_in_a_row_are_one_entry_without_a_run(store: Store) -> None:
    made = put(store)
    for hours in (1, 2, 3):
        fire(store, fresh(store, made), START + hours * HOUR)
        (pending,) = store.pending_decisions()
        store.refuse_decision(pending.id, "unknown_queue{nightly}")
    (only,) = store.schedule_decisions(made.id)
    assert (only.outcome, only.due_times, only.run_id) == ("skipped", 3, None)
    assert (only.due_at, only.last_due_at) == (START + HOUR, START + 3 * HOUR)


def test_activity_lists_runs_that_have_not_begun_or_not_ended(store: Store) -> None:
    made = put(store, msgspec.structs.replace(HOURLY, overlap="queue"))
    first = fire(store, made, START + HOUR)
    assert store.schedule_activity([made.id]) == {made.id: [(first, False)]}
    second = fire(store, fresh(store, made), START + 2 * HOUR, unfinished=[first])
    assert store.schedule_activity([made.id]) == {made.id: [(first, False), (second, True)]}
    assert [each.blocked for each in store.pending_decisions()] == [False, True]
    store.settle_decisions(opened=[store.pending_decisions()[0].id])
    # The run is not stored, and nothing will store it any more: it has ended and was deleted.
    assert store.schedule_activity([made.id]) == {made.id: [(second, True)]}
    assert [each.blocked for each in store.pending_decisions()] == [False]
    begin(store)
    insert(store, new_run(run_id=first))
    assert store.schedule_activity([made.id]) == {made.id: [(first, False), (second, True)]}
    assert [each.blocked for each in store.pending_decisions()] == [True]


def test_runs_that_were_replaced_before_they_began_never_begin(store: Store) -> None:
    made = put(store, msgspec.structs.replace(HOURLY, overlap="cancel_previous"))
    first = fire(store, made, START + HOUR)
    second = fire(store, fresh(store, made), START + 2 * HOUR, unfinished=[first])
    assert [(each.run_id, each.cancels, each.blocked) for each in store.pending_decisions()] == [
        (second, (first,), False)
    ]
    assert [each.reason for each in store.schedule_decisions(made.id)][1] == "superseded"


def test_a_pause_decides_nothing_and_a_resumption_skips_what_came_meanwhile(store: Store) -> None:
    made = put(store)
    assert store.pause_schedule(made.id, "bob")
    paused = fresh(store, made)
    assert (paused.paused, paused.next_at, paused.changed_by) == (True, None, "bob")
    assert store.glance("none").schedules == paused.revision
    assert not store.pause_schedule(made.id, "bob")
    assert store.record_turns([turn(made, START + HOUR)]).applied == frozenset()
    skipped = skip_until(paused.spec, paused.key, paused.decided_until, START + 5 * HOUR + 1, "paused")
    assert not store.resume_schedule(made.id, START - 1, skipped, "bob")
    assert store.resume_schedule(made.id, START, skipped, "bob")
    assert not store.resume_schedule(made.id, START, skipped, "bob")
    resumed = fresh(store, made)
    assert (resumed.paused, resumed.next_at) == (False, START + 6 * HOUR)
    [decision] = store.schedule_decisions(made.id)
    assert (decision.reason, decision.due_times) == ("paused", 5)


def test_a_backfill_fires_a_due_time_once_and_a_fire_by_hand_whenever_it_is_asked_for(store: Store) -> None:
    made = put(store)
    fires = [NewFire(due_at=START - n * HOUR, run_id=new_run_id()) for n in (2, 1)]
    assert store.fire_schedule(made.id, "backfill", fires, "ada") == [each.run_id for each in fires]
    again = [NewFire(due_at=START - n * HOUR, run_id=new_run_id()) for n in (3, 2, 1)]
    assert store.fire_schedule(made.id, "backfill", again, "ada") == [again[0].run_id]
    assert store.fired_due_times(made.id, START - 2 * HOUR, START) == {START - 2 * HOUR, START - HOUR}
    by_hand = NewFire(due_at=START + 0.5, run_id=new_run_id(), waits_for=(fires[0].run_id,))
    assert store.fire_schedule(made.id, "manual", [by_hand], "ada") == [by_hand.run_id]
    assert [each.blocked for each in store.pending_decisions()] == [False, False, False, True]
    newest = store.schedule_decisions(made.id)[0]
    assert (newest.kind, newest.reason, newest.actor) == ("manual", "manual{ada}", "ada")
    assert store.fired_due_times(made.id, START, START + HOUR) == frozenset()


def test_a_success_of_another_run_is_found_and_one_of_its_own_is_not(store: Store) -> None:
    made = put(store, msgspec.structs.replace(HOURLY, skip_if_successful=True))
    own = fire(store, made, START + HOUR)
    lowest = "00000000-0000-0000-0000-000000000000"
    begin(store)
    insert(store, new_run(run_id=own, state=RunState.COMPLETED, tasks=[DONE]))
    assert store.last_success(WORKFLOW, made.id, 0.0, lowest) is None
    made_at = START + 10
    insert(store, new_run(state=RunState.COMPLETED, tasks=[DONE], created_at=made_at))
    assert store.last_success(WORKFLOW, made.id, 0.0, lowest) == made_at
    assert store.last_success(WORKFLOW, made.id, made_at + 1, lowest) is None
    assert store.last_success(WORKFLOW, made.id, 0.0, "ffffffff-0000-0000-0000-000000000000") is None


def test_old_decisions_are_pruned_and_pending_ones_stay(store: Store) -> None:
    made = put(store)
    fire(store, made, START + HOUR)
    store.settle_decisions(closed=[store.pending_decisions()[0].id])
    fire(store, fresh(store, made), START + 2 * HOUR)
    assert store.prune_rest(60).decisions == 0
    assert store.prune_rest(-1).decisions == 1
    assert [each.state for each in store.schedule_decisions(made.id)] == ["pending"]


def test_a_run_tells_the_schedule_and_the_due_time_that_started_it(store: Store) -> None:
    begin(store)
    made = put(store)
    due = fire(store, made, START + HOUR)
    insert(store, new_run(run_id=due))
    (manual,) = store.fire_schedule(made.id, "manual", [NewFire(due_at=START + 7, run_id=new_run_id())], "ada")
    found = store.scheduled_runs([due, manual, new_run_id()])
    assert set(found) == {due, manual}
    assert (found[due].schedule_id, found[due].name, found[due].kind) == (made.id, "hourly", "due")
    assert (found[due].due_at, found[due].actor) == (START + HOUR, None)
    assert (found[manual].kind, found[manual].actor) == ("manual", "ada")
    assert store.scheduled_runs([]) == {}


def test_a_decision_stays_as_long_as_its_run(store: Store) -> None:
    begin(store)
    made = put(store)
    run_id = fire(store, made, START + HOUR)
    insert(store, new_run(run_id=run_id, owner=None, state=RunState.CANCELLED, tasks=[DONE]))
    store.settle_decisions(closed=[store.pending_decisions()[0].id])
    assert store.prune_rest(-HOUR).decisions == 0 and store.scheduled_runs([run_id])
    store.delete_runs([run_id], 100)
    assert store.prune_rest(-HOUR).decisions == 1
