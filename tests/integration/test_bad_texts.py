"""Text that a database cannot keep is refused where it comes in; what would fail for ever ends with a reason."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from turnout import Runner, TaskInfo, task, workflow
from turnout.errors import InvalidInput, RunFailed, StoreRejected, TurnoutError
from turnout.model.events import ExecutionResult
from turnout.model.rows import Session
from turnout.model.states import RunState
from turnout.model.texts import MAX_KEY_LENGTH, MAX_REASON_LENGTH
from turnout.model.transition import Transition
from turnout.model.workers import WorkerView
from turnout.orchestration.active_runs import RunCommand
from turnout.runner import AsyncRunner, EngineSettings
from turnout.runner.live_sessions import drain
from turnout.store import connect

pytestmark = pytest.mark.timeout(60)

LONE, NUL = "no \ud800 text", "a\0b"
BAD = pytest.mark.parametrize(("bad", "code"), [(LONE, "text_surrogate"), (NUL, "text_nul")], ids=["surrogate", "NUL"])


@task
def give(value: str) -> str:
    return value


@workflow
def given(value: str) -> str:
    return give(value)


@workflow
def waiting_for_nothing() -> str:
    return give("nothing")


def waiting_at(gate: Any) -> Any:
    @task
    def wait(info: TaskInfo) -> None:
        gate.pass_through()

    @workflow
    def waiting() -> None:
        wait()

    return waiting


def refused(by: Callable[[], Any], code: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        by()
    assert caught.value.code == code
    assert caught.value.message.startswith(field)


@BAD
def test_a_cancellation_with_such_a_reason_is_refused_and_the_next_one_is_carried_out(
    make_runner: Callable[..., Runner], gate: Any, bad: str, code: str
) -> None:
    runner, other = make_runner(), make_runner()
    run = runner.submit(waiting_at(gate))
    assert gate.reached()
    refused(lambda: run.cancel(bad), code, "reason")
    refused(lambda: other.get(run.id).cancel(bad), code, "reason")
    refused(lambda: run.cancel("x" * (MAX_REASON_LENGTH + 1)), "text_too_long", "reason")
    assert run.status().state is RunState.RUNNING
    other.get(run.id).cancel("a good reason: ü €")
    gate.open()
    assert run.wait(20) is RunState.CANCELLED
    assert run.status().reason == "a good reason: ü €"


@BAD
def test_the_async_runner_refuses_it_too(store_url: str, gate: Any, bad: str, code: str) -> None:
    async def cancel() -> None:
        async with AsyncRunner(store_url, workflows=(), settings=EngineSettings(stop_grace=1.0)) as runner:
            run = await runner.submit(waiting_at(gate))
            with pytest.raises(InvalidInput) as caught:
                await run.cancel(bad)
            assert caught.value.code == code
            gate.open()
            assert await run.wait(20) is RunState.COMPLETED

    asyncio.run(cancel())


@BAD
def test_an_idempotency_key_must_be_text_that_can_be_kept(runner: Runner, bad: str, code: str) -> None:
    refused(lambda: runner.submit_with(given, "x", key=bad), code, "key")
    assert runner.list() == []


def test_the_longest_key_is_the_same_on_every_database(runner: Runner) -> None:
    key = "€" * (MAX_KEY_LENGTH // 3) + "." * (MAX_KEY_LENGTH % 3)
    first = runner.submit_with(given, "x", key=key)
    assert runner.submit_with(given, "x", key=key).id == first.id
    refused(lambda: runner.submit_with(given, "x", key=key + "."), "text_too_long", "key")


@BAD
def test_a_worker_is_not_asked_to_leave_for_such_a_reason(runner: Runner, store_url: str, bad: str, code: str) -> None:
    worker = WorkerView(id="w", name="w")
    refused(lambda: drain(runner.core.store, worker, bad), code, "reason")


@BAD
def test_the_stores_themselves_refuse_it(store_url: str, bad: str, code: str) -> None:
    store = connect(store_url)
    store.open()
    try:
        for call in (
            lambda: store.add_command("00000000-0000-7000-8000-000000000000", "cancel", bad),
            lambda: store.drain_worker("w", bad),
            lambda: store.start_session(Session(id="s", host=bad), 15.0),
            lambda: store.start_session(Session(id="s", workflows=(bad,)), 15.0),
            lambda: store.claim_ready("p", [bad], 10, 15.0),
            lambda: store.put_workflow("v", bad, "{}"),
            lambda: store.runs(workflow=f"public::x::{bad}"),
        ):
            with pytest.raises(StoreRejected):
                call()
    finally:
        store.close()


def test_an_order_that_no_turn_can_carry_out_is_answered_and_the_run_goes_on(
    make_sqlite_runner: Callable[..., Runner], gate: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """As if somebody had found another way in: straight into the engine's memory."""
    runner = make_sqlite_runner()
    run = runner.submit(waiting_at(gate))
    assert gate.reached()

    async def order() -> None:
        engine = runner.core.engine
        asked = RunCommand("cancel", LONE, done=asyncio.get_running_loop().create_future())
        engine.runs.command(engine.runs[run.id], asked)
        assert asked.done is not None
        await asked.done

    with caplog.at_level(logging.ERROR), pytest.raises(TurnoutError) as caught:
        runner.core.loop.call(order()).result(20)
    assert caught.value.code == "turn_failed"
    gate.open()
    assert run.wait(20) is RunState.COMPLETED
    assert len([each for each in caplog.records if each.exc_info]) <= 2, "it was tried again and again"


def test_a_command_of_another_process_that_no_turn_can_carry_out_is_closed(
    make_sqlite_runner: Callable[..., Runner], gate: Any, monkeypatch: pytest.MonkeyPatch, query: Any
) -> None:
    runner, other = make_sqlite_runner(), make_sqlite_runner()
    run = runner.submit(waiting_at(gate))
    assert gate.reached()

    def stumble(self: Transition, reason: str = "paused") -> None:
        raise ValueError("it cannot be paused")

    monkeypatch.setattr(Transition, "pause", stumble)
    with pytest.raises(TurnoutError, match="it cannot be paused") as caught:
        other.get(run.id).pause()
    assert caught.value.code == "turn_failed"
    assert query(runner.url, "select count(*) from command where done_at is null") == [(0,)]
    gate.open()
    assert run.wait(20) is RunState.COMPLETED


def test_a_run_whose_turns_fail_for_ever_fails_with_that_reason(
    make_sqlite_runner: Callable[..., Runner], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runner = make_sqlite_runner()
    known = Transition.result

    def stumble(self: Transition, result: ExecutionResult, pos: int) -> bool:
        if self.machine.new.input == '{"value":"odd"}':
            raise ValueError("this result cannot be taken")
        return known(self, result, pos)

    monkeypatch.setattr(Transition, "result", stumble)
    with caplog.at_level(logging.ERROR):
        run, fine = runner.submit(given, "odd"), runner.submit(given, "even")
        assert fine.result(20) == "even"
        with pytest.raises(RunFailed) as caught:
            run.result(20)
    assert run.status().reason == "turn_failed"
    assert "this result cannot be taken" in str(caught.value)
    assert len([each for each in caplog.records if each.exc_info]) <= 2, "it was tried again and again"


@pytest.mark.parametrize("garbled", ["no json", '{"status": "never heard of"}'])
def test_a_message_in_the_inbox_that_cannot_be_read_ends_its_attempt_and_nothing_else(
    make_sqlite_runner: Callable[..., Runner], change: Any, query: Any, until: Any, garbled: str
) -> None:
    runner = make_sqlite_runner(dispatcher=None, polling=())
    run = runner.submit(given, "x")
    until(lambda: query(runner.url, "select count(*) from task where poll_key is not null") == [(1,)])
    store = connect(runner.url)
    store.start_session(Session(id="a-poller", kind="poller"), 60.0)
    (claimed,) = store.claim_ready("a-poller", ["polling"], 10, 60.0)
    change(
        runner.url,
        "insert into inbox (run_id, pos, attempt, holder, result, created_at) values "
        f"('{run.id}', {claimed.pos}, {claimed.attempt}, 'a-poller', '{garbled}', 0)",
    )
    with pytest.raises(RunFailed, match="cannot be read"):
        run.result(20)
    store.close()
    assert query(runner.url, "select count(*) from inbox") == [(0,)]


def test_a_run_whose_workflow_cannot_be_read_fails_and_others_are_taken_over(
    make_sqlite_runner: Callable[..., Runner], sqlite_url: str, change: Any
) -> None:
    ours = EngineSettings(sweep=0.1, stop_grace=1.0)
    submitter = make_sqlite_runner(drives=False)
    broken = submitter.submit(given, "x")
    change(sqlite_url, "update workflow set spec = '{}'")
    fine = submitter.submit(waiting_for_nothing)
    driver = make_sqlite_runner(workflows=[given, waiting_for_nothing], settings=ours)
    assert fine.wait(20) is RunState.COMPLETED
    assert driver.get(broken.id).wait(20) is RunState.FAILED
    assert broken.status().reason == "turn_failed"
    assert [str(each.state) for each in broken.tasks()] == ["cancelled"]
