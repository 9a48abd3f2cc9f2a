"""The writes of an ordinary run carry only the columns that they change."""

from __future__ import annotations

from kit.runs import HERE, OWNER, graph_of, new_run, task

from turnout.model.events import ExecutionResult
from turnout.model.run_machine import RunMachine
from turnout.model.transition import Transition
from turnout.model.verdict import Limits
from turnout.store.postgres.ledger import statements_of


def test_no_write_of_a_run_that_starts_completes_and_ends_needs_whole_images() -> None:
    machine = RunMachine.create(graph_of(task("first"), task("second", "first")), new_run(), Limits())
    first = Transition(machine, 1.0)
    first.begin()
    event = first.start(0, HERE, OWNER)
    (insert,) = statements_of([first.insert(OWNER)])
    machine.apply(first)
    blocks = [insert.block]
    for pos in (0, 1):
        then = Transition(machine, 2.0)
        assert then.result(ExecutionResult.success(event, pos), pos)
        for ready in then.ready():
            event = then.start(ready, HERE, OWNER)
        then.finish()
        blocks += [statement.block for statement in statements_of([then.write()])]
        machine.apply(then)
    assert blocks == ["insert_batch", "update_steps", "update_steps"]
