"""Items of mapped tasks come with the change of the task that has them, under the run's epoch, or not at all."""

from __future__ import annotations

import msgspec
import pytest

from tests.conformance.store_rows import WORKFLOW, begin, insert, moved, new_run, update
from turnout.contracts.store import Store
from turnout.model.rows import HistoryRow, RunRow, RunWrite, TaskRow
from turnout.model.states import RunState, TaskState

COUNT = 3


@pytest.fixture
def run(store: Store) -> RunWrite:
    """A run whose second task is mapped and has no items yet."""
    begin(store, "owner", "other")
    write = new_run()
    insert(store, write)
    return write


def expanding(run: RunWrite, *, epoch: int = 1, count: int = COUNT) -> RunWrite:
    """The mapped task starts and gets its items: the first runs at once, the others are ready."""
    mapped = TaskRow(pos=1, name="second", state=TaskState.RUNNING, was=TaskState.PENDING, attempt=1, seq=11)
    items = [
        TaskRow(pos=2 + n, name=f"second[{n}]", state=TaskState.READY, seq=12 + n, group=1, index=n)
        for n in range(count)
    ]
    items[0] = msgspec.structs.replace(
        items[0], state=TaskState.RUNNING, attempt=1, seq=12 + count, holder="owner", executor="default"
    )
    write = update(run.run_id, mapped, epoch=epoch, items=items)
    write.history += [HistoryRow(12 + n, 2 + n, "pending", "ready") for n in range(count)]
    write.history.append(HistoryRow(12 + count, 2, "ready", "running", 1))
    return write


def plain(row: TaskRow) -> TaskRow:
    return msgspec.structs.replace(row, was=None, was_attempt=0)


def test_items_are_added_with_their_history_and_say_whose_they_are(store: Store, run: RunWrite) -> None:
    write = expanding(run)
    assert store.commit([write])[0].applied
    assert store.tasks(run.run_id)[1:] == [plain(row) for row in (*write.tasks, *write.items)]
    assert store.items(run.run_id) == {1: range(2, 2 + COUNT)}
    assert [(row.pos, row.group, row.index) for row in store.tasks_at(run.run_id, [1, 3])] == [
        (1, None, None),
        (3, 1, 1),
    ]
    assert moved(store, run.run_id)[3:] == [
        (1, "pending", "running"),
        *((2 + n, "pending", "ready") for n in range(COUNT)),
        (2, "ready", "running"),
    ]


def test_a_new_run_can_come_with_items(store: Store) -> None:
    begin(store)
    rows = [
        TaskRow(pos=0, name="m", state=TaskState.RUNNING, attempt=1),
        *(TaskRow(pos=1 + n, name=f"m[{n}]", state=TaskState.PENDING, group=0, index=n) for n in range(2)),
    ]
    write = new_run(tasks=rows)
    insert(store, write)
    assert store.tasks(write.run_id) == rows


def test_ten_thousand_items_fit_into_one_commit(store: Store, run: RunWrite) -> None:
    assert store.commit([expanding(run, count=10_000)])[0].applied
    assert store.items(run.run_id) == {1: range(2, 10_002)}
    assert len(store.history(run.run_id)) == 3 + 1 + 10_001


def test_a_second_commit_of_the_same_items_is_stale_as_a_whole(store: Store, run: RunWrite) -> None:
    write = expanding(run)
    assert store.commit([write])[0].applied
    before = store.tasks(run.run_id), store.history(run.run_id)
    assert sorted(store.commit([write])[0].stale) == [1, *range(2, 2 + COUNT)]
    assert (store.tasks(run.run_id), store.history(run.run_id)) == before


def test_a_fenced_owner_adds_nothing(store: Store, run: RunWrite) -> None:
    store.release_runs("owner", [run.run_id])
    assert store.claim_runs("other", [WORKFLOW], 10, 1024)[0].run.epoch == 2
    history = store.history(run.run_id)
    assert sorted(store.commit([expanding(run)])[0].stale) == [1, *range(2, 2 + COUNT)]
    assert store.items(run.run_id) == {}
    assert store.history(run.run_id) == history
    assert store.commit([expanding(run, epoch=2)])[0].applied


def test_items_need_the_epoch_of_the_run_beside_that_of_their_mapped_task(store: Store) -> None:
    begin(store, "other")
    unowned = new_run(owner=None)
    insert(store, unowned)
    # Its tasks have the epoch of the first owner already, the run has it only after the claim.
    first = unowned.epoch + 1
    assert store.commit([expanding(unowned, epoch=first)])[0].stale == tuple(range(2, 2 + COUNT))
    assert store.items(unowned.run_id) == {}


def test_a_stale_write_with_items_takes_nothing_from_the_others_of_its_batch(store: Store, run: RunWrite) -> None:
    other, stale = new_run(), expanding(run, epoch=7)
    insert(store, other)
    outcomes = store.commit([stale, expanding(other)])
    assert [outcome.applied for outcome in outcomes] == [False, True]
    assert store.items(run.run_id) == {}
    assert store.items(other.run_id) == {1: range(2, 2 + COUNT)}


def test_items_can_come_with_a_change_of_the_run_and_with_answers(store: Store, run: RunWrite) -> None:
    command = store.add_command(run.run_id, "pause")
    write = expanding(run)
    write.run = RunRow(state=RunState.PAUSED, was=RunState.RUNNING)
    write.history.append(HistoryRow(30, -1, "running", "paused"))
    write.commands_done = [command]
    assert store.commit([write])[0].applied
    assert store.command_done(command)
    assert store.items(run.run_id) == {1: range(2, 2 + COUNT)}


def test_an_adopter_reads_items_and_fences_those_that_are_open(store: Store, run: RunWrite) -> None:
    assert store.commit([expanding(run)])[0].applied
    store.release_runs("owner", [run.run_id])
    claimed = store.claim_runs("other", [WORKFLOW], 10, 1024)[0]
    assert [(row.pos, row.group, row.index) for row in claimed.tasks[2:]] == [(2, 1, 0), (3, 1, 1), (4, 1, 2)]
    done = TaskRow(
        pos=2, state=TaskState.COMPLETED, was=TaskState.RUNNING, was_attempt=1, attempt=1, seq=40, output="1"
    )
    assert not store.commit([update(run.run_id, done)])[0].applied
    assert store.commit([update(run.run_id, done, epoch=2)])[0].applied


def test_a_poller_learns_whose_item_it_claims(store: Store, run: RunWrite) -> None:
    write = expanding(run)
    write.items[1] = msgspec.structs.replace(write.items[1], poll_key="polled")
    assert store.commit([write])[0].applied
    (claimed,) = store.claim_ready("poller", ["polled"], 10, 15.0)
    assert (claimed.pos, claimed.group) == (3, 1)
