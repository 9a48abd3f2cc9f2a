"""The writes of an ordinary run carry only the columns that they change."""

from __future__ import annotations

import pytest
from kit.runs import HERE, OWNER, graph_of, new_run, task
from msgspec.structs import replace

from turnout.model.events import ExecutionResult
from turnout.model.rows import RunWrite
from turnout.model.run_machine import RunMachine
from turnout.model.transition import Transition
from turnout.model.verdict import Limits
from turnout.store.postgres.ledger import statements_of


def _another(write: RunWrite) -> RunWrite:
    """The same write of another run."""
    run_id = new_run().run_id
    new = None if write.insert is None else replace(write.insert, run_id=run_id)
    return replace(write, run_id=run_id, insert=new)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [(1, ["insert_run", "update_step", "update_step"]), (2, ["insert_batch", "update_steps", "update_steps"])],
)
def test_no_write_of_a_run_that_starts_completes_and_ends_needs_whole_images(runs: int, expected: list[str]) -> None:
    def blocks_of(write: RunWrite) -> list[str]:
        writes = [write, *(_another(write) for _ in range(runs - 1))]
        return [statement.block for statement in statements_of(writes)]

    machine = RunMachine.create(graph_of(task("first"), task("second", "first")), new_run(), Limits())
    first = Transition(machine, 1.0)
    first.begin()
    event = first.start(0, HERE, OWNER)
    blocks = blocks_of(first.insert(OWNER))
    machine.apply(first)
    for pos in (0, 1):
        then = Transition(machine, 2.0)
        assert then.result(ExecutionResult.success(event, pos), pos)
        for ready in then.ready():
            event = then.start(ready, HERE, OWNER)
        then.finish()
        blocks += blocks_of(then.write())
        machine.apply(then)
    assert blocks == expected
