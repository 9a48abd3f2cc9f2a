"""Deferrals: what ``Defer`` accepts, how long a task waits, and that nothing but time is spent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.runs import TinyRun, task

from turnout.errors import InvalidInput, InvalidWorkflow, NotJson, TooLarge
from turnout.model.deferral import NOTHING, Condition, Defer, Deferral, Memo, Unmet, read_memo, write_memo
from turnout.model.events import ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.states import RunState, TaskState
from turnout.model.verdict import Limits, checked_condition, verdict_deferred


def holds() -> bool:
    return True


def put_off(run: TinyRun, name: str, signal: Defer | Unmet) -> None:
    run.answer(ExecutionResult.deferred(run.events[name], signal))


# -- what is raised ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("signal", "seconds"),
    [
        (Defer(30), 30.0),
        (Defer("5m"), 300.0),
        (Defer(seconds=1.5), 1.5),
        (Defer(seconds="1h"), 3600.0),
        (Defer(timedelta(seconds=2)), 2.0),
        (Defer(0), 0.0),
    ],
)
def test_a_duration_is_written_in_many_ways(signal: Defer, seconds: float) -> None:
    assert signal.deferral == Deferral(seconds=seconds)


def test_a_moment_needs_a_time_zone() -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    assert Defer(until=moment).deferral.until == moment.timestamp()
    with pytest.raises(InvalidInput, match="no time zone") as caught:
        Defer(until=moment.replace(tzinfo=None))
    assert caught.value.code == "naive_datetime"


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        ({}, "bad_defer"),
        ({"duration": 1, "seconds": 2}, "bad_defer"),
        ({"seconds": 1, "condition": holds}, "bad_defer"),
        ({"until": "2030-01-01"}, "bad_defer"),
        ({"condition": lambda: True}, "bad_condition"),
        ({"condition": "holds"}, "bad_condition"),
        ({"condition": 42}, "bad_condition"),
        ({"condition": holds, "every": 0}, "bad_defer"),
        ({"condition": holds, "args": "abc"}, "bad_defer"),
        ({"condition": holds, "args": 3}, "bad_defer"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_written(given_: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Defer(**given_)
    assert caught.value.code == code


@pytest.mark.parametrize("wrong", ["soon", -1, float("nan"), True])
def test_a_duration_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidWorkflow, match="30s"):
        Defer(wrong)


def test_a_condition_is_named_and_its_arguments_are_json() -> None:
    condition = Defer(condition=holds, args=["a", 1], every="2s", max_every="1m").deferral.condition
    assert condition == Condition(f"{__name__}:holds", '["a",1]', 2.0, 60.0)
    assert Defer(condition="os.path:exists", args=["x"]).deferral.condition == Condition("os.path:exists", '["x"]')
    with pytest.raises(NotJson):
        Defer(condition=holds, args=[object()])


def test_what_is_saved_is_json_of_bounded_size() -> None:
    assert Defer(1, save={"page": 3}).deferral.saved == '{"page":3}'
    with pytest.raises(NotJson):
        Defer(1, save=object())
    with pytest.raises(TooLarge) as caught:
        Defer(1, save="x" * 100_000)
    assert caught.value.code == "saved_too_large"


# -- what becomes of it -----------------------------------------------------------------------------------------
def test_a_deferred_task_is_ready_later_and_has_spent_nothing() -> None:
    run = TinyRun(task("wait", attempts=2)).start()
    put_off(run, "wait", Defer(30, save={"page": 3}))
    row = run.row("wait")
    assert (row.state, row.reason, row.retry_in, row.attempt) == (TaskState.READY, "deferred", 30.0, 1)
    assert (row.failures, row.crashes, row.losses, row.holder, row.error) == (0, 0, 0, None, None)
    run.due("wait")
    event, row = run.events["wait"], run.row("wait")
    assert (event.attempt, event.max_attempts) == (2, 3), "the ordinal grows, the failures that are left stay"
    assert read_memo(row.memo).saved == '{"page":3}'
    run.complete("wait")
    assert (run.run_state, run.row("wait").memo) == (RunState.COMPLETED, None)


def test_a_moment_counts_from_the_owner_s_clock_and_one_that_has_passed_is_now() -> None:
    run = TinyRun(task("wait")).start()
    put_off(run, "wait", Defer(until=datetime.fromtimestamp(130.0, UTC)))
    assert run.row("wait").retry_in == 30.0, "turns are taken at 100"
    run.due("wait")
    run.answer(ExecutionResult.deferred(run.events["wait"], Defer(until=datetime.fromtimestamp(3.0, UTC))))
    assert (run.state("wait"), run.events["wait"].attempt) == (TaskState.RUNNING, 3)


def test_what_was_saved_stays_until_something_else_is_saved() -> None:
    run = TinyRun(task("wait", attempts=2)).start()
    put_off(run, "wait", Defer(0, save=1))
    put_off(run, "wait", Defer(0))
    assert read_memo(run.row("wait").memo).saved == "1"
    run.fail("wait")
    assert read_memo(run.row("wait").memo).saved == "1", "a retry finds it, too"
    put_off(run, "wait", Defer(0, save=2))
    assert read_memo(run.row("wait").memo) == Memo(saved="2", deferrals=3)


def test_a_condition_is_asked_ever_less_often() -> None:
    run = TinyRun(task("wait")).start()
    put_off(run, "wait", Defer(condition=holds, every=10, max_every=30))
    pauses: list[float | None] = []
    for _ in range(5):
        row = run.row("wait")
        assert row.reason == f"deferred:{__name__}:holds"
        pauses.append(row.retry_in)
        run.due("wait")
        put_off(run, "wait", Unmet("holds"))
    assert pauses == [10.0, 15.0, 22.5, 30.0, 30.0]
    run.due("wait")
    put_off(run, "wait", Defer(1))
    assert read_memo(run.row("wait").memo).condition is None, "the body waits for something else now"


def test_an_at_most_once_task_may_defer_itself_but_is_not_started_again_after_a_loss() -> None:
    run = TinyRun(task("pay", at_most_once=True)).start()
    put_off(run, "pay", Defer(0))
    assert run.state("pay") is TaskState.RUNNING
    run.answer(ExecutionResult.lost(run.events["pay"], "its holder died"))
    assert (run.state("pay"), run.row("pay").reason) == (TaskState.FAILED, "lost_at_most_once")


def test_deferrals_are_bounded() -> None:
    run = TinyRun(task("wait"), limits=Limits(deferrals=2)).start()
    put_off(run, "wait", Defer(0))
    put_off(run, "wait", Defer(0))
    put_off(run, "wait", Defer(0))
    assert (run.state("wait"), run.row("wait").reason) == (TaskState.FAILED, "deferred_too_often")
    assert run.run_state is RunState.FAILED


def test_a_deferred_task_is_cancelled_like_any_that_has_not_started() -> None:
    run = TinyRun(task("wait")).start()
    put_off(run, "wait", Defer(30))
    run.commit(lambda transition: transition.cancel("enough"))
    assert (run.state("wait"), run.run_state) == (TaskState.CANCELLED, RunState.CANCELLED)


def test_a_task_that_defers_itself_while_the_run_is_cancelled_is_cancelled() -> None:
    run = TinyRun(task("wait")).start()
    run.commit(lambda transition: transition.cancel("enough"))
    put_off(run, "wait", Defer(30))
    assert run.state("wait") is TaskState.CANCELLED


conditions = st.builds(
    Condition,
    st.just("m:f"),
    st.just("[]"),
    st.floats(0.001, 1e6),
    st.floats(0, 1e6),
    st.integers(0, 10_000),
)
deferrals = st.builds(
    Deferral,
    seconds=st.floats(0, 1e9),
    until=st.none() | st.floats(0, 1e10),
    condition=st.none() | conditions,
    saved=st.none() | st.just("1"),
    unmet=st.booleans(),
)


@given(deferrals, st.builds(Memo, saved=st.none() | st.just("2"), deferrals=st.integers(0, 5), condition=conditions))
def test_a_deferral_costs_nothing_waits_a_finite_time_and_its_memo_can_be_read(deferral: Deferral, memo: Memo) -> None:
    said = verdict_deferred(deferral, memo, Limits(deferrals=5), now=1e9)
    assert (said.failures, said.crashes, said.losses) == (0, 0, 0)
    if memo.deferrals == 5:
        assert said.state is TaskState.FAILED
        return
    assert said.state is TaskState.READY and 0 <= said.delay <= 1e10
    again = read_memo(said.memo)
    assert again.deferrals == memo.deferrals + 1
    assert again.saved == (deferral.saved or memo.saved)
    assert read_memo(write_memo(again)) == again


def test_no_memo_is_the_empty_one_and_costs_a_row_nothing() -> None:
    assert read_memo(None) is NOTHING
    assert b"memo" not in msgspec.json.encode(TinyRun(task("a")).start().row("a"))


def test_only_declared_conditions_are_admitted() -> None:
    event = TaskReadyEvent(run_id="r", task_id="r.0", task_name="p::w::load", attempt=3, max_attempts=3)
    result = ExecutionResult.deferred(event, Defer(condition="os:system", args=["true"]))
    refused = checked_condition(result, event.task_name, ["shop:arrived"])
    assert refused.status is ExecutionStatus.FAILED and refused.deferral is None and not refused.retryable
    assert refused.attempt == 3 and refused.error is not None and refused.error.code == "undeclared_condition"
    assert refused.error.message == (
        "task 'p::w::load' waits for the condition 'os:system', which it does not declare (it declares shop:arrived): "
        "name the function in its option conditions, as in @task(conditions=[system])"
    )
    assert checked_condition(result, event.task_name, ["os:system"]) is result
    plain = ExecutionResult.deferred(event, Defer(5))
    assert checked_condition(plain, event.task_name, ()) is plain
