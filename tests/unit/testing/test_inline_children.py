"""Child runs in tests without a database: the same decisions, in the calling thread."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import Context, Workflow, task, workflow
from turnout.errors import DefinitionError, RunFailed
from turnout.testing import ManualClock, inline, run_inline


@task
def double(number: int) -> int:
    return 2 * number


@workflow
def quadruple(number: int) -> int:
    return double(double(number))


@workflow
def outer(number: int) -> int:
    return double(quadruple(number))


def test_a_child_runs_inline() -> None:
    run = inline(outer, 1)
    assert run.result() == 8
    assert run.children["quadruple"].result() == 4


def test_fakes_stand_in_for_the_tasks_of_children_and_for_children() -> None:
    @workflow
    def top(number: int) -> int:
        return outer(number)

    assert run_inline(top, 1, fakes={double: lambda number: number + 1}) == 4
    assert run_inline(top, 1, fakes={quadruple: 100}) == 200
    assert run_inline(top, 1, fakes={"outer": lambda number: number}) == 1
    with pytest.raises(DefinitionError, match="or of its children: did you mean 'double'") as caught:
        run_inline(top, 1, fakes={"duoble": 1})
    assert caught.value.code == "unknown_task"


def test_a_failed_child_is_tried_again_from_its_failures() -> None:
    calls: list[str] = []

    @task
    def steady() -> int:
        calls.append("steady")
        return 1

    @task
    def flaky(number: int) -> int:
        calls.append("flaky")
        if calls.count("flaky") == 1:
            raise ConnectionError("no")
        return number

    @workflow
    def inner() -> int:
        return flaky(steady())

    @workflow
    def tries() -> int:
        return inner.options(retries=1)()

    assert run_inline(tries) == 1
    assert calls == ["steady", "flaky", "flaky"]


def test_a_failed_child_fails_its_parent_and_the_cause_is_what_the_body_raised() -> None:
    with pytest.raises(RunFailed, match="task_failed:double") as caught:
        run_inline(outer, 1, fakes={double: ValueError("no")})
    [failure] = caught.value.fields["failures"]
    assert (failure.task, failure.code) == ("quadruple", "child_failed")
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_childs_timeout_is_kept_by_the_clock_of_the_test() -> None:
    clock = ManualClock()

    @task
    def slow() -> None:
        clock.advance("1h")

    @workflow
    def inner() -> None:
        double.after(slow())(1)

    @workflow
    def limited() -> Any:
        return inner.options(timeout="5m")()

    with pytest.raises(RunFailed) as caught:
        run_inline(limited, clock=clock)
    [failure] = caught.value.fields["failures"]
    assert failure.code == "child_timed_out"


def test_wrong_arguments_and_results_fail_the_task() -> None:
    @task
    def nothing() -> Any:
        return {}

    inner = Workflow("context_only", tasks=[nothing])

    @workflow
    def wrong() -> Any:
        return inner(double(1))

    with pytest.raises(RunFailed, match="takes one dict"):
        run_inline(wrong)

    @workflow
    def lost() -> Any:
        return nothing().missing

    @workflow
    def around() -> Any:
        return lost()

    with pytest.raises(RunFailed, match="missing"):
        run_inline(around)


def test_context_style() -> None:
    @task
    def begin(context: Context) -> None:
        context["number"] = 2

    @workflow
    def named(number: int) -> dict[str, int]:
        return {"doubled": double(number)}

    flow = Workflow("flow", tasks=[begin, named.options(depends_on=[begin])])
    assert run_inline(flow) == {"number": 2, "doubled": 4}


def test_children_of_items() -> None:
    @workflow
    def mapped(numbers: list[int]) -> list[int]:
        return quadruple.map(numbers)

    run = inline(mapped, [1, 2, 3])
    assert run.result() == [4, 8, 12]
    assert run.children["quadruple[2]"].result() == 12
