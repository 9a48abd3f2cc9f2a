"""An executor that fails gets nothing but a probe now and then, until it works again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from kit.clock import Clock

from turnout.dispatcher import (
    BreakerSettings,
    DefaultDispatcher,
    ExecutionResult,
    ExecutionStatus,
    ExecutorUnavailable,
    NoCapacity,
    Report,
    TaskReadyEvent,
)
from turnout.errors import InvalidSetting

Make = Callable[..., Any]

SETTINGS = BreakerSettings(threshold=3, recovery=1.0, longest=4.0)


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


class Moody:
    """What an executor does with an event; the test changes its mind."""

    def __init__(self) -> None:
        self.error: BaseException | None = ConnectionError("no answer")
        self.gate: asyncio.Event | None = None

    async def __call__(self, event: TaskReadyEvent) -> ExecutionResult:
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return ExecutionResult.success(event, "done")


def run(scenario: Callable[[], Any]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 20)

    asyncio.run(bounded())


async def send(desk: Any, *events: TaskReadyEvent) -> list[ExecutionResult]:
    """Their results, in order."""
    before = len(desk.results)
    desk.send(*events)
    return (await desk.results_of(before + len(events)))[before:]


def test_failures_in_a_row_open_it_and_then_nobody_gets_a_place(
    executor: Make, engine: Make, event_of: Make, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        custom = executor(Moody(), capacity=10)
        desk = engine({"default": custom}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        for number in range(3):
            assert dispatcher.breaker("default") == "closed"
            await send(desk, event_of(number))
        assert dispatcher.breaker("default") == "open"
        assert not dispatcher.reserve("default")
        assert not dispatcher.reserve("default", exclusive=True)
        assert (dispatcher.free_slots("default"), dispatcher.has_capacity("default")) == (0, False)
        clock.now += 0.99
        assert not dispatcher.reserve("default")
        assert len(custom.seen) == 3

    with caplog.at_level(logging.INFO, "turnout.dispatcher"):
        run(scenario)
    (said,) = [record for record in caplog.records if "breaker" in record.message]
    assert said.levelno == logging.WARNING
    assert "executor default: open for 1 s after 3 failures in a row" in said.message
    assert "ConnectionError: no answer" in said.message


def test_half_open_one_may_try_whose_success_closes_it(
    executor: Make, engine: Make, event_of: Make, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        moody = Moody()
        desk = engine({"default": executor(moody, capacity=10)}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        for number in range(3):
            await send(desk, event_of(number))
        moody.error, moody.gate = None, asyncio.Event()
        clock.now += 1.0
        assert dispatcher.free_slots("default") == 1
        desk.send(event_of(3))
        assert dispatcher.breaker("default") == "half_open"
        assert not dispatcher.reserve("default")
        moody.gate.set()
        result = (await desk.results_of(4))[-1]
        assert result.status is ExecutionStatus.COMPLETED
        assert dispatcher.breaker("default") == "closed"
        assert dispatcher.free_slots("default") == 10

    with caplog.at_level(logging.INFO, "turnout.dispatcher"):
        run(scenario)
    moves = [(record.levelno, record.message) for record in caplog.records if "breaker" in record.message]
    assert [level for level, _ in moves] == [logging.WARNING, logging.INFO, logging.INFO]
    assert "half open" in moves[1][1]
    assert "closed after 3 failures" in moves[2][1]


def test_a_probe_that_fails_opens_it_for_longer(executor: Make, engine: Make, event_of: Make, clock: Clock) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(Moody(), capacity=10)}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        for number in range(3):
            await send(desk, event_of(number))
        for number, pause in enumerate([1.0, 2.0, 4.0, 4.0], 3):
            clock.now += pause - 0.01
            assert not dispatcher.reserve("default")
            clock.now += 0.01
            await send(desk, event_of(number))
            assert dispatcher.breaker("default") == "open"

    run(scenario)


@pytest.mark.parametrize(
    "behave",
    [
        lambda event: ExecutionResult.success(event),
        lambda event: ExecutionResult.failed(event, ValueError("the body's")),
        lambda event: ExecutionResult.timed_out(event, 1.0),
        lambda event: ExecutionResult.crashed(event, "SIGSEGV"),
        lambda event: ExecutionResult.cancelled(event),
        lambda event: ExecutionResult.lost(event, "a worker died"),
    ],
)
def test_what_bodies_do_never_opens_it(executor: Make, engine: Make, event_of: Make, behave: Any) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(behave, capacity=10)}, breaker=BreakerSettings(threshold=1)).start()
        for number in range(5):
            await send(desk, event_of(number))
        assert desk.dispatcher.breaker("default") == "closed"

    run(scenario)


def raises(error: BaseException) -> Callable[[TaskReadyEvent], Any]:
    def behave(event: TaskReadyEvent) -> Any:
        raise error

    return behave


@pytest.mark.parametrize(
    ("behave", "status"),
    [
        (raises(OSError("broken")), "retry"),
        (raises(SystemExit(1)), "retry"),
        (raises(asyncio.CancelledError()), "retry"),
        (raises(ExecutorUnavailable("no cluster")), "returned"),
        (lambda event: None, "retry"),
        (lambda event: ExecutionResult.returned(event, "no fork", unavailable=True), "returned"),
    ],
)
def test_what_an_executor_does_wrong_opens_it(
    executor: Make, engine: Make, event_of: Make, behave: Any, status: str
) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(behave, capacity=10)}, breaker=BreakerSettings(threshold=1)).start()
        (result,) = await send(desk, event_of())
        assert result.status == status
        assert desk.dispatcher.breaker("default") == "open"

    run(scenario)


def test_a_refusal_for_lack_of_room_is_no_failure_and_a_probe_that_meets_it_makes_way_for_another(
    executor: Make, engine: Make, event_of: Make, clock: Clock
) -> None:
    async def scenario() -> None:
        moody = Moody()
        desk = engine({"default": executor(moody, capacity=10)}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        for number in range(3):
            await send(desk, event_of(number))
        clock.now += 1.0
        moody.error = NoCapacity("full")
        await send(desk, event_of(3))
        assert dispatcher.breaker("default") == "half_open"
        # It is held off for a moment, as after any refusal, and then announced.
        await desk.until(lambda: dispatcher.free_slots("default") == 1)
        moody.error = None
        await send(desk, event_of(4))
        assert dispatcher.breaker("default") == "closed"

    run(scenario)


def test_attempts_whose_places_were_reserved_before_it_opened_go_back_and_cost_nothing(
    executor: Make, engine: Make, event_of: Make, clock: Clock
) -> None:
    async def scenario() -> None:
        custom = executor(Moody(), capacity=10)
        desk = engine({"default": custom}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        assert dispatcher.reserve("default")
        assert dispatcher.reserve("default")
        for number in range(3):
            await send(desk, event_of(number))
        dispatcher.dispatch("default", [event_of(3), event_of(4)])
        results = (await desk.results_of(5))[3:]
        assert [(each.status, each.error_message) for each in results] == [("returned", "breaker_open")] * 2
        assert len(custom.seen) == 3
        metrics = dispatcher.metrics()["default"]
        assert (metrics.in_flight, metrics.reserved) == (0, 0)

    run(scenario)


def test_the_places_of_those_that_go_back_are_free_for_their_holders_too(
    executor: Make, engine: Make, event_of: Make, clock: Clock
) -> None:
    async def scenario() -> None:
        free: list[str] = []
        custom = executor(Moody(), capacity=10, assign=lambda line: "w", unassign=free.append)
        desk = engine({"default": custom}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        events = [msgspec.structs.replace(event_of(number), holder=f"w{number}") for number in range(6)]
        for _ in events[:3]:
            assert dispatcher.reserve("default")
        for event in events[3:]:
            await send(desk, event)
        assert free == []
        dispatcher.dispatch("default", [events[0], events[1]])
        assert free == ["w0", "w1"], "its breaker is open"
        await dispatcher.stop(0)
        dispatcher.dispatch("default", [events[2]])
        assert free == ["w0", "w1", "w2"], "it is stopping"

    run(scenario)


def test_while_half_open_only_as_many_go_through_as_have_reserved_since(
    executor: Make, engine: Make, event_of: Make, clock: Clock
) -> None:
    async def scenario() -> None:
        moody = Moody()
        custom = executor(moody, capacity=10)
        desk = engine({"default": custom}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        for _ in range(3):
            assert dispatcher.reserve("default")
        for number in range(3):
            await send(desk, event_of(number))
        clock.now += 1.0
        assert dispatcher.reserve("default")
        moody.error = None
        dispatcher.dispatch("default", [event_of(3), event_of(4)])
        dispatcher.release("default")
        dispatcher.dispatch("default", [event_of(5)])
        results = (await desk.results_of(6))[3:]
        assert sorted(each.status for each in results) == ["completed", "returned", "returned"]
        assert len(custom.seen) == 4
        assert dispatcher.breaker("default") == "closed"

    run(scenario)


def test_a_probe_whose_commit_did_not_apply_makes_way_for_another(
    executor: Make, engine: Make, event_of: Make, clock: Clock
) -> None:
    async def scenario() -> None:
        moody = Moody()
        desk = engine({"default": executor(moody, capacity=10)}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        for number in range(3):
            await send(desk, event_of(number))
        clock.now += 1.0
        assert dispatcher.reserve("default")
        assert not dispatcher.reserve("default")
        freed = len(desk.freed)
        dispatcher.release("default")
        await desk.until(lambda: len(desk.freed) > freed)
        moody.error = None
        await send(desk, event_of(3))
        assert dispatcher.breaker("default") == "closed"

    run(scenario)


def test_results_from_before_it_opened_do_not_decide_while_it_is_half_open(
    executor: Make, engine: Make, event_of: Make, clock: Clock
) -> None:
    async def scenario() -> None:
        late: dict[str, asyncio.Future[ExecutionResult]] = {}

        async def behave(event: TaskReadyEvent) -> ExecutionResult:
            if event.task_id in ("run.0", "run.1", "run.9"):
                late[event.task_id] = asyncio.get_running_loop().create_future()
                return await late[event.task_id]
            raise ConnectionError("no answer")

        desk = engine({"default": executor(behave, capacity=10)}, breaker=SETTINGS, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        desk.send(event_of(0), event_of(1))
        for number in range(2, 5):
            await send(desk, event_of(number))
        clock.now += 1.0
        desk.send(event_of(9))
        late["run.0"].set_result(ExecutionResult.success(event_of(0)))
        late["run.1"].set_exception(ConnectionError("late"))
        await desk.results_of(5)
        assert dispatcher.breaker("default") == "half_open"
        assert not dispatcher.reserve("default")
        await desk.until(lambda: "run.9" in late)
        late["run.9"].set_result(ExecutionResult.success(event_of(9)))
        await desk.results_of(6)
        assert dispatcher.breaker("default") == "closed"

    run(scenario)


def test_those_who_wait_are_woken_when_it_opens_and_when_it_may_be_tried(
    executor: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        moody = Moody()
        settings = BreakerSettings(threshold=1, recovery=0.05)
        desk = engine({"default": executor(moody, capacity=10)}, breaker=settings).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        await send(desk, event_of(0))
        await desk.until(lambda: len(desk.rooms) >= 2)
        assert desk.rooms == [0, 1]
        assert dispatcher.breaker("default") == "open"
        moody.error = None
        await send(desk, event_of(1))
        await desk.until(lambda: len(desk.rooms) >= 3)
        assert desk.rooms[2:] == [10]

    run(scenario)


def test_a_probe_with_a_long_body_does_not_keep_the_others_waiting(
    executor: Make, engine: Make, event_of: Make, clock: Clock
) -> None:
    async def scenario() -> None:
        moody = Moody()
        settings = BreakerSettings(threshold=1, recovery=0.01, longest=0.02)
        desk = engine({"default": executor(moody, capacity=10)}, breaker=settings, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        await send(desk, event_of(0))
        clock.now += 0.01
        moody.error, moody.gate = None, asyncio.Event()
        desk.send(event_of(1))
        await desk.until(lambda: dispatcher.breaker("default") == "closed")
        assert dispatcher.reserve("default")
        moody.gate.set()
        await desk.results_of(2)

    run(scenario)


class Batches:
    """An executor whose ``execute_many`` raises as long as it is told to."""

    capacity = 100

    def __init__(self) -> None:
        self.error: BaseException | None = OSError("broken")
        self.batches: list[int] = []

    def __call__(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        self.batches.append(len(events))
        if self.error is not None:
            raise self.error
        for event in events:
            report(ExecutionResult.success(event))


def test_a_batch_that_raises_is_one_failure(executor: Make, engine: Make, event_of: Make, clock: Clock) -> None:
    async def scenario() -> None:
        batches = Batches()
        custom = executor(capacity=100, execute_many=batches)
        settings = BreakerSettings(threshold=2, probes=3)
        desk = engine({"default": custom}, breaker=settings, clock=clock).start()
        dispatcher: DefaultDispatcher = desk.dispatcher
        await send(desk, *(event_of(number) for number in range(50)))
        assert dispatcher.breaker("default") == "closed"
        await send(desk, *(event_of(number) for number in range(50, 60)))
        assert dispatcher.breaker("default") == "open"
        clock.now += 1.0
        # Refused for lack of room, none of the three probes has found out anything.
        batches.error = NoCapacity("full")
        assert dispatcher.free_slots("default") == 3
        await send(desk, *(event_of(number) for number in range(60, 63)))
        assert dispatcher.breaker("default") == "half_open"
        await desk.until(lambda: dispatcher.free_slots("default") == 3)
        batches.error = None
        await send(desk, *(event_of(number) for number in range(63, 66)))
        assert dispatcher.breaker("default") == "closed"
        assert batches.batches == [50, 10, 3, 3]

    run(scenario)


@pytest.mark.parametrize("settings", [None, BreakerSettings(threshold=0)])
def test_it_can_be_switched_off(executor: Make, engine: Make, event_of: Make, settings: BreakerSettings | None) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(Moody(), capacity=10)}, breaker=settings).start()
        for number in range(10):
            await send(desk, event_of(number))
        assert desk.dispatcher.breaker("default") == "closed"

    run(scenario)


def test_executors_that_are_stopped_open_nothing(
    executor: Make, engine: Make, event_of: Make, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        moody = Moody()
        moody.gate = asyncio.Event()
        custom = executor(moody, capacity=10, isolates=True)
        desk = engine({"default": custom}, breaker=BreakerSettings(threshold=1)).start()
        desk.send(event_of(0), event_of(1))
        await desk.until(lambda: True)
        await desk.dispatcher.stop(0)
        assert {each.status for each in desk.results} == {"lost"}
        assert desk.dispatcher.breaker("default") == "closed"

    run(scenario)
    assert "breaker" not in caplog.text


def test_a_key_that_nobody_has_registered_is_closed() -> None:
    assert DefaultDispatcher().breaker("nobody") == "closed"


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InvalidSetting) as caught:
        DefaultDispatcher(breaker=BreakerSettings(probes=0))
    assert caught.value.fields == {"field": "breaker.probes"}
