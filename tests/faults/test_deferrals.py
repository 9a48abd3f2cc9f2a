"""kill -9 while a task is deferred, in a body that may run only once, and in a hook."""

from __future__ import annotations

from tests.faults.children import Children, eventually
from tests.faults.guarantees import check_history, query

DEFERRED = "select count(*) from history where old = 'running' and new = 'ready'"


def test_a_deferral_over_kill_9_resumes_once(children: Children) -> None:
    options = {"workflow": "napping", "runs": 1, "seconds": 2.0}
    # Its first commit stores the run, its second one the deferral.
    victim = children.start("submit", die_after_commits=2, **options)
    victim.exit_code()
    assert query(children.url, DEFERRED) == [(1,)]
    again = children.start("submit", **options)
    assert again.finished() == {"completed": 1}
    assert children.executions.per_task() == {("r0", "nap"): 2, ("r0", "last"): 1}
    naps = [(each.attempt, each.pid) for each in children.executions.all() if each.task == "nap"]
    assert naps == [(1, victim.pid), (2, again.pid)]
    ledger = check_history(children.url)
    assert query(children.url, DEFERRED) == [(1,)]
    assert {task.state for task in ledger.tasks.values()} == {"completed"}


def test_an_at_most_once_body_that_kill_9_ended_is_never_started_again(children: Children) -> None:
    options = {"workflow": "paying", "runs": 1, "seconds": 30.0}
    victim = children.start("submit", **options)
    eventually("the body runs", lambda: children.executions.per_task()["r0", "pay"] == 1)
    victim.kill()
    again = children.start("submit", **options)
    assert again.finished() == {"failed": 1}
    assert children.executions.per_task() == {("r0", "pay"): 1}
    states = {task.name: (task.state, task.reason) for task in check_history(children.url).tasks.values()}
    assert states == {"pay": ("failed", "lost_at_most_once"), "last": ("skipped", "dependency_failed:pay")}


def test_a_hook_that_kill_9_ended_runs_again_and_the_run_ends_as_it_was_to_end(children: Children) -> None:
    options = {"workflow": "hooked", "runs": 1}
    victim = children.start("submit", **options)
    eventually("the hook runs", lambda: children.executions.per_task()["completed", "on_exit.tidy_up"] == 1)
    victim.kill()
    again = children.start("submit", **options)
    assert again.finished() == {"completed": 1}
    assert children.executions.per_task() == {("r0", "quick"): 1, ("completed", "on_exit.tidy_up"): 2}
    states = {task.name: task.state for task in check_history(children.url).tasks.values()}
    assert states == {"quick": "completed", "on_exit.tidy_up": "completed"}
