"""``max_active_steps``: no more tasks of one run are at work than its workflow allows, whatever happens to them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kit.runs import SOON, TinyRun, mapped, task

from turnout.model.graph import Graph
from turnout.model.run_machine import RunMachine
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.model.states import RunState, TaskState


class NarrowRun(TinyRun):
    """A run whose workflow allows so many tasks at once."""

    def __init__(self, steps: int, *tasks: TaskSpec) -> None:
        super().__init__(*tasks)
        self.graph = Graph(WorkflowSpec("flow", tasks, max_active_steps=steps))
        self.machine = RunMachine.create(self.graph, self.new, self.limits)

    def running(self) -> list[str]:
        rows = self.table.tasks.values()
        return [row.name for row in rows if row.state is TaskState.RUNNING and row.pos not in self.graph.mapped]


def test_the_next_task_starts_in_the_commit_that_ends_one() -> None:
    run = NarrowRun(2, task("a"), task("b"), task("c"), task("d", priority=5))
    run.start()
    assert run.running() == ["a", "d"]
    run.complete("a")
    assert sorted(run.running()) == ["b", "d"]


def test_a_task_that_waits_for_its_retry_leaves_its_place_to_others() -> None:
    run = NarrowRun(1, task("a", attempts=2, delay=SOON), task("b"))
    run.start()
    run.fail("a")
    assert run.running() == ["b"]
    run.due("a")
    assert run.running() == ["b"]
    run.complete("b")
    assert run.running() == ["a"]


def test_items_count_and_their_mapped_task_does_not() -> None:
    run = NarrowRun(2, mapped("m", over=[1, 2, 3]), task("z"))
    run.start()
    assert len(run.running()) == 2
    while run.run_state is RunState.RUNNING:
        run.complete(run.running()[0])
        assert len(run.running()) <= 2
    assert run.run_state is RunState.COMPLETED


@given(st.integers(1, 4), st.lists(st.sampled_from(["complete", "fail", "adopt"]), max_size=30))
def test_the_limit_holds_in_every_order_of_events(steps: int, events: list[str]) -> None:
    tasks = (task("a", attempts=2), task("b"), mapped("m", "a", over=[1, 2, 3], max_parallel=2), task("c", "b"))
    run = NarrowRun(steps, *tasks)
    run.start()
    for event in events:
        running = run.running()
        assert len(running) <= steps
        if run.run_state is not RunState.RUNNING:
            return
        assert running, "something is at work as long as the run goes on"
        if event == "adopt":
            run.adopt()
        elif event == "fail":
            run.fail(running[0])
        else:
            run.complete(running[-1])
        assert run.machine.busy == len(run.running())
