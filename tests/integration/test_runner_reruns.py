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
        with pytest.raises(InvalidInput, match=r"from_task=… .* changed input") as caught:
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
