"""Figures of what has ended within a time."""

from __future__ import annotations

from tests.conformance.test_store_retention import query
from turnout import Runner, task, workflow
from turnout.contracts.store import Store
from turnout.model.run_figures import BUCKETS


@task(retries=1, retry_delay="1ms")
def sometimes(number: int) -> int:
    if number < 0:
        raise ValueError("negative")
    return number


@workflow
def counted(number: int) -> int:
    return sometimes(number)


def test_ended_runs_and_their_tasks_are_counted_by_workflow_state_and_executor(store: Store, store_url: str) -> None:
    with Runner(store_url, config=False, workflows=[counted]) as runner:
        for number in (1, 2, -1):
            runner.submit(counted, number).wait(30)
    query(store_url, "update run set submitted_at = 100, finished_at = 100.2 where state = 'completed'")
    query(store_url, "update run set submitted_at = 100, finished_at = 103 where state = 'failed'")
    query(store_url, "update task set dispatched_at = 100, started_at = 100.04, finished_at = 100.1")
    name = "public::embedded::counted"
    completed, failed = store.ended_runs(99.0, 104.0)
    assert (completed.workflow, completed.state, completed.count) == (name, "completed", 2)
    assert abs(completed.seconds - 0.4) < 1e-6
    assert dict(zip(BUCKETS, completed.within, strict=True))[0.1] == 0
    assert dict(zip(BUCKETS, completed.within, strict=True))[0.25] == 2
    assert (failed.state, failed.count, failed.within[-1]) == ("failed", 1, 1)
    done, broken = store.ended_tasks(99.0, 104.0)
    assert (done.workflow, done.executor, done.state, done.attempts, done.timed) == (name, "default", "completed", 2, 2)
    assert (broken.state, broken.attempts, broken.timed) == ("failed", 2, 1)
    assert abs(done.seconds - 0.12) < 1e-6 and abs(done.start_seconds - 0.08) < 1e-6
    assert dict(zip(BUCKETS, done.within, strict=True))[0.05] == 0
    assert dict(zip(BUCKETS, done.within, strict=True))[0.1] == 2
    assert dict(zip(BUCKETS, done.started_within, strict=True))[0.05] == 2


def test_the_wait_of_an_attempt_begins_when_its_task_is_ready(store: Store, store_url: str) -> None:
    with Runner(store_url, config=False, workflows=[counted]) as runner:
        for number in (1, -1):
            runner.submit(counted, number).wait(30)
    query(store_url, "update run set finished_at = 200")
    query(store_url, "update task set dispatched_at = 109.9, started_at = 110, finished_at = 111")
    # One task waited for a slot from 101 on; the other one failed at 101, to be retried after 4 s.
    query(store_url, "delete from history_commit")
    history = """insert into history_commit (run_id, seq, part, at, moves)
        select id, 9, 0, 101, '[[9,0,{old},"ready",{attempt},{detail}]]' from run where state = '{state}'"""
    waited = {"state": "completed", "old": '"pending"', "attempt": 0, "detail": "null"}
    retried = {"state": "failed", "old": '"running"', "attempt": 1, "detail": '"{\\"status\\":1,\\"retry_in\\":4.0}"'}
    for columns in (waited, retried):
        query(store_url, history.format(**columns))
    done, broken = store.ended_tasks(199.0, 200.0)
    assert (done.state, done.timed, broken.state, broken.timed) == ("completed", 1, "failed", 1)
    assert abs(done.start_seconds - 9.0) < 1e-6, "from the move to ready, not from the commit that started it"
    assert abs(broken.start_seconds - 5.0) < 1e-6, "the delay of a retry is no wait"
    assert dict(zip(BUCKETS, done.started_within, strict=True))[5.0] == 0
    query(store_url, "update task set started_at = 100")
    assert [each.start_seconds for each in store.ended_tasks(199.0, 200.0)] == [0, 0], "clocks may differ"


def test_only_what_ended_in_that_time_is_counted(store: Store, store_url: str) -> None:
    with Runner(store_url, config=False, workflows=[counted]) as runner:
        runner.submit(counted, 1).wait(30)
    query(store_url, "update run set finished_at = 100")
    assert len(store.ended_runs(99.0, 100.0)) == 1 and len(store.ended_tasks(99.0, 100.0)) == 1
    assert store.ended_runs(100.0, 200.0) == [] and store.ended_tasks(100.0, 200.0) == []
    assert store.ended_runs(0.0, 99.0) == []
