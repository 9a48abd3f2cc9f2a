"""Every write is a compare-and-swap, with its history made from the rows really updated."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.conformance.store_rows import OWNER, begin, completed, insert, moved, new_run, update
from turnout.contracts.store import Store
from turnout.errors import StoreRejected
from turnout.model.events import ErrorInfo
from turnout.model.names import new_run_id
from turnout.model.resources import Resources
from turnout.model.rows import HistoryRow, RunRow, RunWrite, TaskRow
from turnout.model.states import RUN_TERMINAL, TASK_FOLDED, TASK_TERMINAL, RunState, TaskState, run_writes, task_writes


@pytest.fixture
def run(store: Store) -> RunWrite:
    begin(store)
    write = new_run()
    insert(store, write)
    return write


def test_a_new_run_is_read_back_as_it_was_submitted(store: Store) -> None:
    begin(store)
    parent = new_run()
    insert(store, parent)
    write = new_run(
        key="k",
        input_digest="abc",
        priority=3,
        timeout=9.5,
        rerun_of=new_run_id(),
        parent_run=parent.run_id,
        parent_pos=0,
        parent_attempt=1,
        depth=2,
    )
    insert(store, write)
    stored = store.run(write.run_id)
    assert stored is not None
    assert stored.new == write.insert
    assert (stored.owner, stored.epoch, stored.seq, stored.row.state) == (OWNER, 1, 3, RunState.RUNNING)
    assert 0 <= stored.age < 60
    assert store.tasks(write.run_id) == write.tasks
    assert [row for _, row in store.history(write.run_id)] == write.history


ASKED = Resources(cpu=0.5, memory=2**33, custom={"license": 1})


def test_every_column_of_a_task_survives_an_update(store: Store, run: RunWrite) -> None:
    image = TaskRow(
        pos=0,
        name="first",
        state=TaskState.READY,
        was=TaskState.RUNNING,
        was_attempt=1,
        attempt=1,
        failures=1,
        crashes=2,
        losses=3,
        reason="retry_at",
        retry_in=30.0,
        executor="gpu",
        decision="rule ü 'x' \"y\" \\",
        labels={"gpu": "true"},
        resources=ASKED,
        poll_key="pollers",
        holder="someone",
        output='{"a": "\\u00e9\\n"}',
        error=ErrorInfo("ValueError", "bad ☃ \\ \" '", "trace\nback", ("builtins.ValueError",)),
        dispatched_at=1.25,
        started_at=2.5,
        finished_at=3.75,
        seq=4,
    )
    assert store.commit([update(run.run_id, image)])[0].applied
    found = store.tasks(run.run_id)[0]
    assert found.retry_in == pytest.approx(30, abs=5)
    assert found == msgspec.structs.replace(image, was=None, was_attempt=0, retry_in=found.retry_in)


def test_several_runs_are_written_in_one_commit_and_answered_in_order(store: Store, run: RunWrite) -> None:
    fresh, other = new_run(), new_run()
    insert(store, other)
    outcomes = store.commit(
        [update(run.run_id, completed()), fresh, update(other.run_id, completed())], wake=frozenset({"runs"})
    )
    assert [(outcome.run_id, outcome.applied) for outcome in outcomes] == [
        (run.run_id, True),
        (fresh.run_id, True),
        (other.run_id, True),
    ]
    assert store.tasks(run.run_id)[0].state is TaskState.COMPLETED
    assert store.run(fresh.run_id) is not None


def test_an_empty_commit_is_nothing(store: Store) -> None:
    assert store.commit([]) == []


def test_a_row_in_another_state_is_stale(store: Store, run: RunWrite) -> None:
    outcome = store.commit([update(run.run_id, completed(was=TaskState.READY))])[0]
    assert outcome.stale == (0,)
    assert store.tasks(run.run_id)[0].state is TaskState.RUNNING


def test_a_row_of_another_attempt_is_stale(store: Store, run: RunWrite) -> None:
    outcome = store.commit([update(run.run_id, completed(attempt=2))])[0]
    assert outcome.stale == (0,)
    assert store.tasks(run.run_id)[0].attempt == 1


def test_a_row_of_another_epoch_is_stale_and_so_is_the_run(store: Store, run: RunWrite) -> None:
    ended = RunRow(state=RunState.COMPLETED, was=RunState.RUNNING)
    for epoch in (0, 2):
        outcome = store.commit([update(run.run_id, completed(), epoch=epoch, run=ended)])[0]
        assert outcome.stale == (0, -1)
    assert moved(store, run.run_id) == [(-1, None, "running"), (0, "pending", "ready"), (0, "ready", "running")]


CHANGES = {
    "start": TaskRow(
        pos=1,
        state=TaskState.RUNNING,
        was=TaskState.PENDING,
        attempt=1,
        executor="default",
        decision="default executor",
        holder=OWNER,
        dispatched_at=1.0,
        seq=4,
    ),
    "completion": completed(),
    "failure": TaskRow(
        pos=0,
        state=TaskState.FAILED,
        was=TaskState.RUNNING,
        was_attempt=1,
        attempt=1,
        failures=1,
        error=ErrorInfo("ValueError", "no"),
        seq=4,
    ),
}
"""A change of each kind that the stores have a statement for: a start, a completion, a whole row."""
STALE = {
    "of an older epoch": lambda row: update("", row, epoch=0),
    "of a newer epoch": lambda row: update("", row, epoch=2),
    "from another state": lambda row: update("", replace(row, was=TaskState.READY)),
    "of another attempt": lambda row: update(
        "", replace(row, was_attempt=row.was_attempt + 1, attempt=row.attempt + 1)
    ),
}


@pytest.mark.parametrize("why", STALE)
@pytest.mark.parametrize("kind", CHANGES)
def test_no_kind_of_change_applies_to_a_row_that_it_was_not_made_for(
    store: Store, run: RunWrite, kind: str, why: str
) -> None:
    row = CHANGES[kind]
    before = store.tasks(run.run_id)
    outcome = store.commit([replace(STALE[why](row), run_id=run.run_id)])[0]
    assert outcome.stale == (row.pos,)
    assert store.tasks(run.run_id) == before
    assert store.commit([update(run.run_id, row)])[0].applied, "the same change, made for the row"


def test_a_row_that_does_not_exist_is_stale(store: Store, run: RunWrite) -> None:
    outcomes = store.commit([update(run.run_id, completed(pos=7)), update(new_run_id(), completed())])
    assert [outcome.stale for outcome in outcomes] == [(7,), (0,)]


def test_history_is_made_only_from_the_rows_really_updated(store: Store, run: RunWrite) -> None:
    start = TaskRow(pos=1, state=TaskState.RUNNING, was=TaskState.READY, attempt=1, seq=6)
    outcome = store.commit([update(run.run_id, completed(), start)])[0]
    assert outcome.stale == (1,)
    assert store.tasks(run.run_id)[0].state is TaskState.COMPLETED
    assert store.tasks(run.run_id)[1].state is TaskState.PENDING
    assert moved(store, run.run_id)[3:] == [(0, "running", "completed")]


def test_a_stale_run_row_leaves_the_task_rows_that_match(store: Store, run: RunWrite) -> None:
    wrong = RunRow(state=RunState.CANCELLED, was=RunState.CANCELLING)
    outcome = store.commit([update(run.run_id, completed(), run=wrong)])[0]
    assert outcome.stale == (-1,)
    assert moved(store, run.run_id)[3:] == [(0, "running", "completed")]


def test_one_stale_run_does_not_touch_the_others_of_its_batch(store: Store, run: RunWrite) -> None:
    other = new_run()
    insert(store, other)
    outcomes = store.commit([update(run.run_id, completed(), epoch=9), update(other.run_id, completed()), new_run()])
    assert [outcome.applied for outcome in outcomes] == [False, True, True]
    assert store.tasks(other.run_id)[0].state is TaskState.COMPLETED


def test_the_same_write_applies_only_once(store: Store, run: RunWrite) -> None:
    write = update(run.run_id, completed())
    assert store.commit([write])[0].applied
    assert store.commit([write])[0].stale == (0,)
    assert len(moved(store, run.run_id)) == 4


def test_a_finished_run_has_no_owner(store: Store, run: RunWrite) -> None:
    ended = RunRow(
        state=RunState.FAILED, was=RunState.RUNNING, error=ErrorInfo("E", "m"), reason="why", finished_at=7.0
    )
    assert store.commit([update(run.run_id, completed(), run=ended)])[0].applied
    stored = store.run(run.run_id)
    assert stored is not None and stored.owner is None
    assert stored.row == msgspec.structs.replace(ended, was=None)
    assert stored.seq == 5


def test_every_move_of_a_commit_is_in_the_history(store: Store, run: RunWrite) -> None:
    image = TaskRow(pos=1, state=TaskState.RUNNING, was=TaskState.PENDING, attempt=1, seq=6)
    write = update(run.run_id, completed(), image)
    write.history = [write.history[0], HistoryRow(5, 1, "pending", "ready"), HistoryRow(6, 1, "ready", "running", 1)]
    assert store.commit([write])[0].applied
    assert moved(store, run.run_id)[3:] == [
        (0, "running", "completed"),
        (1, "pending", "ready"),
        (1, "ready", "running"),
    ]


def test_two_images_of_one_row_are_refused(store: Store, run: RunWrite) -> None:
    with pytest.raises(ValueError, match="two images"):
        store.commit([update(run.run_id, completed(), completed(seq=5))])
    with pytest.raises(ValueError, match="two writes"):
        store.commit([update(run.run_id, completed()), update(run.run_id, completed())])


# -- inserting --------------------------------------------------------------------------------------------------------
def test_the_same_key_never_makes_two_runs(store: Store) -> None:
    begin(store)
    first, second = new_run(key="order-1", input_digest="a"), new_run(key="order-1", input_digest="b")
    insert(store, first)
    outcome = store.commit([second])[0]
    assert (outcome.existing, outcome.existing_digest, outcome.applied) == (first.run_id, "a", False)
    assert store.run(second.run_id) is None
    assert store.tasks(second.run_id) == [] and store.history(second.run_id) == []


def test_the_same_key_twice_in_one_batch_makes_one_run(store: Store) -> None:
    begin(store)
    first, second, third = new_run(key="k", input_digest="a"), new_run(key="k", input_digest="b"), new_run(key="other")
    outcomes = store.commit([first, second, third])
    assert [outcome.existing for outcome in outcomes] == [None, first.run_id, None]
    assert outcomes[1].existing_digest == "a"
    assert len(store.runs()) == 2


def test_the_same_key_in_another_workflow_is_another_run(store: Store) -> None:
    begin(store)
    insert(store, new_run(key="k"), new_run(key="k", workflow="public::embedded::other"))


def test_an_insert_that_is_repeated_after_an_unknown_outcome_finds_itself(store: Store) -> None:
    begin(store)
    plain, keyed = new_run(), new_run(key="k", input_digest="d")
    insert(store, plain, keyed)
    assert store.commit([update(plain.run_id, completed())])[0].applied
    outcomes = store.commit([plain, keyed])
    assert [(outcome.existing, outcome.existing_digest) for outcome in outcomes] == [
        (plain.run_id, ""),
        (keyed.run_id, "d"),
    ]
    assert store.tasks(plain.run_id)[0].state is TaskState.COMPLETED
    assert len(moved(store, plain.run_id)) == 4


# -- what the database itself refuses ---------------------------------------------------------------------------------
def _image(old: TaskState, new: TaskState) -> TaskRow:
    started = TaskState.RUNNING in TASK_FOLDED.get((old, new), ())
    return TaskRow(pos=0, state=new, was=old, was_attempt=1, attempt=2 if started else 1, seq=9)


def test_the_database_accepts_exactly_the_listed_moves_of_a_task(store: Store) -> None:
    begin(store)
    unmoved = {(state, state) for state in (TaskState.PENDING, TaskState.READY)}
    for old in TaskState:
        for new in TaskState:
            write = new_run(tasks=[TaskRow(pos=0, name="t", state=old, attempt=1)])
            insert(store, write)
            change = update(write.run_id, _image(old, new))
            if (old, new) in task_writes() | unmoved:
                assert store.commit([change])[0].applied, (old, new)
            else:
                with pytest.raises(StoreRejected, match="illegal move"):
                    store.commit([change])


def test_the_database_accepts_exactly_the_listed_moves_of_a_run(store: Store) -> None:
    begin(store)
    unmoved = {(state, state) for state in RunState if not state.terminal}
    for old in RunState:
        for new in RunState:
            write = new_run(state=old)
            insert(store, write)
            change = update(write.run_id, run=RunRow(state=new, was=old))
            if (old, new) in run_writes() | unmoved:
                assert store.commit([change])[0].applied, (old, new)
            else:
                with pytest.raises(StoreRejected, match="illegal move"):
                    store.commit([change])


def test_an_attempt_never_decreases_and_a_retry_at_once_needs_a_larger_one(store: Store, run: RunWrite) -> None:
    for state, attempt in ((TaskState.READY, 0), (TaskState.RUNNING, 1)):
        image = TaskRow(pos=0, state=state, was=TaskState.RUNNING, was_attempt=1, attempt=attempt, seq=9)
        with pytest.raises(StoreRejected, match="illegal move"):
            store.commit([update(run.run_id, image)])


def test_terminal_is_terminal() -> None:
    assert not [pair for pair in task_writes() if pair[0] in TASK_TERMINAL]
    assert not [pair for pair in run_writes() if pair[0] in RUN_TERMINAL]


@pytest.mark.parametrize("poison", ["a\x00b", "a\ud800b"], ids=["nul", "surrogate"])
def test_a_poison_row_is_rejected_and_nothing_of_its_batch_is_written(store: Store, run: RunWrite, poison: str) -> None:
    other, fresh = new_run(), new_run()
    insert(store, other)
    with pytest.raises(StoreRejected) as caught:
        store.commit([update(other.run_id, completed()), update(run.run_id, completed(output=poison)), fresh])
    assert caught.value.code == "store_rejected"
    assert store.tasks(other.run_id)[0].state is TaskState.RUNNING
    assert store.run(fresh.run_id) is None
    assert store.commit([update(other.run_id, completed()), fresh])[0].applied


def test_a_completed_row_has_nothing_left_of_what_its_attempt_had_beside_its_start(store: Store) -> None:
    begin(store)
    error = ErrorInfo("ValueError", "of an earlier attempt")
    running = TaskRow(
        pos=0,
        name="first",
        state=TaskState.RUNNING,
        attempt=2,
        failures=1,
        reason="why",
        executor="default",
        decision="it is the default",
        labels={"gpu": "true"},
        resources=ASKED,
        poll_key="polling",
        holder=OWNER,
        error=error,
        dispatched_at=1.0,
        seq=3,
        memo='{"saved":"1"}',
    )
    write = new_run(tasks=[running])
    insert(store, write)
    image = msgspec.structs.replace(
        running,
        state=TaskState.COMPLETED,
        was=TaskState.RUNNING,
        was_attempt=2,
        reason=None,
        poll_key=None,
        error=None,
        memo=None,
        output="1",
        started_at=2.0,
        finished_at=3.0,
        seq=4,
    )
    assert store.commit([update(write.run_id, image)])[0].applied
    assert store.tasks(write.run_id) == [msgspec.structs.replace(image, was=None, was_attempt=0)]


def test_a_started_row_keeps_what_its_earlier_attempts_left_and_nothing_of_its_wait(store: Store) -> None:
    begin(store)
    waiting = TaskRow(
        pos=0,
        name="first",
        state=TaskState.READY,
        attempt=3,
        failures=1,
        crashes=1,
        losses=1,
        reason="no_capacity",
        retry_in=0.0,
        executor="gpu",
        decision="a rule of then",
        labels={"gpu": "true"},
        resources=ASKED,
        error=ErrorInfo("ValueError", "of an earlier attempt"),
        seq=3,
        memo='{"saved":"1"}',
    )
    write = new_run(tasks=[waiting])
    insert(store, write)
    image = msgspec.structs.replace(
        waiting,
        state=TaskState.RUNNING,
        was=TaskState.READY,
        was_attempt=3,
        attempt=4,
        reason=None,
        retry_in=None,
        executor="default",
        decision="it is the default",
        labels=None,
        resources=None,
        holder=OWNER,
        dispatched_at=1.0,
        seq=4,
    )
    assert store.commit([update(write.run_id, image)])[0].applied
    assert store.tasks(write.run_id) == [msgspec.structs.replace(image, was=None, was_attempt=0)]


@pytest.mark.parametrize("text", ["line\nfeed", "tab\t", "bell\a", '"\\\\"', "{a,b}", "NULL", "é☃", '\\n \\"'])
def test_every_text_is_kept_as_it_is(store: Store, run: RunWrite, text: str) -> None:
    output = msgspec.json.encode(text).decode()
    start = TaskRow(
        pos=1,
        state=TaskState.RUNNING,
        was=TaskState.PENDING,
        attempt=1,
        executor=text,
        decision=text,
        holder=text,
        seq=5,
    )
    assert store.commit([update(run.run_id, completed(output=output), start)])[0].applied
    second = store.tasks(run.run_id)[1]
    assert store.outputs(run.run_id, [0]) == {0: output}
    assert (second.executor, second.decision, second.holder) == (text, text, text)


def test_text_that_only_looks_like_an_escape_is_kept(store: Store, run: RunWrite) -> None:
    text = '"\\\\u0000"'
    assert store.commit([update(run.run_id, completed(output=text))])[0].applied
    assert store.outputs(run.run_id, [0]) == {0: text}


def test_a_batch_of_thousands_is_one_commit(store: Store) -> None:
    begin(store)
    tasks = [TaskRow(pos=pos, name=f"t{pos}", state=TaskState.RUNNING, attempt=1, seq=pos + 1) for pos in range(3000)]
    write = new_run(tasks=tasks)
    insert(store, write)
    images = [completed(pos=pos, seq=3001 + pos) for pos in range(3000)]
    assert store.commit([update(write.run_id, *images)])[0].applied
    assert {row.state for row in store.tasks(write.run_id)} == {TaskState.COMPLETED}
    stale = store.commit([update(write.run_id, *images)])[0].stale
    assert len(stale) == 3000
