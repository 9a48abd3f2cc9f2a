"""Runs are found by filters, and changes are read in an order that misses none."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass

import msgspec
import pytest

from tests.conformance.store_rows import OWNER, WORKFLOW, begin, completed, insert, new_run, update
from turnout.contracts.store import Store
from turnout.model.children import child_run_id
from turnout.model.names import new_run_id
from turnout.model.resources import Resources
from turnout.model.rows import HistoryRow, RunRow, RunWrite, StoredDecision, TaskRow
from turnout.model.run_filter import ChangeSpan, RunFilter
from turnout.model.states import RunState, TaskState
from turnout.store import connect
from turnout.store.run_lists import first_id

OTHER = "acme::etl::other"


def id_at(at: float) -> str:
    """The id of a run that is submitted at this time."""
    return first_id(at)[:14] + new_run_id()[14:]


@dataclass
class Seeded:
    store: Store
    keyed: RunWrite
    done: RunWrite
    other: RunWrite
    child: RunWrite
    now: float

    def found(self, **conditions: object) -> set[str]:
        wanted = RunFilter(**conditions)  # type: ignore[arg-type]
        names = {self.keyed.run_id: "keyed", self.done.run_id: "done", self.other.run_id: "other"}
        names[self.child.run_id] = "child"
        return {names[run.new.run_id] for run in self.store.find_runs(wanted)}


@pytest.fixture
def seeded(store: Store) -> Seeded:
    begin(store)
    store.put_workflow("o1", OTHER, "{}")
    now = time.time()
    keyed = new_run(run_id=id_at(now - 300), key="k1", created_at=now - 300)
    done = new_run(run_id=id_at(now - 200), created_at=now - 200)
    other = new_run(run_id=id_at(now - 100), workflow=OTHER, version="o1", key="k1", created_at=now - 100)
    insert(store, keyed, done, other)
    own_id = child_run_id(keyed.run_id, 0, 1)
    child = new_run(run_id=own_id, parent_run=keyed.run_id, parent_pos=0, parent_attempt=1, created_at=now)
    insert(store, child)
    store.commit([update(done.run_id, completed(), run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING))])
    return Seeded(store, keyed, done, other, child, now)


def test_a_filter_without_conditions_finds_all_runs(seeded: Seeded) -> None:
    assert seeded.found() == {"keyed", "done", "other", "child"}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"key": "k1"}, {"keyed", "other"}),
        ({"key": "k1", "workflow": "other"}, {"other"}),
        ({"key": "k1", "workflow": WORKFLOW}, {"keyed"}),
        ({"key": "k2"}, set()),
        ({"key": "k1", "states": (RunState.COMPLETED,)}, set()),
        ({"states": (RunState.COMPLETED,)}, {"done"}),
        ({"states": (RunState.COMPLETED, RunState.RUNNING), "workflow": "chain"}, {"keyed", "done", "child"}),
        ({"top_level": True}, {"keyed", "done", "other"}),
        ({"top_level": True, "workflow": "chain"}, {"keyed", "done"}),
        ({"workflow": "nothing"}, set()),
        ({"among": (OTHER,)}, {"other"}),
        ({"among": (OTHER, WORKFLOW), "workflow": "other"}, {"other"}),
        ({"among": (OTHER,), "key": "k1"}, {"other"}),
        ({"among": ()}, set()),
    ],
)
def test_every_condition_must_hold(seeded: Seeded, conditions: dict[str, object], expected: set[str]) -> None:
    assert seeded.found(**conditions) == expected


def test_runs_are_found_by_their_parent(seeded: Seeded) -> None:
    parent = seeded.keyed.run_id
    assert seeded.found(parent=parent) == seeded.found(parent=parent.upper(), workflow="chain") == {"child"}
    assert seeded.found(parent=parent, workflow="other") == seeded.found(parent=parent, key="k1") == set()
    assert seeded.found(parent=new_run_id()) == seeded.found(parent="nonsense") == set()


def test_runs_are_found_by_the_time_of_their_submission(seeded: Seeded) -> None:
    now = seeded.now
    assert seeded.found(created_from=now - 250) == {"done", "other", "child"}
    assert seeded.found(created_from=now - 250, created_before=now - 100) == {"done"}
    assert seeded.found(created_from=now - 250, workflow="chain", top_level=True) == {"done"}
    assert seeded.found(created_before=now - 300) == set()
    running, failed = (RunState.RUNNING,), (RunState.FAILED,)
    assert seeded.found(created_from=now - 50, states=running) == {"child"}, "its id is that of an older run"
    ended = RunRow(state=RunState.FAILED, was=RunState.RUNNING, finished_at=now + 1)
    seeded.store.commit([update(seeded.child.run_id, completed(), run=ended)])
    assert seeded.found(created_from=now - 50) == seeded.found(created_from=now - 50, states=failed) == {"child"}
    assert seeded.found(created_from=now - 50, workflow="chain") == {"child"}
    assert seeded.found(created_from=now - 50, workflow="other") == seeded.found(created_from=now + 0.5) == set()
    newest = seeded.store.find_runs(RunFilter(created_from=now - 150), limit=1)
    older = seeded.store.find_runs(RunFilter(created_from=now - 150), limit=2, before=newest[0].new.run_id)
    assert [run.new.run_id for run in (*newest, *older)] == [seeded.other.run_id, seeded.child.run_id]


def test_pages_of_a_filter_follow_one_another(seeded: Seeded) -> None:
    wanted = RunFilter(states=(RunState.RUNNING,))
    first = seeded.store.find_runs(wanted, limit=2)
    rest = seeded.store.find_runs(wanted, limit=2, before=first[-1].new.run_id)
    ids = [run.new.run_id for run in (*first, *rest)]
    assert ids == sorted(ids, reverse=True) and len(set(ids)) == 3


def test_moves_are_read_from_any_position_on(store: Store) -> None:
    begin(store)
    write = new_run()
    insert(store, write)
    store.commit([update(write.run_id, completed())])
    every = store.moves(write.run_id)
    assert [(stored.at, stored.move) for stored in every] == store.history(write.run_id)
    assert [stored.move.seq for stored in every] == [1, 2, 3, 4]
    for number in range(len(every) + 1):
        after = (every[number - 1].move.seq, every[number - 1].part) if number else (0, 0)
        assert store.moves(write.run_id, after=after) == every[number:]
    assert store.moves(write.run_id, limit=2) == every[:2]
    assert store.moves(new_run_id()) == store.moves("nonsense") == []


def test_the_latest_decisions_are_read_with_their_labels_and_resources(store: Store) -> None:
    begin(store)
    first = TaskRow(pos=0, name="first", state=TaskState.RUNNING, attempt=1, executor="gpu", decision="rule 1")
    placed = msgspec.structs.replace(first, executor="workers", labels={"gpu": "true"}, resources=Resources(gpu=1))
    item = TaskRow(pos=2, name="second[0]", state=TaskState.READY, executor="default", group=1, index=0)
    rest = TaskRow(pos=1, name="second", state=TaskState.PENDING)
    old, new = new_run(tasks=[first, rest]), new_run(tasks=[placed, rest, item])
    insert(store, old)
    insert(store, new)
    assert store.decisions(10) == [
        StoredDecision(new.run_id, "v1", 0, "workers", "rule 1", {"gpu": "true"}, Resources(gpu=1)),
        StoredDecision(new.run_id, "v1", 1, "default", None, None),
        StoredDecision(old.run_id, "v1", 0, "gpu", "rule 1", None),
    ]
    assert [each.run_id for each in store.decisions(1)] == [new.run_id]


def changes(store: Store, after: int = 0) -> list[str]:
    return [change.run_id for change in store.run_changes(after, 1_000)]


def test_a_new_run_and_each_move_of_it_is_a_change_and_moves_of_tasks_are_none(store: Store) -> None:
    begin(store)
    before = store.change_span().newest
    first, second = new_run(), new_run()
    # A run that is driven from the start makes no move of its own before its end.
    first.history, second.history = [move for move in first.history if move.pos >= 0], []
    insert(store, first)
    insert(store, second)
    assert changes(store, before) == [first.run_id, second.run_id]
    seen = store.run_changes(before, 1_000)[-1].position
    store.commit([update(first.run_id, completed())])
    assert changes(store, seen) == []
    store.commit([RunWrite(run_id=second.run_id, epoch=1, run=_moved("paused"), history=[_run_move(9, "paused")])])
    assert changes(store, seen) == [second.run_id]
    assert store.change_span().newest >= store.run_changes(seen, 1)[-1].position


def test_the_start_of_a_run_that_waited_is_a_change(store: Store) -> None:
    begin(store)
    waiting = new_run(owner=None, state=RunState.PENDING, tasks=[TaskRow(pos=0, name="first", state=TaskState.PENDING)])
    insert(store, waiting)
    before = store.change_span().newest
    (claimed,) = store.claim_runs(OWNER, [WORKFLOW], 10, 1_000)
    assert claimed.run.row.state is RunState.RUNNING
    assert changes(store, before) == [waiting.run_id]


def test_the_changes_of_one_commit_are_returned_together(store: Store) -> None:
    begin(store)
    before = store.change_span().newest
    writes = [new_run() for _ in range(5)]
    insert(store, *writes)
    read: list[str] = []
    after = before
    while page := store.run_changes(after, 2):
        after = page[-1].position
        read += [change.run_id for change in page]
    assert sorted(read) == sorted(write.run_id for write in writes)


def _moved(state: str) -> RunRow:
    return RunRow(state=RunState(state), was=RunState.RUNNING)


def _run_move(seq: int, state: str) -> HistoryRow:
    return HistoryRow(seq, -1, "running", state)


def test_only_the_newest_changes_are_kept_on_sqlite(sqlite_url: str) -> None:
    store = connect(sqlite_url)
    store.open()
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        rows = [(number, "r") for number in range(1, 101_001)]
        connection.executemany("insert into run_change values (?, ?)", rows)
        connection.commit()
    assert store.change_span() == ChangeSpan(oldest=1_000, newest=101_000)
    assert store.run_changes(0, 1)[0].position == 1_001
    store.close()
