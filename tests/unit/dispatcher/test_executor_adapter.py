"""An author's executor gets the batch face, and reports each attempt once, whatever its ``execute`` does."""

from __future__ import annotations

import ast
import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import turnout.dispatcher
from turnout.contracts.executor import BatchExecutor, RemoteExecutor
from turnout.contracts.workers import NumbersRuns
from turnout.dispatcher import ExecutionResult, ExecutionStatus, InvalidRouting, NoCapacity, Report, TaskReadyEvent
from turnout.dispatcher.executor_adapter import ExecutorAdapter, batch_executors, roles_of
from turnout.executors.process import ProcessExecutor
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.shell import ShellExecutor
from turnout.executors.subprocess_executor import SubprocessExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.executors.workers.executor import WorkersExecutor

Make = Callable[..., Any]
NOT_OPTIONAL = {"name", "local", "kinds", "bind", "execute", "has_capacity", "metrics"}
DEFAULTED = {"abandon", "execute", "leave", "reattaches"}
"""``abandon`` means the same as ``cancel`` to every executor but those that the adapter serves; ``execute`` is a batch
of one. Only executors behind the adapter reattach."""


def play(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 20)

    asyncio.run(bounded())


def raise_(error: BaseException) -> Any:
    raise error


async def forever() -> None:
    await asyncio.Event().wait()


class Unreadable(str):
    """A text that cannot be compared."""

    __slots__ = ()

    def __ne__(self, other: object) -> bool:
        raise OSError("not readable")

    __eq__ = __ne__  # type: ignore[assignment]
    __hash__ = str.__hash__


class Results:
    """Takes what the adapter reports."""

    def __init__(self) -> None:
        self.all: list[ExecutionResult] = []
        self._came = asyncio.Event()

    def __call__(self, result: ExecutionResult) -> None:
        self.all.append(result)
        self._came.set()

    async def first(self) -> ExecutionResult:
        await self._came.wait()
        return self.all[0]


async def turns(number: int = 5) -> None:
    """Lets the loop go on until every task has run as far as it can."""
    for _ in range(number):
        await asyncio.sleep(0)


# -- members ----------------------------------------------------------------------------------------------------


def test_a_plain_executor_has_every_member_of_the_batch_face(executor: Make) -> None:
    adapter, task = ExecutorAdapter("plain", executor()), object()
    assert (adapter.capacity, adapter.capacity_of("body"), adapter.has_capacity()) == (None, None, True)
    assert (adapter.enforces_timeouts, adapter.isolates, adapter.outlives) == (False, False, False)
    assert adapter.trusted, "its results are checked by the adapter"
    assert (adapter.name, adapter.local, adapter.kinds) == ("custom", True, frozenset({"python"}))
    assert adapter.refuses(task) is None  # type: ignore[arg-type]
    adapter.on_capacity(lambda: None)
    asyncio.run(adapter.start())
    asyncio.run(adapter.stop(0))


@pytest.mark.parametrize("flag", ["enforces_timeouts", "isolates", "outlives"])
def test_a_flag_of_the_executor_is_the_flag_of_its_face(executor: Make, flag: str) -> None:
    adapter = ExecutorAdapter("plain", executor(**{flag: 1}))
    assert getattr(adapter, flag) is True


def test_what_reports_batches_is_trusted_only_if_it_says_so(executor: Make) -> None:
    def batch(events: Sequence[TaskReadyEvent], report: Report) -> None: ...

    assert not ExecutorAdapter("many", executor(execute_many=batch)).trusted
    assert ExecutorAdapter("many", executor(execute_many=batch, trusted=True)).trusted


def test_a_capacity_is_read_each_time_and_may_depend_on_the_body(executor: Make) -> None:
    plain = executor(capacity=2)
    adapter = ExecutorAdapter("plain", plain)
    assert (adapter.capacity, adapter.capacity_of("body")) == (2, 2)
    plain.capacity = 3.0
    assert adapter.capacity == 3
    by_body = ExecutorAdapter("plain", executor(capacity=2, capacity_of=len))
    assert (by_body.capacity, by_body.capacity_of("four")) == (2, 4)
    assert ExecutorAdapter("plain", executor(capacity_of=len)).capacity_of("four") is None, "no number without capacity"


def test_refuses_and_on_capacity_reach_the_executor(executor: Make) -> None:
    told: list[Any] = []
    adapter = ExecutorAdapter("plain", executor(refuses=lambda task: f"not {task}", on_capacity=told.append))
    assert adapter.refuses("this") == "not this"  # type: ignore[arg-type]
    adapter.on_capacity(print)  # type: ignore[arg-type]
    assert told == [print]


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_start_and_stop_may_be_coroutines_or_not(executor: Make, is_coroutine: bool) -> None:
    story: list[object] = []

    async def later(what: object = "start") -> None:
        story.append(what)

    def now(what: object = "start") -> None:
        story.append(what)

    step = later if is_coroutine else now
    adapter = ExecutorAdapter("plain", executor(start=step, stop=step))
    asyncio.run(adapter.start())
    asyncio.run(adapter.stop(0.0))
    assert story == ["start", 0.0]


def test_an_executor_without_a_start_is_ready_at_once(executor: Make) -> None:
    assert not roles_of("plain", executor()).starts
    assert roles_of("plain", executor(start=lambda: None)).starts


def test_members_that_are_no_methods_count_as_absent(executor: Make) -> None:
    adapter = ExecutorAdapter("plain", executor(cancel=None, stop=None, refuses=None))
    assert adapter.refuses(object()) is None  # type: ignore[arg-type]
    asyncio.run(adapter.stop(0))


def test_roles_beyond_the_batch_face_are_found_by_their_members(executor: Make) -> None:
    plain = roles_of("plain", executor())
    assert (plain.assigner, plain.result_holder, plain.numbers, plain.holder_ports) == (None, None, None, None)
    remote = executor(assign=len, acknowledge=len, bind_numbers=len, bind_holders=len)
    roles = roles_of("remote", remote)
    assert roles.assigner is roles.result_holder is roles.numbers is roles.holder_ports is remote


def test_what_lacks_a_member_is_refused_by_name() -> None:
    with pytest.raises(InvalidRouting) as caught:
        roles_of("half", object())  # type: ignore[arg-type]
    assert caught.value.code == "not_an_executor"
    assert set(caught.value.fields["missing"]) == NOT_OPTIONAL


# -- executors of this package ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [ThreadExecutor, ProcessExecutor, ShellExecutor, ZmqPubSubExecutor, WorkersExecutor, SubprocessExecutor]
)
def test_the_executors_of_this_package_write_every_member_out(kind: type) -> None:
    assert BatchExecutor in kind.__mro__
    own = [each for each in kind.__mro__ if each.__module__.startswith(("turnout.runtime", "turnout.executors"))]
    for name in (name for name in vars(BatchExecutor) if not name.startswith("_")):
        assert name in DEFAULTED or any(name in vars(each) for each in own), name


def test_the_executors_of_this_package_are_used_as_they_are() -> None:
    thread, workers = ThreadExecutor(), WorkersExecutor(listens=False)
    assert roles_of("default", thread) == (thread, None, None, None, None, True)
    assert RemoteExecutor in type(workers).__mro__
    assert roles_of("workers", workers) == (workers, workers, workers, None, workers, True)
    assert NumbersRuns in ZmqPubSubExecutor.__mro__
    faces = batch_executors({"default": thread}.items())
    assert faces["default"] is thread
    assert batch_executors(faces.items()) == faces


def test_a_class_that_inherits_the_batch_face_writes_two_members_of_it(
    executor: Any, engine: Make, event_of: Make
) -> None:
    class Inherits(executor, BatchExecutor):
        capacity = 2  # type: ignore[assignment]

        def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
            for event in events:
                report(ExecutionResult.success(event))

    async def scenario() -> None:
        desk = engine({"default": Inherits()})
        await desk.dispatcher.open()
        desk.start()
        assert not desk.dispatcher.withdraw([event_of(1)], "paused")
        assert desk.dispatcher.reserve("default", body="any") and desk.dispatcher.reserve("default")
        desk.dispatcher.dispatch("default", [event_of(1), event_of(2)])
        desk.dispatcher.cancel(event_of(1))
        assert [each.status for each in await desk.results_of(2)] == ["completed", "completed"]
        await desk.dispatcher.stop(0)

    play(scenario)


def test_an_adapter_is_not_adapted_again(executor: Make) -> None:
    faces = batch_executors({"plain": executor()}.items())
    assert batch_executors(faces.items())["plain"] is faces["plain"]


def test_only_the_adapter_looks_for_members_by_name() -> None:
    probing = {"getattr", "hasattr"}
    for file in Path(turnout.dispatcher.__path__[0]).glob("*.py"):
        calls = [each.func for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.Call)]
        used = {each.id for each in calls if isinstance(each, ast.Name)} & probing
        assert not used or file.name == "executor_adapter.py", (file.name, used)


# -- how an attempt ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behave", "status", "message"),
    [
        (lambda event: ExecutionResult.success(event, 1), "completed", None),
        (lambda event: raise_(ValueError("broken")), "retry", "broken"),
        (lambda event: raise_(NoCapacity("full")), "returned", "full"),
        (lambda event: raise_(SystemExit(3)), "retry", 'executor "plain" called exit'),
        (lambda event: raise_(asyncio.CancelledError()), "retry", 'executor "plain" cancelled the attempt by itself'),
        (lambda event: None, "retry", 'executor "plain" returned nonsense: NoneType instead of an ExecutionResult'),
        (lambda event: 7, "retry", 'executor "plain" returned nonsense: int instead of an ExecutionResult'),
        (
            lambda event: ExecutionResult(run_id="x", task_id="x.0", attempt=1, status=ExecutionStatus.COMPLETED),
            "retry",
            'executor "plain" returned nonsense: a result of another attempt',
        ),
    ],
)
def test_an_attempt_is_reported_once_by_an_execute_that(
    executor: Make, event_of: Make, behave: Any, status: str, message: str | None
) -> None:
    async def scenario() -> None:
        results, adapter = Results(), ExecutorAdapter("plain", executor(behave))
        adapter.execute_many([event_of(1, shadow=True)], results)
        result = await results.first()
        assert (result.task_id, result.shadow, result.status) == ("run.1", True, status)
        assert result.error_message == message
        await turns()
        assert len(results.all) == 1

    play(scenario)


def test_an_output_above_the_limit_fails_the_attempt(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        plain = executor(lambda event: ExecutionResult.success(event, "x" * 100))
        results, adapter = Results(), ExecutorAdapter("plain", plain, output_limit=50)
        adapter.execute_many([event_of()], results)
        result = await results.first()
        assert result.status is ExecutionStatus.FAILED
        assert result.error is not None and result.error.code == "output_too_large"

    play(scenario)


def test_an_answer_that_cannot_be_read_is_a_failure_of_the_executor(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        results = Results()
        plain = executor(lambda event: msgspec.structs.replace(ExecutionResult.success(event), run_id=Unreadable("x")))
        adapter = ExecutorAdapter("plain", plain)
        adapter.execute_many([event_of()], results)
        assert "nonsense" in ((await results.first()).error_message or "")

    play(scenario)


def test_the_next_is_not_offered_before_the_last_has_begun(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        results, adapter = Results(), ExecutorAdapter("plain", executor(lambda event: forever()))
        adapter.execute_many([event_of(1)], results)
        assert not adapter.has_capacity()
        await turns(1)
        assert adapter.has_capacity()
        adapter.execute_many([event_of(2)], results)
        adapter.withdraw([event_of(2)], "paused")
        await results.first()
        assert adapter.has_capacity(), "what never began is not counted for ever"
        await adapter.stop(0)

    play(scenario)


def test_a_batch_goes_to_an_execute_many_as_it_is(executor: Make, event_of: Make) -> None:
    taken: list[Any] = []
    results = lambda result: None  # noqa: E731
    adapter = ExecutorAdapter("many", executor(execute_many=lambda events, report: taken.append((events, report))))
    adapter.execute_many((event_of(1), event_of(2)), results)
    assert taken == [((event_of(1), event_of(2)), results)]


# -- cancellation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [True, False])
def test_without_a_cancel_of_its_own_the_call_is_cancelled(executor: Make, event_of: Make, begun: bool) -> None:
    async def scenario() -> None:
        plain, results = executor(lambda event: forever()), Results()
        adapter = ExecutorAdapter("plain", plain)
        adapter.execute_many([event_of()], results)
        await turns(int(begun))
        adapter.cancel(event_of())
        assert (await results.first()).status is ExecutionStatus.CANCELLED
        assert len(plain.seen) == int(begun)

    play(scenario)


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_a_cancel_of_its_own_is_asked_and_its_result_awaited(
    executor: Make, event_of: Make, is_coroutine: bool
) -> None:
    async def scenario() -> None:
        asked = asyncio.Event()

        async def behave(event: TaskReadyEvent) -> ExecutionResult:
            await asked.wait()
            return ExecutionResult.cancelled(event, "as asked")

        async def later(event: TaskReadyEvent) -> None:
            asked.set()

        results = Results()
        cancel = later if is_coroutine else (lambda event: asked.set())
        adapter = ExecutorAdapter("plain", executor(behave, cancel=cancel))
        adapter.execute_many([event_of()], results)
        await turns(1)
        adapter.cancel(event_of())
        assert (await results.first()).error_message == "as asked"

    play(scenario)


def test_a_cancel_that_fails_is_logged_and_the_call_is_cancelled(
    executor: Make, event_of: Make, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        results = Results()
        plain = executor(lambda event: forever(), cancel=lambda event: raise_(OSError("no way")))
        adapter = ExecutorAdapter("plain", plain)
        adapter.execute_many([event_of()], results)
        adapter.cancel(event_of())
        assert (await results.first()).status is ExecutionStatus.CANCELLED

    play(scenario)
    assert "executor plain could not cancel run.1" in caplog.text


def test_a_cancel_that_fails_later_is_logged(executor: Make, event_of: Make, caplog: pytest.LogCaptureFixture) -> None:
    async def fails(event: TaskReadyEvent) -> None:
        raise OSError("no way")

    async def scenario() -> None:
        adapter = ExecutorAdapter("plain", executor(lambda event: forever(), cancel=fails))
        adapter.execute_many([event_of()], Results())
        adapter.cancel(event_of())
        await turns()
        await adapter.stop(0)

    with caplog.at_level(logging.ERROR, "turnout.dispatcher"):
        play(scenario)
    assert "executor plain failed to cancel an attempt" in caplog.text


def test_cancelling_what_is_not_there_does_nothing(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        adapter = ExecutorAdapter("plain", executor())
        adapter.cancel(event_of())
        adapter.abandon(event_of())
        assert adapter.withdraw([event_of()], "paused") is None

    play(scenario)


# -- timeouts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cancels", [True, False])
def test_an_abandoned_call_is_cancelled_and_not_reported(executor: Make, event_of: Make, cancels: bool) -> None:
    async def scenario() -> None:
        ended, asked = asyncio.Event(), list[TaskReadyEvent]()

        async def behave(event: TaskReadyEvent) -> None:
            try:
                await forever()
            finally:
                ended.set()

        results = Results()
        adapter = ExecutorAdapter("plain", executor(behave, **({"cancel": asked.append} if cancels else {})))
        adapter.execute_many([event_of()], results)
        await turns(1)
        adapter.abandon(event_of())
        await ended.wait()
        await turns()
        assert results.all == []
        assert asked == ([event_of()] if cancels else [])

    play(scenario)


def test_an_abandoned_call_that_answers_all_the_same_is_reported_for_the_dispatcher_to_drop(
    executor: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        async def stubborn(event: TaskReadyEvent) -> ExecutionResult:
            try:
                await forever()
            except asyncio.CancelledError:
                return ExecutionResult.success(event, "late")
            raise AssertionError

        results = Results()
        adapter = ExecutorAdapter("plain", executor(stubborn))
        adapter.execute_many([event_of()], results)
        await turns(1)
        adapter.abandon(event_of())
        assert (await results.first()).output == '"late"'

    play(scenario)


# -- withdrawal -------------------------------------------------------------------------------------------------


def test_what_has_not_begun_is_withdrawn_and_what_has_begun_goes_on(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        go = asyncio.Event()

        async def behave(event: TaskReadyEvent) -> ExecutionResult:
            await go.wait()
            return ExecutionResult.success(event)

        plain, results = executor(behave), Results()
        adapter = ExecutorAdapter("plain", plain)
        adapter.execute_many([event_of(1)], results)
        await turns(1)
        adapter.execute_many([event_of(2)], results)
        assert adapter.withdraw([event_of(1), event_of(2)], "paused") is None
        returned = await results.first()
        assert (returned.task_id, returned.status, returned.error_message) == ("run.2", "returned", "paused")
        go.set()
        await turns()
        assert [(each.task_id, each.status) for each in results.all[1:]] == [("run.1", "completed")]
        assert plain.seen == [event_of(1)], "what was withdrawn never began"

    play(scenario)


def test_a_withdraw_of_its_own_is_asked_for_what_has_begun(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        asked: list[Any] = []
        done = asyncio.get_running_loop().create_future()

        def withdraw(events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[None]:
            asked.append((list(events), reason))
            return done

        results = Results()
        adapter = ExecutorAdapter("plain", executor(lambda event: forever(), withdraw=withdraw))
        adapter.execute_many([event_of(1)], results)
        await turns(1)
        adapter.execute_many([event_of(2)], results)
        assert adapter.withdraw([event_of(1), event_of(2)], "paused") is done
        assert asked == [([event_of(1)], "paused")]
        assert (await results.first()).task_id == "run.2"
        await adapter.stop(0)

    play(scenario)


# -- the end ----------------------------------------------------------------------------------------------------


def test_stop_lets_calls_end_and_cancels_the_rest_before_the_executor_is_stopped(
    executor: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        soon = asyncio.Event()
        left: list[float] = []

        async def behave(event: TaskReadyEvent) -> ExecutionResult:
            await (soon.wait() if event.task_id == "run.1" else forever())
            return ExecutionResult.success(event)

        async def stop(timeout: float) -> None:
            left.append(timeout)
            await turns()

        results = Results()
        adapter = ExecutorAdapter("plain", executor(behave, stop=stop))
        adapter.execute_many([event_of(1), event_of(2)], results)
        asyncio.get_running_loop().call_soon(soon.set)
        await adapter.stop(0.05)
        assert left == [0.0]
        assert {each.task_id: each.status for each in results.all} == {"run.1": "completed", "run.2": "lost"}
        assert results.all[1].error_message == 'executor "plain" was stopped'

    play(scenario)


@pytest.mark.parametrize("answers", [True, False])
def test_stop_lets_cancels_end_that_were_asked_for_and_waits_for_none_that_hangs(
    executor: Make, event_of: Make, answers: bool
) -> None:
    async def scenario() -> None:
        cancelled: list[str] = []

        async def cancel(event: TaskReadyEvent) -> None:
            await (turns(5) if answers else forever())
            cancelled.append(event.task_id)

        plain = executor(lambda event: forever(), cancel=cancel, reattach=lambda event: forever())
        adapter = ExecutorAdapter("plain", plain)
        adapter.execute_many([event_of()], Results())
        await turns(1)
        adapter.cancel(event_of())
        await adapter.stop(20.0 if answers else 0.01)
        assert cancelled == (["run.1"] if answers else []), "no later orchestrator would ask for it"

    play(scenario)


# -- reattachment -----------------------------------------------------------------------------------------------


def test_an_attempt_that_was_begun_before_is_never_returned(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        results = Results()
        again = msgspec.structs.replace(event_of(), again=True)

        async def found(event: TaskReadyEvent) -> ExecutionResult:
            return ExecutionResult.success(event)

        adapter = ExecutorAdapter("plain", executor(lambda event: forever(), reattach=found))
        adapter.execute_many([again], results)
        adapter.withdraw([event_of()], "paused")
        assert (await results.first()).status is ExecutionStatus.COMPLETED

    play(scenario)


@pytest.mark.parametrize("known", [True, False])
def test_an_attempt_that_was_begun_before_is_reattached_or_lost(executor: Make, event_of: Make, known: bool) -> None:
    async def reattach(begun: TaskReadyEvent) -> ExecutionResult | None:
        return ExecutionResult.success(begun, "found") if known else None

    async def scenario() -> None:
        plain, results = executor(reattach=reattach), Results()
        adapter = ExecutorAdapter("plain", plain)
        assert adapter.reattaches and adapter.outlives
        adapter.execute_many([msgspec.structs.replace(event_of(), again=True)], results)
        result = await results.first()
        assert (result.status, plain.seen) == ("completed" if known else "lost", []), "it is not executed"

    play(scenario)


def test_a_stop_leaves_attempts_that_can_be_reattached(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        results = Results()
        adapter = ExecutorAdapter("plain", executor(lambda _: forever(), reattach=lambda _: forever()))
        adapter.execute_many([event_of()], results)
        await turns()
        await adapter.stop(60)
        await turns()
        assert results.all == [], "the next orchestrator takes the result"

    play(scenario)


def test_without_reattach_an_attempt_that_comes_again_is_executed(executor: Make, event_of: Make) -> None:
    async def scenario() -> None:
        plain, results = executor(), Results()
        adapter = ExecutorAdapter("plain", plain)
        assert not adapter.reattaches
        adapter.execute_many([msgspec.structs.replace(event_of(), again=True)], results)
        assert (await results.first()).status == "completed" and len(plain.seen) == 1

    play(scenario)
