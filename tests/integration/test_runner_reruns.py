"""A rerun is a new run that reuses finished outputs."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import task, workflow
from turnout.errors import InvalidInput, RunFailed
from turnout.model.states import RunState

pytestmark = pytest.mark.timeout(60)


class Pipeline:
    """extract → transform → load beside audit; what ran is counted, and ``transform`` can be made to fail."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.broken = False

        @task
        def extract(source: str) -> list[int]:
            self.calls.append("extract")
            return [len(source), 2, 3]

        @task
        def audit(source: str) -> str:
            self.calls.append("audit")
            return f"audited {source}"

        @task
        def transform(rows: list[int], factor: int) -> list[int]:
            self.calls.append("transform")
            if self.broken:
                raise ValueError("no")
            return [row * factor for row in rows]

        @task
        def load(rows: list[int], note: str) -> dict[str, Any]:
            self.calls.append("load")
            return {"total": sum(rows), "note": note}

        @workflow
        def pipeline(source: str, factor: int = 1) -> Any:
            return load(transform(extract(source), factor), audit(source))

        self.workflow = pipeline

    def calls_of(self, action: Any) -> tuple[Any, list[str]]:
        self.calls.clear()
        result = action()
        return result, sorted(self.calls)


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline()


def test_by_default_a_rerun_starts_from_the_failures(runner, pipeline):
    pipeline.broken = True
    failed = runner.submit(pipeline.workflow, "shop")
    with pytest.raises(RunFailed):
        failed.result(20)
    pipeline.broken = False
    again = failed.rerun()
    result, calls = pipeline.calls_of(lambda: again.result(20))
    assert result == {"total": 4 + 2 + 3, "note": "audited shop"}
    assert set(calls) <= {"transform", "load"}
    assert again.id != failed.id
    assert again.status().rerun_of == failed.id
    assert failed.status().state is RunState.FAILED, "terminal is terminal"
    reused = {each.name: each.reason for each in again.tasks() if each.reason}
    assert reused == {"extract": f"reused:{failed.id}", "audit": f"reused:{failed.id}"}


def test_a_rerun_counts_calls_from_the_failures_on_only(runner, pipeline):
    pipeline.broken = True
    failed = runner.submit(pipeline.workflow, "shop")
    failed.wait(20)
    pipeline.broken = False
    _, calls = pipeline.calls_of(lambda: failed.rerun().result(20))
    assert calls == ["load", "transform"]


def test_a_rerun_of_a_rerun_keeps_what_both_have_finished(runner, pipeline):
    pipeline.broken = True
    failed = runner.submit(pipeline.workflow, "shop")
    failed.wait(20)
    second = failed.rerun()
    assert second.wait(20) is RunState.FAILED
    pipeline.broken = False
    result, calls = pipeline.calls_of(lambda: second.rerun().result(20))
    assert result["total"] == 9
    assert calls == ["load", "transform"]


def test_a_rerun_from_a_task_runs_it_and_what_follows(runner, pipeline):
    run = runner.submit(pipeline.workflow, "shop")
    run.wait(20)
    for start, expected in {
        "load": ["load"],
        "transform": ["load", "transform"],
        "audit": ["audit", "load"],
        "extract": ["extract", "load", "transform"],
    }.items():
        result, calls = pipeline.calls_of(lambda start=start: run.rerun(from_task=start).result(20))
        assert result == {"total": 9, "note": "audited shop"}
        assert calls == expected


def test_a_rerun_with_another_input_changes_only_the_parameters_that_are_given(runner, pipeline):
    run = runner.submit(pipeline.workflow, "shop")
    run.wait(20)
    again = run.rerun(from_task="transform", input={"factor": 10})
    assert again.result(20) == {"total": 90, "note": "audited shop"}


def test_a_rerun_of_a_completed_run_with_nothing_changed_is_refused(runner, pipeline, rows_in, store_url):
    run = runner.submit(pipeline.workflow, "shop")
    run.wait(20)
    before = rows_in(store_url)
    for changes in ({}, {"input": {}}, {"input": {"factor": 1}}):
        with pytest.raises(InvalidInput, match="name the task to start from, or change the input") as caught:
            run.rerun(**changes)
        assert caught.value.code == "nothing_to_rerun"
    assert rows_in(store_url) == before


def test_a_cancelled_run_goes_on_in_a_rerun(runner, gate):
    calls: list[str] = []

    @task
    def first() -> int:
        calls.append("first")
        return 1

    @task
    def second(number: int) -> int:
        calls.append("second")
        gate.pass_through()
        return number + 1

    @workflow
    def stepwise() -> int:
        return second(first())

    run = runner.submit(stepwise)
    assert gate.reached()
    run.cancel()
    run.wait(20)
    gate.open()
    assert run.rerun().result(20) == 2
    assert calls == ["first", "second", "second"]


def test_a_rerun_may_be_asked_for_by_another_runner(make_runner, pipeline):
    pipeline.broken = True
    run = make_runner(workflows=[pipeline.workflow]).submit(pipeline.workflow, "shop")
    run.wait(20)
    pipeline.broken = False
    other = make_runner(workflows=[pipeline.workflow])
    assert other.get(run.id).rerun().result(20)["total"] == 9


def test_large_outputs_are_reused(runner):
    calls: list[int] = []

    @task
    def large() -> str:
        calls.append(1)
        return "x" * 100_000

    @task
    def length(text: str) -> int:
        return len(text)

    @workflow
    def sized() -> int:
        return length(large())

    run = runner.submit(sized)
    run.wait(20)
    assert run.rerun(from_task="length").result(20) == 100_000
    assert calls == [1]


def test_a_rerun_from_an_unknown_task_is_refused_and_nothing_is_written(runner, pipeline, rows_in, store_url):
    run = runner.submit(pipeline.workflow, "shop")
    run.wait(20)
    before = rows_in(store_url)
    with pytest.raises(InvalidInput) as caught:
        run.rerun(from_task="transfrom")
    assert caught.value.code == "unknown_task"
    assert "'transfrom'" in str(caught.value) and "did you mean 'transform'" in str(caught.value)
    assert rows_in(store_url) == before


def test_a_rerun_with_an_unknown_parameter_is_refused(runner, pipeline, rows_in, store_url):
    run = runner.submit(pipeline.workflow, "shop")
    run.wait(20)
    before = rows_in(store_url)
    with pytest.raises(InvalidInput) as caught:
        run.rerun(input={"factr": 2})
    assert caught.value.code == "unknown_parameter"
    assert "did you mean 'factor'" in str(caught.value)
    assert rows_in(store_url) == before


# -- the code of today ---------------------------------------------------------------------------------------------
class Versions:
    """The same workflow as two programs have it: what runs is noted with the program's name."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def workflow(self, program: str, *, broken: bool = False, changed: bool = False, timeout: Any = None) -> Any:
        @task(retries=3 if program == "new" else 0)
        def extract(source: str) -> list[int]:
            self.calls.append(f"{program} extract")
            return [len(source), 2]

        @task
        def transform(rows: list[int], factor: int) -> list[int]:
            self.calls.append(f"{program} transform")
            if broken:
                raise ValueError("no")
            return [factor * row for row in rows]

        @task
        def load(rows: list[int]) -> int:
            self.calls.append(f"{program} load")
            return sum(rows)

        @workflow(name="versioned", timeout=timeout)
        def versioned(source: str, factor: int = 1) -> int:
            return load(transform(extract(source), 10 if changed else factor))

        return versioned


@pytest.fixture
def versions() -> Versions:
    return Versions()


def run_old(make_runner: Any, flow: Any) -> Any:
    """A run of the old program, which is closed then."""
    old = make_runner(workflows=[flow])
    run = old.submit(flow, "shop")
    run.wait(20)
    old.close()
    return run.id


def test_a_rerun_runs_the_workflow_as_it_is_today(make_runner, versions):
    run_id = run_old(make_runner, versions.workflow("old", broken=True))
    today = versions.workflow("new")
    run = make_runner(workflows=[today]).get(run_id).rerun()
    assert run.result(20) == 6
    assert versions.calls == ["old extract", "old transform", "new transform", "new load"]


def test_a_task_that_changed_runs_again_although_it_completed(make_runner, versions):
    run_id = run_old(make_runner, versions.workflow("old"))
    versions.calls.clear()
    run = make_runner(workflows=[versions.workflow("new", changed=True)]).get(run_id).rerun()
    assert run.result(20) == 60
    assert versions.calls == ["new transform", "new load"]


def test_without_the_code_of_today_the_stored_workflow_is_used(make_runner, versions):
    old = versions.workflow("old", broken=True)
    run_id = run_old(make_runner, old)
    without = make_runner()
    waiting = without.get(run_id).rerun()
    assert (waiting.status().workflow, waiting.status().state) == ("public::embedded::versioned", "pending")
    without.close()
    again = make_runner(workflows=[old]).get(waiting.id)
    assert again.wait(20) is RunState.FAILED
    assert versions.calls == ["old extract", "old transform", "old transform"]


def test_a_changed_parameter_runs_the_tasks_that_take_it_again(runner, pipeline):
    run = runner.submit(pipeline.workflow, "shop")
    run.wait(20)
    result, calls = pipeline.calls_of(lambda: run.rerun(input={"factor": 10}).result(20))
    assert result == {"total": 90, "note": "audited shop"}
    assert calls == ["load", "transform"]
    result, calls = pipeline.calls_of(lambda: run.rerun(input={"source": "a"}).result(20))
    assert result == {"total": 6, "note": "audited a"}
    assert calls == ["audit", "extract", "load", "transform"]


def test_a_parameter_that_is_gone_is_dropped_and_a_new_one_is_asked_for(make_runner):
    @task
    def show(text: str) -> str:
        return text

    @workflow(name="changing")
    def before(text: str, gone: int) -> str:
        return show(text)

    @workflow(name="changing")
    def after(text: str, new: str) -> list[str]:
        return [show(text), show.named("other")(new)]

    old = make_runner(workflows=[before])
    run = old.submit(before, "x", 1)
    run.wait(20)
    old.close()
    today = make_runner(workflows=[after]).get(run.id)
    with pytest.raises(InvalidInput, match="needs the parameter 'new'") as caught:
        today.rerun()
    assert caught.value.code == "missing_parameter"
    assert today.rerun(input={"new": "y"}).result(20) == ["x", "y"]


def test_a_rerun_has_the_timeout_of_today_unless_the_run_had_its_own(make_runner, versions):
    flow = versions.workflow("old", broken=True, timeout="1h")
    old = make_runner(workflows=[flow])
    usual, special = old.submit(flow, "shop"), old.submit_with(flow, "shop", timeout="7m")
    for run in (usual, special):
        run.wait(20)
    old.close()
    runner = make_runner(workflows=[versions.workflow("new", timeout="2h")])
    store = runner._core.store
    timeouts = [store.run(runner.get(run.id).rerun().id).new.timeout for run in (usual, special)]
    assert timeouts == [7200.0, 420.0]


def test_what_a_rule_left_out_stays_left_out_in_a_rerun(runner):
    from turnout import context_value

    calls: list[str] = []

    @task
    def begin(mode: str) -> str:
        calls.append("begin")
        return mode

    @task
    def rarely(mode: str) -> str:
        calls.append("rarely")
        return mode

    @task
    def join(mode: str, rare: str | None) -> str:
        calls.append("join")
        return f"{mode} {rare}"

    @workflow
    def choosing(mode: str) -> str:
        begun = begin(mode)
        return join(begun, rarely.options(trigger_rule=context_value("mode", "==", "rare"))(begun))

    run = runner.submit(choosing, "usual")
    assert run.result(20) == "usual None"
    calls.clear()
    assert run.rerun(from_task="join").result(20) == "usual None"
    assert calls == ["join"]
    assert run.rerun(input={"mode": "rare"}).result(20) == "rare rare"
