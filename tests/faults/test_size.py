"""Many tasks at once: in little time, in bounded memory."""

from __future__ import annotations

from tests.faults.children import Children
from tests.faults.guarantees import query
from tests.faults.scale import FULL, scaled

TASKS = scaled(1_000, 10_000)
LARGE_RUNS, LARGE_VALUES = scaled(4, 50), scaled(30, 200)
MIB = 1024 * 1024
SLACK = 0 if FULL else 32 * MIB
"""How far the tasks of the first run overlap makes more of a difference where there are few."""


def test_four_independent_tasks_of_one_second_take_about_one_second_on_sqlite(sqlite_children: Children) -> None:
    took = sqlite_children.start("four", seconds=1).finished()["seconds"]
    print(f"4 × 1 s took {took:.2f} s")
    assert took < 3
    assert len(sqlite_children.executions) == 4


def test_a_run_with_thousands_of_parallel_tasks_completes_in_bounded_memory(children: Children) -> None:
    found = children.start("wide", runs=TASKS, threads=32).finished()
    grown = (found["peak"] - found["before"]) / 1024
    each = grown / TASKS
    print(f"{TASKS} tasks in {found['seconds']:.1f} s; memory grew by {grown / 1024:.1f} MiB, {each:.2f} KiB a task")
    assert found["state"] == "completed"
    assert query(children.url, "select distinct state from task") == [("completed",)]
    assert len(children.executions) == TASKS + 8
    assert set(children.executions.per_task().values()) == {1}
    assert grown < 64 * 1024 + 6 * TASKS


def test_runs_with_large_values_leave_no_memory_behind(children: Children) -> None:
    found = children.start("large", runs=LARGE_RUNS, values=LARGE_VALUES).finished()
    before, peaks, resting = found["before"], found["peaks"], found["resting"]
    one_run = LARGE_VALUES * 900_000
    print(
        f"{LARGE_RUNS} runs of {LARGE_VALUES} × 900 kB: {before // MIB} MiB before, {resting // MIB} at rest afterwards"
    )
    print(f"at most so far, after each run: {[each // MIB for each in peaks]}")
    assert resting <= 1.5 * peaks[0] + SLACK
    assert resting <= before + 3 * one_run + 32 * MIB
    # How far the tasks of the first run overlap is a matter of pace; more than a run's values are never there at once.
    assert peaks[-1] <= max(2 * peaks[0], before + 2 * one_run) + 32 * MIB
