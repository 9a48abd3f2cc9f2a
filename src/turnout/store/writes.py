"""Is a batch of RunWrites one that the contract allows, and what does it need of the database?"""

from __future__ import annotations

from collections.abc import Sequence

from turnout.model.rows import RunWrite
from turnout.model.states import RUN_TERMINAL


def check(writes: Sequence[RunWrite]) -> None:
    """One write per run and one image per row: of two changes of a row in one UPDATE … FROM only one would apply."""
    if len({write.run_id for write in writes}) != len(writes):
        raise ValueError("a run has two writes in one commit; fold them into one")
    for write in writes:
        tasks = [*write.tasks, *write.items] if write.items else write.tasks
        if len(tasks) > 1 and len({task.pos for task in tasks}) != len(tasks):
            raise ValueError(f"run {write.run_id} has two images of one task in one commit; fold them into one")


def last_seq(write: RunWrite) -> int:
    return max([row.seq for row in write.history], default=0)


def finishes(write: RunWrite) -> bool:
    return write.run is not None and write.run.state in RUN_TERMINAL
