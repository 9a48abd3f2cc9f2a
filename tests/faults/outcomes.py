"""What must be true of runs that were submitted through faults: the database's word against the bodies' own file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.faults.children import Executions
from tests.faults.guarantees import Ledger, check_history
from turnout.model.states import TaskState

CHAIN = ("first", "second", "third")


def each_ran_once(executions: Executions, runs: int, tasks: Sequence[str] = CHAIN) -> None:
    """By the file alone: every body of every run once, and nothing else."""
    expected = Counter({(f"r{number}", task): 1 for number in range(runs) for task in tasks})
    found = executions.per_task()
    assert found == expected, (
        f"missing {list((expected - found).items())[:5]}, too many {list((found - expected).items())[:5]}"
    )


def all_completed(url: str, executions: Executions, runs: int, *, kills: int = 0) -> Ledger:
    """Every key has one run, which completed; no recorded result was made again; nothing ran more than need be."""
    ledger = check_history(url)
    by_key = ledger.by_key()
    assert len(ledger.runs) == len(by_key) == runs
    unfinished = {key: (run.state, run.reason) for key, run in by_key.items() if run.state != "completed"}
    assert not unfinished, f"{len(unfinished)} runs did not complete: {list(unfinished.items())[:5]}"
    recorded = {(ledger.runs[task.run_id].key, task.name): task for task in ledger.tasks.values()}
    assert all(task.state == TaskState.COMPLETED for task in recorded.values())
    found = executions.all()
    twice = [each for each, times in Counter((e.key, e.task, e.attempt) for e in found).items() if times > 1]
    assert not twice, f"attempts whose body started twice: {twice[:5]}"
    late = [e for e in found if e.attempt > recorded[e.key, e.task].attempt]
    assert not late, f"bodies that started although a result was recorded: {late[:5]}"
    missing = {(key, name, task.attempt) for (key, name), task in recorded.items()} - {
        (e.key, e.task, e.attempt) for e in found
    }
    assert not missing, f"results without an execution: {list(missing)[:5]}"
    most = max(executions.per_task().values())
    assert most <= 1 + kills, f"a body ran {most} times with {kills} kills"
    return ledger
