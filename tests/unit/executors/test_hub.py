"""The hub's executor without a socket and a database: what it does with what it is given, told and refused."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from fake_loader import FakeLoader
from unit.wire.network import hello

from turnout.contracts.executor import BatchReport
from turnout.errors import StoreUnreachable
from turnout.executors.workers.executor import IDLE_TICK, TICK, WorkersExecutor
from turnout.executors.workers.in_flight import InFlight, attempt_of, token_of
from turnout.executors.workers.settings import HubSettings
from turnout.executors.workers.step_sender import CREDIT_TIMEOUT
from turnout.model.events import ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.labels import pinned
from turnout.model.rows import Renewal, Session
from turnout.model.spec import Body, TaskSpec
from turnout.wire.documents import ResultMetadata, StepBatch, StepError, StepResult, StepResults
from turnout.wire.frames import pack, unpack
from turnout.wire.hub_sessions import MAX_TICK_GAP
from turnout.wire.messages import (
    Ack,
    Cancel,
    Credit,
    Error,
    Heartbeat,
    Held,
    Message,
    Received,
    Start,
    Started,
    Welcome,
)
from turnout.wire.worker_entries import MAX_WAIT

HANDLER = "tests:t"
RUN = "0190c0de-0000-7000-8000-000000000000"


class Database:
    """What the orchestrator would know; ``trouble`` is raised by whatever asks it."""

    def __init__(self) -> None:
        self.trouble: Exception | None = None
        self.answers = asyncio.Event()
        """Cleared: nobody is answered."""
        self.answers.set()
        self.wanted: frozenset[tuple[str, int]] = frozenset()
        self.posted: list[ExecutionResult] = []
        self.renewed: list[str] = []

    async def _answer(self) -> None:
        await self.answers.wait()
        if self.trouble is not None:
            raise self.trouble

    async def open_session(self, worker: Session, about: str) -> str | None:
        await self._answer()
        return None

    async def renew(self, about: Mapping[str, str]) -> Renewal:
        await self._answer()
        self.renewed += about
        return Renewal(frozenset(), {})

    async def end_session(self, worker_id: str) -> None:
        await self._answer()

    async def keys_of(self, worker_ids: Sequence[str]) -> Mapping[str, str]:
        await self._answer()
        return {}

    async def extend_attempts(self, worker_id: str, attempts: Sequence[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        await self._answer()
        return frozenset(attempts) & self.wanted

    def drives(self, task_id: str) -> bool:
        return True

    async def hubs(self) -> Mapping[str, bool]:
        return {}

    async def post(self, worker_id: str, results: Sequence[ExecutionResult]) -> None:
        await self._answer()
        self.posted += results

    def may_begin(self, worker_id: str, task_id: str, attempt: int) -> bool:
        return True


class Desk:
    """A hub whose workers are this test."""

    def __init__(self, **settings: Any) -> None:
        self.hub = WorkersExecutor(HubSettings(address="tcp://127.0.0.1:0", **settings))
        self.database = Database()
        self.hub.bind_holders(self.database)
        self.loader = FakeLoader()
        self.hub.bind(self.loader)
        self.results: list[ExecutionResult] = []
        self._sent: list[tuple[bytes, list[bytes]]] = []
        self.hub.router.send = lambda route, frames: self._sent.append((route, list(frames)))  # type: ignore[method-assign]
        self._seq = 0

    async def settle(self) -> None:
        """Until nothing more happens by itself."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def greet(self, worker_id: str = "w", route: bytes = b"", **changes: Any) -> None:
        said = hello(worker_id, **{"codecs": ("json",), "handlers": (HANDLER,), **changes})
        self.hub.protocol.receive(route or worker_id.encode(), pack(said, ""), 0.0)
        self.hub.pump()
        await self.settle()

    async def hear(self, message: Message, worker_id: str = "w", now: float = 0.0) -> None:
        worker = self.hub.protocol.workers[worker_id]
        self.hub.protocol.receive(worker.route, pack(message, worker.session), now)
        self.hub.pump()
        await self.settle()

    async def beat(self, *held: tuple[str, Any], now: float = 0.0) -> None:
        self._seq += 1
        listed = tuple(Held(token, state) for token, state in held)
        await self.hear(Heartbeat(seq=self._seq, credits=4, in_flight=listed), now=now)

    async def answer(self, *results: StepResult, worker_id: str = "w") -> None:
        await self.hear(StepResults(batch_id="b", protocol_version="1.0", results=results), worker_id)

    def assigned(self, body: Callable[..., Any] | None = None, **more: Any) -> TaskReadyEvent:
        """An attempt for which a worker was chosen."""
        event = self.loader.add(body, **more)
        holder = self.hub.assign(self.hub.selector(self.loader.works[event.task_id].task, None))
        assert holder is not None
        return msgspec.structs.replace(event, holder=holder)

    async def execute(self, *events: TaskReadyEvent) -> None:
        self.hub.execute_many(events, self.results.append)
        await self.settle()

    def said(self) -> list[Message]:
        sent, self._sent = self._sent, []
        return [unpack(frames).message for _, frames in sent]

    def statuses(self) -> list[ExecutionStatus]:
        return [result.status for result in self.results]


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def kinds(messages: Collection[Message]) -> list[type[Message]]:
    return [type(message) for message in messages]


def failed_of(token: str) -> StepResult:
    return StepResult(step_id="x", status="failed", metadata=ResultMetadata(token=token), error=StepError("no"))


def test_what_was_meant_for_a_worker_that_is_to_leave_goes_back_at_once() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet()
        event = desk.assigned()
        desk.hub.protocol.drain(desk.hub.protocol.workers["w"], "deploy")
        await desk.execute(event)
        assert desk.statuses() == [ExecutionStatus.RETURNED]
        assert not len(desk.hub.in_flight) and not desk.hub.pool._reserved

    run(scenario)


async def three_for_a_worker_that_takes(credits: int) -> Desk:
    desk = Desk()
    await desk.greet()
    events = [desk.assigned() for _ in range(3)]
    await desk.hear(Credit(1, credits))
    desk.said()
    await desk.execute(*events)
    return desk


def test_what_was_meant_for_a_worker_that_takes_no_more_goes_back_at_once() -> None:
    async def scenario() -> None:
        desk = await three_for_a_worker_that_takes(0)
        assert desk.statuses() == [ExecutionStatus.RETURNED] * 3
        assert not desk.said() and not len(desk.hub.in_flight) and not desk.hub.pool._reserved

    run(scenario)


def test_what_was_meant_for_a_worker_that_takes_fewer_goes_out_when_something_ends_there() -> None:
    async def scenario() -> None:
        desk = await three_for_a_worker_that_takes(1)
        [batch] = desk.said()
        assert isinstance(batch, StepBatch) and len(batch.steps) == 1 and not desk.results
        await desk.answer(failed_of(batch.steps[0].token))
        [later] = desk.said()
        assert isinstance(later, StepBatch) and len(later.steps) == 1
        assert desk.statuses() == [ExecutionStatus.RETRY]

    run(scenario)


def test_what_a_worker_does_not_take_for_long_goes_back_and_what_was_cancelled_is_not_sent() -> None:
    async def scenario() -> None:
        desk = await three_for_a_worker_that_takes(1)
        first, second = [flight.event for flight in desk.hub.in_flight.without_result() if not flight.given]
        desk.hub.cancel(first)
        desk.hub._sender.flush(time.monotonic() + 2 * CREDIT_TIMEOUT)
        assert [(each.task_id, each.status) for each in desk.results] == [
            (first.task_id, ExecutionStatus.CANCELLED),
            (second.task_id, ExecutionStatus.RETURNED),
        ]
        assert len(desk.hub.in_flight) == 1 and not desk.hub.pool._reserved

    run(scenario)


def test_what_was_meant_for_a_worker_that_has_to_say_hello_again_goes_back_at_once() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet()
        event = desk.assigned()
        desk.hub.protocol.receive(b"w", [b"nonsense"], 0.0)
        await desk.execute(event)
        assert desk.statuses() == [ExecutionStatus.RETURNED]

    run(scenario)


async def four_of_which_two_wait(desk: Desk, later: float) -> list[str]:
    """A worker with two places and four credits has four steps; returns their tokens."""
    await desk.greet()
    events = [desk.assigned() for _ in range(4)]
    await desk.execute(*events)
    tokens = [token_of(event.task_id, event.attempt) for event in events]
    await desk.beat(*zip(tokens, ("running", "running", "waiting", "waiting"), strict=True), now=later)
    return tokens


def test_what_waits_for_long_goes_to_a_worker_that_could_begin_it() -> None:
    async def scenario() -> None:
        desk, now = Desk(), time.monotonic() + 2 * MAX_WAIT
        first, second, third, fourth = await four_of_which_two_wait(desk, now)
        assert Started not in kinds(desk.said()), "nobody else is there"
        await desk.greet("idle", credits=3)
        desk.said()
        held = [(first, "running"), (second, "running"), (third, "waiting"), (fourth, "waiting")]
        await desk.beat(*held, now=now)
        [taken] = [message for message in desk.said() if isinstance(message, Started)]
        assert (taken.granted, taken.denied) == ((), (third, fourth))
        assert not desk.results, "it may have begun: the worker has to tell"
        await desk.beat((first, "running"), (second, "running"), (fourth, "running"), now=now)
        [result] = desk.results
        assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "another worker could begin it")
        assert sorted(desk.hub.protocol.workers["w"].out) == sorted([first, second, fourth])

    run(scenario)


def test_no_more_is_taken_back_than_others_could_begin() -> None:
    async def scenario() -> None:
        desk, now = Desk(), time.monotonic() + 2 * MAX_WAIT
        tokens = await four_of_which_two_wait(desk, now)
        await desk.greet("busy", credits=2)
        await desk.execute(desk.assigned())
        await desk.greet("other", handlers=("something else",))
        await desk.greet("small", credits=1)
        desk.said()
        held = zip(tokens, ("running", "running", "waiting", "waiting"), strict=True)
        await desk.beat(*held, now=now)
        [taken] = [message for message in desk.said() if isinstance(message, Started)]
        assert taken.denied == (tokens[2],), "one has the place, one other handlers, one works already"

    run(scenario)


def test_a_withdrawal_is_over_when_the_worker_has_heard_of_it_and_takes_what_has_not_begun() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet(credits=4)
        events = [desk.assigned() for _ in range(2)]
        await desk.execute(*events)
        runs, waits = (token_of(event.task_id, event.attempt) for event in events)
        desk.said()
        waiting = desk.hub.withdraw(events, "paused")
        assert waiting is not None
        withdrawn = asyncio.ensure_future(waiting)
        await desk.settle()
        [denied, again] = desk.said()
        assert isinstance(denied, Started) and (denied.granted, denied.denied) == ((), (runs, waits))
        assert isinstance(again, StepBatch) and [step.token for step in again.steps] == [runs, waits]
        await desk.hear(Received((runs, waits)))
        assert not withdrawn.done(), "that answers the steps as they were sent first"
        await desk.hear(Received((runs, waits)))
        assert withdrawn.done() and not desk.results
        await desk.beat((runs, "running"))
        [result] = desk.results
        assert (result.task_id, result.status) == (events[1].task_id, ExecutionStatus.RETURNED)
        assert result.error_message == "paused"

    run(scenario)


def test_a_withdrawal_is_said_again_in_the_next_session_and_does_not_wait_for_a_worker_that_is_gone() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet()
        events = [desk.assigned() for _ in range(2)]
        await desk.execute(*events)
        tokens = tuple(token_of(event.task_id, event.attempt) for event in events)
        withdrawn = asyncio.ensure_future(desk.hub.withdraw(events, "paused"))  # type: ignore[arg-type]
        await desk.settle()
        desk.said()
        await desk.greet(route=b"again", seq=2, in_flight=tuple(Held(token, "waiting") for token in tokens))
        said = desk.said()
        assert [each.denied for each in said if isinstance(each, Started)] == [tokens]
        await desk.hear(Received(tokens[:1]))
        assert not withdrawn.done()
        desk.hub.protocol.expel(desk.hub.protocol.workers["w"], "it is gone")
        desk.hub.pump()
        await desk.settle()
        assert withdrawn.done()

    run(scenario)


def test_what_was_not_sent_or_has_no_leave_to_begin_is_withdrawn_at_once() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet(credits=4)
        once = TaskSpec(name="t", body=Body("python", "tests:t"), at_most_once=True)
        event, unsent = desk.assigned(), desk.assigned()
        desk.loader.works[event.task_id] = msgspec.structs.replace(desk.loader.works[event.task_id], task=once)
        await desk.execute(event)
        desk.loader.from_store = True
        desk.hub.execute_many([unsent], desk.results.append)
        assert desk.hub.withdraw([event, unsent], "paused") is None
        assert desk.statuses() == [ExecutionStatus.RETURNED] * 2
        await desk.settle()
        desk.said()
        await desk.hear(Start((token_of(event.task_id, event.attempt),)))
        assert [each.denied for each in desk.said() if isinstance(each, Started)], "it begins never"

    run(scenario)


def test_what_has_just_come_may_wait() -> None:
    async def scenario() -> None:
        desk, now = Desk(), time.monotonic()
        tokens = await four_of_which_two_wait(desk, now)
        await desk.greet("idle")
        await desk.beat(*zip(tokens, ("running", "running", "waiting", "waiting"), strict=True), now=now)
        assert Started not in kinds(desk.said())

    run(scenario)


def test_a_run_that_stays_on_a_worker_which_is_gone_names_that_worker_and_what_comes_after_it() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet("0e1d", name="north-1")
        (worker,) = desk.hub.protocol.workers
        pool = desk.hub.pool
        selector = pool.selector("h", pinned({"zone": "north"}, worker))
        assert pool.wait_reason(selector).startswith("no_worker_matches"), "it is connected, without that label"
        desk.hub.protocol.workers.clear()
        pool.changed()
        assert pool.wait_reason(selector) == "waiting_for_its_worker{north-1; zone=north}"
        unknown = pool.selector("h", pinned({"zone": "north"}, "0f3a"))
        assert pool.wait_reason(unknown) == "waiting_for_its_worker{0f3a; zone=north}"

    run(scenario)


def test_tasks_that_ask_for_different_things_never_stand_in_one_line() -> None:
    async def scenario() -> None:
        pool = Desk().hub.pool
        plain = pool.selector("h [('gpu', 'true')]", {})
        labelled = pool.selector("h", {"gpu": "true"})
        assert pool.wait_reason(plain) == "no_worker_matches{} handler h [('gpu', 'true')]"
        assert pool.wait_reason(labelled) == "no_worker_matches{gpu=true} handler h"
        assert pool.selector("h", {"b": "2", "a": "1"}) == pool.selector("h", {"a": "1", "b": "2"})

    run(scenario)


@pytest.mark.parametrize("trouble", [StoreUnreachable("away"), RuntimeError("a mistake")], ids=["database", "mistake"])
def test_a_worker_that_cannot_be_let_in_is_told_to_come_again_and_is_let_in_then(
    trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.database.trouble = trouble
        await desk.greet(seq=1)
        [refusal] = desk.said()
        assert isinstance(refusal, Error) and refusal.code == "no_session"
        desk.database.trouble = None
        await desk.greet(seq=1)
        assert kinds(desk.said()) == [Welcome]

    with caplog.at_level(logging.WARNING, "turnout.hub"):
        run(scenario)
    assert "worker w is not admitted yet" in caplog.text


def test_a_greeting_that_was_overtaken_while_the_database_was_asked_lets_in_only_the_later_one() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.database.answers.clear()
        await desk.greet(route=b"one", seq=1)
        await desk.greet(route=b"two", seq=2)
        desk.database.answers.set()
        await desk.settle()
        [welcome] = desk.said()
        assert isinstance(welcome, Welcome) and welcome.seq == 2
        assert desk.hub.protocol.workers["w"].route == b"two"

    run(scenario)


def test_the_clock_of_the_hub_survives_a_mistake(caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    async def scenario() -> None:
        desk = Desk()
        ticks = 0
        again = asyncio.Event()

        def tick(now: float) -> None:
            nonlocal ticks
            ticks += 1
            if ticks == 1:
                raise RuntimeError("a mistake")
            again.set()

        monkeypatch.setattr(desk.hub.protocol, "tick", tick)
        await desk.hub.start()
        try:
            await asyncio.wait_for(again.wait(), 5)
        finally:
            await desk.hub.stop(0)

    run(scenario)
    assert "a mistake" in caplog.text


def test_what_fails_in_the_background_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> None:
        raise RuntimeError("a mistake")

    async def scenario() -> None:
        desk = Desk()
        desk.hub.background.spawn(broken())
        await desk.settle()
        assert "a mistake" in caplog.text

    run(scenario)


def test_a_cancellation_is_said_again_for_as_long_as_the_worker_goes_on() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet(seq=1)
        event = desk.assigned()
        token = token_of(event.task_id, event.attempt)
        await desk.execute(event)
        await desk.beat((token, "running"))
        # It is between two sessions: nothing that is said now arrives.
        desk.hub.protocol.receive(b"w", [b"nonsense"], 0.0)
        desk.said()
        desk.hub.cancel(event)
        await desk.greet(seq=2, in_flight=(Held(token, "running"),))
        desk._seq = 0
        await desk.beat((token, "running"))
        assert [each for each in desk.said() if isinstance(each, Cancel)] == [Cancel((token,), "cancelled")]
        await desk.beat((token, "done"))
        assert not any(isinstance(each, Cancel) for each in desk.said())

    run(scenario)


def test_an_attempt_that_its_worker_does_not_end_in_time_is_not_waited_for() -> None:
    async def scenario() -> None:
        desk = Desk(heartbeat=1.0, lease=10.0)
        await desk.greet()
        event = desk.assigned(timeout=5.0)
        token = token_of(event.task_id, event.attempt)
        await desk.execute(event)
        await desk.beat((token, "waiting"))
        worker = desk.hub.protocol.workers["w"]

        clock = 0.0

        async def pass_time(seconds: int) -> None:
            nonlocal clock
            for _ in range(2 * seconds):
                clock += 0.5
                worker.last_seen = clock
                desk.hub.protocol.tick(clock)
            desk.hub.pump()
            await desk.settle()

        await pass_time(100)
        assert not desk.results, "its time counts from its start"
        await desk.beat((token, "running"), now=clock)
        desk.said()
        await pass_time(14)
        assert not desk.results, "its worker has some time to end it"
        await pass_time(1)
        assert desk.statuses() == [ExecutionStatus.TIMED_OUT]
        assert desk.said() == [Cancel((token,), "out of time")]
        assert worker.free == 3 and not len(desk.hub.in_flight), "its place is taken until it is heard of"
        await desk.answer(failed_of(token))
        assert desk.said() == [Ack((token,))] and len(desk.results) == 1 and worker.free == 4

    run(scenario)


def test_sessions_that_could_not_be_renewed_are_renewed_before_anybody_is_declared_dead() -> None:
    async def scenario() -> None:
        desk = Desk(heartbeat=1.0, lease=10.0)
        await desk.greet()
        await desk.hub.keep_holders()
        assert desk.database.renewed == ["w"]
        await desk.hub.keep_holders()
        assert desk.database.renewed == ["w"], "that was a moment ago"
        desk.hub.membership.renewed -= 6.0
        desk.database.trouble = StoreUnreachable("away")
        with pytest.raises(StoreUnreachable):
            await desk.hub.keep_holders()
        desk.database.trouble = None
        await desk.hub.keep_holders()
        assert desk.database.renewed == ["w", "w"]

    run(scenario)


def test_results_of_another_hub_are_left_for_the_owner_once_however_often_they_are_said() -> None:
    async def scenario() -> None:
        desk = Desk()
        token = f"{RUN}.0:1"
        desk.database.wanted = frozenset({(f"{RUN}.0", 1)})
        await desk.greet(in_flight=(Held(token, "done"),))
        desk.said()
        desk.database.answers.clear()
        for _ in range(3):
            await desk.answer(failed_of(token))
        desk.database.answers.set()
        await desk.settle()
        assert len(desk.database.posted) == 1
        assert desk.said() == [Ack((token,))]

    run(scenario)


def test_a_result_of_another_hub_that_cannot_be_left_is_taken_when_it_is_said_again() -> None:
    async def scenario() -> None:
        desk = Desk()
        token = f"{RUN}.0:1"
        desk.database.wanted = frozenset({(f"{RUN}.0", 1)})
        await desk.greet(in_flight=(Held(token, "done"),))
        desk.said()
        for trouble in (StoreUnreachable("away"), RuntimeError("a mistake")):
            desk.database.trouble = trouble
            await desk.answer(failed_of(token))
            assert desk.said() == []
        desk.database.trouble = None
        await desk.answer(failed_of(token))
        assert len(desk.database.posted) == 1 and desk.said() == [Ack((token,))]

    run(scenario)


def test_a_copy_that_nobody_waits_for_is_let_go_and_never_posted() -> None:
    async def scenario() -> None:
        desk = Desk()
        token = f"{RUN}.0:1:shadow"
        assert attempt_of(token) is None and attempt_of(f"{RUN}.0:1") == (f"{RUN}.0", 1)
        desk.database.wanted = frozenset({(f"{RUN}.0", 1)})
        await desk.greet(in_flight=(Held(token, "running"),))
        [welcome] = desk.said()
        assert isinstance(welcome, Welcome) and welcome.release == (token,)
        # A worker that lists it all the same, and answers, is heard and told to forget it.
        await desk.beat((token, "done"))
        desk.said()
        await desk.answer(failed_of(token))
        assert desk.said() == [Ack((token,))] and desk.database.posted == []

    run(scenario)


def test_a_hub_without_steps_looks_at_the_time_less_often_and_still_knows_that_it_ran() -> None:
    async def whole() -> None:
        desk = Desk()
        await desk.greet()
        assert desk.hub.pause() == IDLE_TICK
        await desk.execute(desk.assigned())
        assert desk.hub.pause() == TICK

    asyncio.run(whole())
    assert TICK < IDLE_TICK < MAX_TICK_GAP / 1.5


def test_an_open_hub_renews_the_sessions_of_its_workers() -> None:
    async def whole() -> None:
        desk = Desk(heartbeat="20ms")
        await desk.greet()
        desk.hub.membership.open("tcp://127.0.0.1:1")
        while not desk.database.renewed:
            await asyncio.sleep(0.001)
        desk.hub.background.cancel()

    asyncio.run(asyncio.wait_for(whole(), 20.0))


class Reported(BatchReport):
    """What one executor's slot gets: results, as many at once as were handed in together."""

    def __init__(self) -> None:
        self.calls: list[list[ExecutionResult]] = []

    def all(self, results: Sequence[ExecutionResult]) -> None:
        self.calls.append(list(results))


def completed_of(event: TaskReadyEvent, output: Any = None) -> StepResult:
    metadata = ResultMetadata(token=token_of(event.task_id, event.attempt))
    return StepResult(step_id=event.task_id, status="completed", output=output, metadata=metadata)


def test_the_results_of_a_message_are_handed_in_together_in_their_order() -> None:
    async def scenario() -> None:
        desk, reported = Desk(), Reported()
        await desk.greet()
        events = [desk.assigned() for _ in range(3)]
        desk.hub.execute_many(events, reported)
        await desk.answer(
            completed_of(events[1], 1), failed_of(token_of(events[0].task_id, 1)), completed_of(events[2])
        )
        (together,) = reported.calls
        assert [result.task_id for result in together] == [events[number].task_id for number in (1, 0, 2)]
        assert [result.output for result in together] == ["1", None, "null"]
        assert not desk.hub.pool._reserved

    run(scenario)


def test_results_of_several_reports_go_each_to_its_own() -> None:
    async def scenario() -> None:
        desk, batches = Desk(), Reported()
        await desk.greet()
        events = [desk.assigned() for _ in range(3)]
        desk.hub.execute_many(events[:1], batches)
        await desk.execute(*events[1:])
        await desk.answer(*map(completed_of, events))
        assert [[result.task_id for result in call] for call in batches.calls] == [[events[0].task_id]]
        assert [result.task_id for result in desk.results] == [event.task_id for event in events[1:]]

    run(scenario)


def test_a_result_that_the_hub_cannot_take_costs_no_other_of_its_message(
    caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet()
        events = [desk.assigned() for _ in range(3)]
        await desk.execute(*events)
        ended = desk.hub.breakers.ended

        def failing(flight: Any, *more: Any) -> None:
            if flight.event.task_id == events[1].task_id:
                raise RuntimeError("a mistake")
            ended(flight, *more)

        monkeypatch.setattr(desk.hub.breakers, "ended", failing)
        await desk.answer(*map(completed_of, events))
        assert [result.task_id for result in desk.results] == [events[0].task_id, events[2].task_id]
        assert "could not take the result" in caplog.text

    run(scenario)


def test_results_that_a_turn_has_no_time_for_follow_in_the_next() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet()
        events = [desk.assigned() for _ in range(3)]
        await desk.execute(*events)
        worker, results = desk.hub.protocol.workers["w"], [completed_of(event) for event in events]
        assert desk.hub.outcomes.ended(worker, results, until=0.0) == 1
        assert [result.task_id for result in desk.results] == [events[0].task_id]
        assert desk.hub.outcomes.ended(worker, results[1:]) == 2
        assert len(desk.results) == 3

    run(scenario)


def test_only_slots_of_attempts_that_were_not_given_before_are_released() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet()
        events = [desk.assigned() for _ in range(3)]
        flights = [InFlight(event, desk.results.append, event.task_id) for event in events]
        desk.hub.pool.sent("w", flights[:2])
        desk.hub.pool.sent("w", flights[:2])
        assert desk.hub.pool._reserved == {"w": 1}
        desk.hub.pool.sent("w", flights)
        assert not desk.hub.pool._reserved

    run(scenario)
