"""Pages of tasks, of one run and of all that have not ended."""

from __future__ import annotations

from tests.conformance.store_rows import OWNER, WORKFLOW, begin, completed, insert, new_run, update
from turnout.contracts.store import Store
from turnout.model.names import new_run_id
from turnout.model.rows import HistoryRow, RunRow, RunWrite, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.model.task_lists import ItemGroup, OpenTaskFilter, TaskFilter, WaitingTask

ITEMS = 6


def mapped_run(store: Store) -> str:
    """A run with a task that has completed, and a mapped task with items in three states."""
    run_id = new_run_id()
    states = [TaskState.COMPLETED, TaskState.RUNNING, TaskState.READY]
    rows = [
        TaskRow(
            pos=0, name="spread", state=TaskState.COMPLETED, attempt=1, output='"ä"', started_at=1.0, finished_at=2.0
        ),
        TaskRow(pos=1, name="add", state=TaskState.RUNNING, attempt=1),
        *(
            TaskRow(
                pos=2 + index,
                name=f"add[{index}]",
                state=states[index % 3],
                attempt=1,
                group=1,
                index=index,
                started_at=10.0 + index,
                finished_at=20.0 + index if index % 3 == 0 else None,
                reason="no_capacity" if index % 3 == 2 else None,
                executor="default",
                holder="w-1" if index == 1 else None,
                seq=2 + index,
            )
            for index in range(ITEMS)
        ),
    ]
    write = new_run(run_id=run_id, tasks=rows)
    moves = [HistoryRow(2 + index, 2 + index, "pending", "ready") for index in range(ITEMS)]
    made = RunWrite(
        run_id=run_id,
        epoch=write.epoch,
        owner=write.owner,
        insert=write.insert,
        run=write.run,
        tasks=rows,
        history=[*write.history, *moves],
    )
    insert(store, made)
    return run_id


def test_tasks_are_paged_by_position_state_and_mapped_task(store: Store) -> None:
    begin(store)
    run_id = mapped_run(store)

    def names(wanted: TaskFilter, after: int = -1, limit: int = 100) -> list[str]:
        return [row.name for row in store.tasks_page(run_id, wanted, after=after, limit=limit)]

    assert names(TaskFilter(top_level=True)) == ["spread", "add"]
    assert names(TaskFilter(item_of=1), limit=4) == ["add[0]", "add[1]", "add[2]", "add[3]"]
    assert names(TaskFilter(item_of=1), after=5) == ["add[4]", "add[5]"]
    assert names(TaskFilter(item_of=1, states=(TaskState.READY,))) == ["add[2]", "add[5]"]
    assert names(TaskFilter(item_of=99)) == []
    assert all(row.output is None for row in store.tasks_page(run_id, TaskFilter()))
    assert store.tasks_page("no id", TaskFilter()) == []


def test_tasks_and_items_are_counted_by_state(store: Store) -> None:
    begin(store)
    run_id = mapped_run(store)
    assert store.tasks_by_state(run_id, TaskFilter(top_level=True)) == {TaskState.COMPLETED: 1, TaskState.RUNNING: 1}
    thirds = {TaskState.COMPLETED: 2, TaskState.RUNNING: 2, TaskState.READY: 2}
    assert store.tasks_by_state(run_id, TaskFilter(item_of=1, states=(TaskState.FAILED,))) == thirds
    assert store.item_groups(run_id) == {1: ItemGroup(thirds, started_at=10.0, finished_at=23.0)}
    assert store.item_counts_of([run_id]) == {run_id: {1: thirds}}
    assert store.graph_tasks_of([run_id], most=1)[run_id][0].name == "spread"
    (spread, add) = store.graph_tasks_of([run_id, new_run_id()])[run_id]
    assert (spread.name, spread.state, spread.started_at, spread.finished_at) == ("spread", "completed", 1.0, 2.0)
    assert (add.pos, add.attempt) == (1, 1)


def test_one_task_is_found_by_its_name_and_its_output_is_measured_in_bytes(store: Store) -> None:
    begin(store)
    run_id = mapped_run(store)
    found = store.task_named(run_id, "add[3]")
    assert found is not None and (found.pos, found.index, found.output) == (5, 3, None)
    assert store.task_named(run_id, "add[99]") is None
    assert store.output_sizes(run_id, [0, 1]) == {0: 4}


def test_the_moves_of_some_tasks_are_read_alone(store: Store) -> None:
    begin(store)
    run_id = mapped_run(store)
    assert [move.pos for _, move in store.moves_between(run_id, 3, 5)] == [3, 4, 5]
    assert [(at, move) for at, move in store.history(run_id) if 3 <= move.pos <= 5] == store.moves_between(run_id, 3, 5)


def test_open_tasks_are_found_by_state_executor_holder_and_reason(store: Store) -> None:
    begin(store)
    first, second = mapped_run(store), mapped_run(store)
    ready = store.open_tasks(OpenTaskFilter(states=(TaskState.READY,)), 10)
    assert [(task.run_id, task.name) for task in ready] == [
        (run_id, name) for run_id in sorted((first, second)) for name in ("add[2]", "add[5]")
    ]
    assert ready[0].reason == "no_capacity" and ready[0].workflow == WORKFLOW and ready[0].item_of == 1
    since = ready[0].since
    assert since is not None and abs(since - store.clock()) < 60, "the time of the move is that of its commit"
    held = store.open_tasks(OpenTaskFilter(states=(TaskState.RUNNING,), holder="w-1"), 10)
    assert {task.name for task in held} == {"add[1]"} and len(held) == 2
    assert store.open_tasks(OpenTaskFilter(states=(TaskState.READY,), executor="other"), 10) == []
    by_reason = OpenTaskFilter(states=(TaskState.READY,), executor="default", reason="no_cap")
    assert len(store.open_tasks(by_reason, 3)) == 3
    assert store.open_tasks(OpenTaskFilter(states=(TaskState.READY,), reason="no%"), 3) == []


def test_the_first_waiting_task_of_each_run_is_found_with_how_many_wait(store: Store) -> None:
    begin(store)
    first, second = mapped_run(store), mapped_run(store)
    none = new_run(owner=OWNER)
    insert(store, none)
    insert(store, update(none.run_id, completed(), run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING)))
    waits = WaitingTask("add[2]", "no_capacity", 2)
    assert store.first_waiting_tasks([first, none.run_id, second, "no id"]) == {first: waits, second: waits}
    assert store.first_waiting_tasks([]) == {}


def test_tasks_of_runs_that_have_ended_are_not_open(store: Store) -> None:
    begin(store)
    write = new_run(owner=OWNER)
    insert(store, write)
    done = RunRow(state=RunState.COMPLETED, was=RunState.RUNNING)
    assert store.open_tasks(OpenTaskFilter(states=tuple(TaskState)), 10) != []
    insert(store, update(write.run_id, completed(), run=done))
    assert store.open_tasks(OpenTaskFilter(states=tuple(TaskState)), 10) == []


def test_the_newest_line_of_a_run_is_known(store: Store) -> None:
    begin(store)
    run_id = mapped_run(store)
    assert store.last_line(run_id) == 0 and store.last_line("no id") == 0
