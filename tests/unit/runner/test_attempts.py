"""Attempts as the history tells them."""

from __future__ import annotations

from turnout.model.reasons import start_detail, success_detail
from turnout.model.rows import HistoryRow, TaskRow
from turnout.model.states import TaskState
from turnout.runner.views import attempts_of

TASKS = [
    TaskRow(pos=0, name="ship", state=TaskState.COMPLETED, executor="workers", decision="rule 1: **", attempt=2),
    TaskRow(pos=1, name="tell", state=TaskState.RUNNING, executor="slow", decision="default executor", attempt=1),
]


def test_each_attempt_has_its_decision_its_worker_and_its_end() -> None:
    history = [
        (0.0, HistoryRow(1, -1, None, "running")),
        (1.0, HistoryRow(2, 0, "pending", "ready")),
        (1.0, HistoryRow(3, 0, "ready", "running", 1, start_detail("workers", "rule 1: **", "gpu-1"))),
        (2.0, HistoryRow(4, 0, "running", "ready", 1, '{"status":"lost","error":"Lost: its worker is gone"}')),
        (3.0, HistoryRow(5, 0, "ready", "running", 2, start_detail("workers", "rule 1: **", "gpu-2"))),
        (5.0, HistoryRow(6, 0, "running", "completed", 2, success_detail(None, "1.2"))),
        (5.0, HistoryRow(7, 1, "ready", "running", 1, '{"poller":"p"}')),
    ]
    first, second, polled = attempts_of(history, TASKS)
    assert (first.task, first.attempt, first.executor, first.worker) == ("ship", 1, "workers", "gpu-1")
    assert (first.decision, first.outcome, first.error) == ("rule 1: **", "lost", "Lost: its worker is gone")
    assert (first.began_at, first.ended_at) == (1.0, 2.0)
    assert (second.worker, second.outcome, second.ended_at, second.error) == ("gpu-2", "completed", 5.0, None)
    assert (first.handler_version, second.handler_version) == (None, "1.2")
    assert (polled.executor, polled.decision, polled.worker) == ("slow", "default executor", "p"), "as its row has it"
    assert (polled.outcome, polled.ended_at) == (None, None)


def test_the_last_failure_of_a_task_is_not_called_a_retry() -> None:
    history = [
        (1.0, HistoryRow(1, 0, "ready", "running", 1)),
        (2.0, HistoryRow(2, 0, "running", "ready", 1, '{"status":"retry","reason":"retry_at"}')),
        (3.0, HistoryRow(3, 0, "ready", "running", 2)),
        (4.0, HistoryRow(4, 0, "running", "failed", 2, '{"status":"retry"}')),
        (5.0, HistoryRow(5, 1, "ready", "running", 1)),
        (6.0, HistoryRow(6, 1, "running", "failed", 1, '{"status":"timed_out"}')),
    ]
    assert [attempt.outcome for attempt in attempts_of(history, TASKS)] == ["retry", "failed", "timed_out"]


def test_what_never_ran_has_no_attempts() -> None:
    history = [(0.0, HistoryRow(1, -1, None, "running")), (1.0, HistoryRow(2, 0, "pending", "skipped", 0, None))]
    assert attempts_of(history, TASKS) == []
