"""Child runs: inserted while their parent waits, and their end and its inbox row are one transaction."""

from __future__ import annotations

import pytest

from tests.conformance.store_rows import OWNER, begin, claim_one, completed, insert, new_run, update
from turnout.contracts.store import Store
from turnout.errors import StoreRejected
from turnout.model.children import CHILD
from turnout.model.names import new_run_id
from turnout.model.rows import HistoryRow, ParentAnswer, RunRow, RunWrite, TaskRow, WriteOutcome
from turnout.model.states import RunState, TaskState


@pytest.fixture
def parent(store: Store) -> RunWrite:
    """Its first task runs, attempt 1."""
    begin(store, OWNER, "other")
    write = new_run()
    insert(store, write)
    return write


def child_of(parent: RunWrite, *, pos: int = 0, attempt: int = 1, **columns: object) -> RunWrite:
    return new_run(parent_run=parent.run_id, parent_pos=pos, parent_attempt=attempt, depth=1, **columns)


def ended(child: RunWrite, parent: RunWrite, *, epoch: int = 1, attempt: int = 1, was: RunState = RunState.RUNNING):
    """The write that ends the child and tells its parent."""
    return update(
        child.run_id,
        epoch=epoch,
        run=RunRow(state=RunState.COMPLETED, was=was),
        answer=ParentAnswer(parent.run_id, 0, attempt, CHILD, '{"status":"completed"}'),
    )


def inbox(store: Store, session: str = OWNER) -> list[tuple[str, int, int, str]]:
    return [(row.run_id, row.pos, row.attempt, row.holder) for row in store.inbox_for(session, 100)]


def test_a_child_is_inserted_while_its_parents_attempt_runs(store: Store, parent: RunWrite) -> None:
    child = child_of(parent)
    insert(store, child)
    stored = store.run(child.run_id)
    assert stored is not None and stored.new == child.insert
    assert [run.new for run in store.children(parent.run_id)] == [child.insert]
    assert store.children(new_run_id()) == store.children("no id") == []


@pytest.mark.parametrize("where", [{"pos": 1}, {"attempt": 2}, {"pos": 9}])
def test_a_child_that_no_attempt_waits_for_is_not_inserted(
    store: Store, parent: RunWrite, where: dict[str, int]
) -> None:
    child = child_of(parent, **where)
    beside = new_run()
    assert store.commit([child, beside]) == [WriteOutcome(child.run_id, stale=(-1,)), WriteOutcome(beside.run_id)]
    assert store.run(child.run_id) is None and store.tasks(child.run_id) == [] and store.history(child.run_id) == []
    assert store.run(beside.run_id) is not None


def test_a_child_of_an_attempt_that_is_over_is_not_inserted(store: Store, parent: RunWrite) -> None:
    insert(store, update(parent.run_id, completed()))
    child = child_of(parent)
    assert store.commit([child]) == [WriteOutcome(child.run_id, stale=(-1,))]
    assert store.run(child.run_id) is None


def test_a_child_that_exists_is_not_inserted_again_and_says_so_even_when_nobody_waits(
    store: Store, parent: RunWrite
) -> None:
    child = child_of(parent)
    insert(store, child)
    assert store.commit([child]) == [WriteOutcome(child.run_id, existing=child.run_id)]
    insert(store, update(parent.run_id, completed()))
    assert store.commit([child]) == [WriteOutcome(child.run_id, existing=child.run_id)]
    assert len(store.children(parent.run_id)) == 1


def test_the_end_of_a_child_is_in_its_parents_inbox(store: Store, parent: RunWrite) -> None:
    child = child_of(parent, owner="other")
    insert(store, child)
    assert inbox(store) == []
    insert(store, ended(child, parent))
    assert inbox(store) == [(parent.run_id, 0, 1, CHILD)]
    assert inbox(store, "other") == [], "it is the parent's owner that gets it"


def test_a_child_that_has_ended_when_it_is_inserted_tells_its_parent_too(store: Store, parent: RunWrite) -> None:
    child = child_of(parent, owner=None, state=RunState.COMPLETED, tasks=[TaskRow(pos=0, state=TaskState.COMPLETED)])
    child.answer = ParentAnswer(parent.run_id, 0, 1, CHILD, "{}")
    insert(store, child)
    assert inbox(store) == [(parent.run_id, 0, 1, CHILD)]


def test_an_end_that_does_not_apply_tells_nobody(store: Store, parent: RunWrite) -> None:
    child = child_of(parent)
    insert(store, child)
    for stale in (ended(child, parent, epoch=7), ended(child, parent, was=RunState.PAUSED)):
        assert [outcome.stale for outcome in store.commit([stale])] == [(-1,)]
    assert inbox(store) == []


def test_an_end_is_told_once_and_only_to_the_attempt_that_waits(store: Store, parent: RunWrite) -> None:
    one, two = child_of(parent), child_of(parent, attempt=1)
    insert(store, one, two)
    insert(store, ended(one, parent), ended(two, parent, attempt=2))
    assert inbox(store) == [(parent.run_id, 0, 1, CHILD)]


def test_the_end_of_a_child_whose_parent_is_over_is_told_to_nobody(store: Store, parent: RunWrite) -> None:
    child = child_of(parent)
    insert(store, child)
    insert(
        store,
        update(
            parent.run_id,
            completed(),
            TaskRow(pos=1, state=TaskState.SKIPPED, was=TaskState.PENDING, seq=5),
            run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING),
        ),
    )
    insert(store, ended(child, parent))
    assert inbox(store) == []
    stored = store.run(child.run_id)
    assert stored is not None and stored.row.state is RunState.COMPLETED


def test_a_refused_end_leaves_neither_half(store: Store, parent: RunWrite) -> None:
    child = child_of(parent)
    insert(store, child)
    write = ended(child, parent)
    write.history = [*write.history, HistoryRow(99, -1, "running", "completed", 0, "\x00")]
    with pytest.raises(StoreRejected):
        store.commit([write])
    assert inbox(store) == []
    stored = store.run(child.run_id)
    assert stored is not None and stored.row.state is RunState.RUNNING


def test_orphans_are_children_that_no_attempt_waits_for(store: Store, parent: RunWrite) -> None:
    mine, theirs, waited_for = child_of(parent), child_of(parent, owner="other"), child_of(parent)
    insert(store, mine, theirs, waited_for)
    assert store.orphans(OWNER) == []
    retried = TaskRow(pos=0, state=TaskState.RUNNING, was=TaskState.RUNNING, was_attempt=1, attempt=2, seq=4)
    insert(store, update(parent.run_id, retried))
    insert(store, child_of(parent, attempt=2), new_run())
    assert sorted(store.orphans(OWNER)) == sorted([mine.run_id, waited_for.run_id])
    assert store.orphans("other") == [theirs.run_id]
    insert(store, update(mine.run_id, run=RunRow(state=RunState.CANCELLING, was=RunState.RUNNING)))
    assert store.orphans(OWNER) == [waited_for.run_id], "one that is being cancelled is none any more"


def test_a_claimed_child_is_read_with_all_that_binds_it_to_its_parent(store: Store, parent: RunWrite) -> None:
    child = child_of(parent, owner=None, state=RunState.PENDING)
    insert(store, child)
    loaded = claim_one(store, "other", child.run_id, 1024)
    assert loaded is not None and loaded.run.new == child.insert
