"""Figures of ended runs: they add up, and their labels are bounded."""

from __future__ import annotations

from turnout.model.run_figures import BUCKETS, MAX_WORKFLOWS, EndedRuns, EndedTasks, Exemplar, RunFigures


def within(*seconds: float) -> tuple[int, ...]:
    return tuple(sum(each <= bound for each in seconds) for bound in BUCKETS)


def runs(workflow: str, *seconds: float, state: str = "completed") -> EndedRuns:
    return EndedRuns(workflow, state, len(seconds), sum(seconds), within(*seconds))


def tasks(workflow: str, executor: str, *seconds: float, attempts: int = 1) -> EndedTasks:
    return EndedTasks(
        workflow, executor, "completed", attempts, len(seconds), sum(seconds), within(*seconds), 0.0, within(*seconds)
    )


def test_figures_of_several_collections_add_up() -> None:
    figures = RunFigures()
    figures.add_runs([runs("etl", 0.02, 4.0), runs("etl", 9000.0, state="failed")])
    figures.add_runs([runs("etl", 0.02)])
    figures.add_tasks([tasks("etl", "default", 0.004, 0.2, attempts=3)])
    lines = list(figures.lines())
    assert 'turnout_runs_ended_total{workflow="etl",state="completed"} 3' in lines
    assert 'turnout_runs_ended_total{workflow="etl",state="failed"} 1' in lines
    assert 'turnout_run_duration_seconds_bucket{workflow="etl",le="0.025"} 2' in lines
    assert 'turnout_run_duration_seconds_bucket{workflow="etl",le="7200.0"} 3' in lines
    assert 'turnout_run_duration_seconds_bucket{workflow="etl",le="+Inf"} 4' in lines
    assert 'turnout_run_duration_seconds_count{workflow="etl"} 4' in lines
    assert 'turnout_attempts_ended_total{workflow="etl",executor="default",state="completed"} 3' in lines
    assert 'turnout_attempt_duration_seconds_bucket{workflow="etl",executor="default",le="0.005"} 1' in lines


def test_there_are_no_lines_without_figures() -> None:
    assert list(RunFigures().lines()) == []


def test_workflows_above_the_limit_are_counted_together() -> None:
    figures = RunFigures()
    for number in range(MAX_WORKFLOWS + 5):
        figures.add_runs([runs(f"flow {number}", 1.0)])
    figures.add_runs([runs("flow 0", 1.0)])
    lines = [line for line in figures.lines() if line.startswith("turnout_runs_ended_total")]
    assert len(lines) == MAX_WORKFLOWS + 1
    assert 'turnout_runs_ended_total{workflow="other",state="completed"} 5' in lines
    assert 'turnout_runs_ended_total{workflow="flow 0",state="completed"} 2' in lines


def test_a_name_cannot_break_out_of_its_label() -> None:
    figures = RunFigures()
    figures.add_runs([runs('a"} 1\nfake 2', 1.0)])
    assert not any(line.startswith("fake") or "\n" in line for line in figures.lines())


def test_open_metrics_has_examples_of_buckets_that_count_something() -> None:
    figures = RunFigures()
    figures.add_runs([runs("etl", 0.02)])
    example = Exemplar("ab" * 16, 0.02, 1_760_000_000.5)
    lines = list(figures.lines(lambda metric, labels: {0: example, 2: example}))
    assert "# TYPE turnout_runs_ended counter" in lines, "its samples have the suffix, its family has not"
    bucket = 'turnout_run_duration_seconds_bucket{workflow="etl",le='
    assert f'{bucket}"0.025"}} 1 # {{trace_id="{"ab" * 16}"}} 0.02 1760000000.500' in lines
    assert f'{bucket}"0.005"}} 0' in lines, "its figures are counted later"
    assert "# TYPE turnout_runs_ended_total counter" in list(figures.lines())
