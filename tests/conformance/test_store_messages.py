"""Others reach a run's owner by commands, and pollers by the inbox."""

from __future__ import annotations

import threading

import msgspec
import pytest

from tests.conformance.store_rows import OWNER, VERSION, WORKFLOW, begin, completed, insert, moved, new_run, update
from turnout.contracts.store import Store
from turnout.errors import RunNotFound
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.names import new_run_id, task_id
from turnout.model.rows import Command, HistoryRow, PolledTask, RunRow, RunWrite, TaskRow
from turnout.model.states import RunState, TaskState

POLLER = "poller-1"


def offered(**columns: object) -> RunWrite:
    """A run with one task that pollers of the key ``gpu`` may claim."""
    given: dict[str, object] = {
        "pos": 0,
        "name": "t",
        "state": TaskState.READY,
        "poll_key": "gpu",
        "executor": "gpu",
        "seq": 2,
    }
    write = new_run(tasks=[TaskRow(**(given | columns))])  # type: ignore[arg-type]
    write.history.append(HistoryRow(2, 0, "pending", "ready"))
    return write


def result(run_id: str, attempt: int = 1, output: object = 1) -> ExecutionResult:
    event = TaskReadyEvent(run_id=run_id, task_id=task_id(run_id, 0), task_name="n", attempt=attempt, max_attempts=1)
    return ExecutionResult.success(event, output)


# -- commands ---------------------------------------------------------------------------------------------------------
def test_a_command_waits_for_the_owner_until_it_is_carried_out(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    number = store.add_command(write.run_id, "cancel", "because")
    assert store.commands_for(OWNER) == [Command(number, write.run_id, "cancel", "because")]
    assert store.commands_for("peer") == []
    assert store.command_done(number) is False
    change = update(write.run_id, run=RunRow(state=RunState.CANCELLING, was=RunState.RUNNING), commands_done=[number])
    assert store.commit([change])[0].applied
    assert store.command_done(number) is True
    assert store.commands_for(OWNER) == []


def test_a_command_is_not_done_by_a_write_that_was_stale(store: Store) -> None:
    begin(store)
    write = new_run()
    insert(store, write)
    number = store.add_command(write.run_id, "pause")
    pause = RunRow(state=RunState.PAUSED, was=RunState.RUNNING)
    assert store.commit([update(write.run_id, run=pause, epoch=5, commands_done=[number])])[0].stale == (-1,)
    assert store.commit([update(write.run_id, epoch=5, commands_done=[number])])[0].applied
    assert store.command_done(number) is False
    assert store.commit([update(write.run_id, commands_done=[number])])[0].applied
    assert store.command_done(number) is True


def test_a_command_to_a_run_that_is_over_counts_as_done(store: Store) -> None:
    begin(store)
    write = new_run()
    insert(store, write)
    number = store.add_command(write.run_id, "cancel")
    store.commit([update(write.run_id, completed(), run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING))])
    assert store.command_done(number) is True


def test_a_command_needs_a_run(store: Store) -> None:
    for run_id in (new_run_id(), "nonsense"):
        with pytest.raises(RunNotFound):
            store.add_command(run_id, "cancel")
    assert store.command_done(12345) is False


# -- pollers ----------------------------------------------------------------------------------------------------------
def test_a_poller_claims_what_is_offered_under_its_keys(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    assert store.claim_ready(POLLER, ["cpu"], 10, 30) == []
    assert store.claim_ready(POLLER, ["cpu", "gpu"], 10, 30) == [PolledTask(write.run_id, 0, 1, WORKFLOW, VERSION)]
    (task,) = store.tasks(write.run_id)
    assert (task.state, task.attempt, task.holder, task.poll_key, task.executor) == (
        TaskState.RUNNING,
        1,
        POLLER,
        None,
        "gpu",
    )
    assert moved(store, write.run_id)[-1] == (0, "ready", "running")
    assert [row.seq for _, row in store.history(write.run_id)] == [1, 2, 2], "the claim shares the task's number"
    assert store.claim_ready("poller-2", ["gpu"], 10, 30) == []


def test_claims_go_by_priority_and_keep_to_the_limit(store: Store) -> None:
    begin(store)
    writes = [offered(priority=priority) for priority in (0, 9, 4)]
    insert(store, *writes)
    claimed = store.claim_ready(POLLER, ["gpu"], 2, 30)
    assert [task.run_id for task in claimed] == [writes[1].run_id, writes[2].run_id]


def test_a_task_whose_time_has_not_come_is_not_claimed(store: Store) -> None:
    begin(store)
    insert(store, offered(retry_in=60.0))
    assert store.claim_ready(POLLER, ["gpu"], 10, 30) == []
    insert(store, offered(retry_in=0.0))
    assert len(store.claim_ready(POLLER, ["gpu"], 10, 30)) == 1


def test_nothing_is_claimed_from_a_paused_run(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    assert store.commit([update(write.run_id, run=RunRow(state=RunState.PAUSED, was=RunState.RUNNING))])[0].applied
    assert store.claim_ready(POLLER, ["gpu"], 10, 30) == []


def test_what_is_still_offered_in_a_run_that_is_being_cancelled_is_a_hook_and_can_be_claimed(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    assert store.commit([update(write.run_id, run=RunRow(state=RunState.CANCELLING, was=RunState.RUNNING))])[0].applied
    assert [task.run_id for task in store.claim_ready(POLLER, ["gpu"], 10, 30)] == [write.run_id]


def test_an_owner_that_writes_what_a_poller_has_claimed_is_stale(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    store.claim_ready(POLLER, ["gpu"], 10, 30)
    cancel = TaskRow(pos=0, state=TaskState.CANCELLED, was=TaskState.READY, seq=3)
    assert store.commit([update(write.run_id, cancel)])[0].stale == (0,)


def test_a_result_goes_through_the_inbox_once(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = offered()
    insert(store, write)
    store.claim_ready(POLLER, ["gpu"], 10, 30)
    store.post_results(POLLER, [result(write.run_id, output="first")])
    store.post_results(POLLER, [result(write.run_id, output="second")])
    assert store.inbox_for("peer", 10) == []
    (row,) = store.inbox_for(OWNER, 10)
    assert (row.run_id, row.pos, row.attempt, row.holder) == (write.run_id, 0, 1, POLLER)
    assert msgspec.json.decode(row.result, type=ExecutionResult).output == '"first"'
    stale = update(write.run_id, completed(seq=3), epoch=7, inbox_done=[row.id])
    assert store.commit([stale])[0].stale == (0,)
    assert len(store.inbox_for(OWNER, 10)) == 1, "a fenced owner swallows nothing"
    assert store.commit([update(write.run_id, completed(seq=3), inbox_done=[row.id])])[0].applied
    assert store.inbox_for(OWNER, 10) == []


def test_results_of_attempts_that_are_not_the_pollers_are_dropped(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    store.post_results(POLLER, [result(write.run_id)])
    store.claim_ready(POLLER, ["gpu"], 10, 30)
    store.post_results("impostor", [result(write.run_id)])
    store.post_results(POLLER, [result(write.run_id, attempt=2), result(new_run_id())])
    assert store.inbox_for(OWNER, 10) == []


def test_the_end_of_a_run_empties_its_inbox(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    store.claim_ready(POLLER, ["gpu"], 10, 30)
    store.post_results(POLLER, [result(write.run_id)])
    cancelled = TaskRow(pos=0, state=TaskState.CANCELLED, was=TaskState.RUNNING, was_attempt=1, attempt=1, seq=3)
    ended = RunRow(state=RunState.CANCELLED, was=RunState.RUNNING)
    assert store.commit([update(write.run_id, cancelled, run=ended)])[0].applied
    assert store.inbox_for(OWNER, 10) == []


def test_a_lease_of_an_attempt_is_kept_or_lapses(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    store.claim_ready(POLLER, ["gpu"], 10, 30)
    mine, others = (write.run_id, 0, 1), (write.run_id, 0, 2)
    assert store.renew_attempts(POLLER, [mine, others], 30) == [others]
    assert store.renew_attempts("impostor", [mine], 30) == [mine]
    assert store.lapsed_attempts(OWNER) == []
    assert store.renew_attempts(POLLER, [mine], -1.0) == []
    assert store.lapsed_attempts(OWNER) == [(write.run_id, 0, 1, POLLER)]
    store.post_results(POLLER, [result(write.run_id)])
    assert store.lapsed_attempts(OWNER) == [], "its result is there"


def test_a_lapsed_attempt_that_was_given_up_is_no_longer_the_pollers(store: Store) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    store.claim_ready(POLLER, ["gpu"], 10, -1.0)
    back = TaskRow(pos=0, state=TaskState.READY, was=TaskState.RUNNING, was_attempt=1, attempt=1, poll_key="gpu", seq=3)
    assert store.commit([update(write.run_id, back)])[0].applied
    assert store.lapsed_attempts(OWNER) == []
    assert store.renew_attempts(POLLER, [(write.run_id, 0, 1)], 30) == [(write.run_id, 0, 1)]
    assert store.claim_ready("poller-2", ["gpu"], 10, 30)[0].attempt == 2


def test_many_pollers_never_share_an_attempt(store: Store) -> None:
    begin(store)
    insert(store, *[offered() for _ in range(60)])
    claimed: list[tuple[str, int, int]] = []
    lock = threading.Lock()

    def poll(name: str) -> None:
        while some := store.claim_ready(name, ["gpu"], 3, 30):
            with lock:
                claimed.extend((task.run_id, task.pos, task.attempt) for task in some)

    threads = [threading.Thread(target=poll, args=(f"p{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A claim skips what another has locked, so one may stop early; what is left is claimed here.
    poll("last")
    assert len(claimed) == len(set(claimed)) == 60
