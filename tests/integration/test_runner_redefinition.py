"""Workflows that are defined anew while runs are open, and namesakes: a run executes its own definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from turnout import Context, Runner, Workflow, task, workflow
from turnout.errors import DefinitionError, InvalidWorkflow
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState
from turnout.runner import EngineSettings

pytestmark = pytest.mark.timeout(60)

CELL = """
from turnout import Context, Workflow, task, workflow

@task
def first():
    return {number}

@task
def second(before):
    return [before, {number}]

@workflow
def function_style():
    return second(first())

def load(context: Context):
    context["loaded"] = {number}

@task(depends_on=["load"])
def save(context: Context):
    context["saved"] = {number}

context_style = Workflow("context_style", tasks=[load, save])

@workflow
def with_child():
    return second.after(first())(function_style())
"""

EXPECTED: dict[str, Callable[[int], Any]] = {
    "function_style": lambda number: [number, number],
    "context_style": lambda number: {"loaded": number, "saved": number},
    "with_child": lambda number: [[number, number], number],
}


@pytest.mark.parametrize("name", list(EXPECTED))
def test_runs_that_were_submitted_before_keep_their_bodies(
    make_runner: Callable[..., Runner], gate: Any, name: str
) -> None:
    @task
    def hold() -> None:
        gate.pass_through()

    @workflow
    def holding() -> None:
        hold()

    runner = make_runner(executors={"default": ThreadExecutor(threads=1, coroutines=1, max_backlog=0)})
    blocker = runner.submit(holding)
    assert gate.reached(), "the only thread is taken: nothing else starts"
    notebook: dict[str, Any] = {"__name__": "__main__"}
    runs: list[Any] = []
    for number in (1, 2, 3):
        exec(CELL.format(number=number), notebook)
        runs.append(runner.submit(notebook[name]))
    gate.open()
    assert [run.result(20) for run in runs] == [EXPECTED[name](number) for number in (1, 2, 3)]
    assert blocker.wait(20) is RunState.COMPLETED


def test_a_run_that_waits_for_room_in_memory_keeps_its_bodies(make_runner: Callable[..., Runner], gate: Any) -> None:
    @task
    def hold() -> None:
        gate.pass_through()

    @workflow
    def holding() -> None:
        hold()

    runner = make_runner(settings=EngineSettings(stop_grace=1.0, max_owned_runs=1, sweep=0.2))
    runner.submit(holding)
    assert gate.reached()
    notebook: dict[str, Any] = {"__name__": "__main__"}
    runs: list[Any] = []
    for number in (1, 2):
        exec(CELL.format(number=number), notebook)
        runs.append(runner.submit(notebook["function_style"]))
    assert not any(runner.core.admin.owns(run.id) for run in runs), "they are stored, and nobody drives them yet"
    gate.open()
    assert [run.result(20) for run in runs] == [[1, 1], [2, 2]]


def made_by_function(number: int) -> Any:
    @task
    def work() -> int:
        return number

    @workflow(name="billing")
    def flow() -> int:
        return work()

    return flow


def made_in_context_style(number: int) -> Any:
    def work(context: Context) -> None:
        context["number"] = number

    return Workflow("billing", tasks=[work])


@pytest.mark.parametrize(("make", "result"), [(made_by_function, 1), (made_in_context_style, {"number": 1})])
def test_a_live_namesake_is_refused_and_the_first_goes_on(
    sqlite_runner: Runner, make: Callable[[int], Any], result: Any
) -> None:
    first, second = make(1), make(2)
    run = sqlite_runner.submit(first)
    with pytest.raises(DefinitionError, match="two workflows are named") as caught:
        sqlite_runner.submit(second)
    assert caught.value.code == "duplicate_workflow"
    assert run.result(20) == sqlite_runner.run(first) == result


@pytest.mark.parametrize("make", [made_by_function, made_in_context_style])
def test_a_runner_does_not_start_with_two_workflows_of_one_name(
    make_sqlite_runner: Callable[..., Runner], make: Callable[[int], Any]
) -> None:
    both = [make(1), make(2)]
    with pytest.raises(DefinitionError) as caught:
        make_sqlite_runner(workflows=both)
    assert caught.value.code == "duplicate_workflow"


def test_a_restart_with_changed_bodies_continues_open_runs(make_runner: Callable[..., Runner]) -> None:
    notebook: dict[str, Any] = {"__name__": "__main__"}
    exec(CELL.format(number=1), notebook)
    first = make_runner(workflows=[notebook["function_style"]], drives=False)
    run = first.submit(notebook["function_style"])
    first.close(5.0)
    exec(CELL.format(number=2), notebook)
    again = make_runner(workflows=[notebook["function_style"]]).get(run.id)
    assert again.result(20) == [2, 2]


def test_a_workflow_that_raises_while_it_is_drawn_is_named(make_sqlite_runner: Callable[..., Runner]) -> None:
    @workflow
    def broken() -> None:
        raise KeyError("no such setting")

    with pytest.raises(
        InvalidWorkflow, match=r"workflow 'broken' .* raised KeyError .*: 'no such setting' at .*py:\d+"
    ):
        make_sqlite_runner(workflows=[broken])


def test_a_program_s_other_workflows_run_although_one_cannot_be_drawn(
    make_sqlite_runner: Callable[..., Runner], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    @workflow(name="broken_beside_others")
    def broken() -> None:
        raise KeyError("no such setting")

    # What other tests have defined in this process is not this program's.
    monkeypatch.setattr("turnout.runner.composition.defined_workflows", lambda: [broken])
    runner = make_sqlite_runner(workflows=None)
    assert "embedded::broken_beside_others is left out: workflow 'broken_beside_others'" in caplog.text
    assert runner.run(made_by_function(1)) == 1
    with pytest.raises(InvalidWorkflow) as caught:
        runner.submit(broken)
    assert caught.value.code == "drawing_failed"
