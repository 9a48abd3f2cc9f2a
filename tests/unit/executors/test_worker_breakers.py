"""Workers judged one by one: who gets work, who is tried, and nobody is barred for ever."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kit.examples import examples

from turnout.executors.workers.in_flight import InFlight, token_of
from turnout.executors.workers.worker_breakers import WorkerBreakers
from turnout.model.breaker import BreakerSettings
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.wire.messages import Hello
from turnout.wire.worker_entries import WorkerEntry

NAMES = ("a", "b", "c")
LONGEST = 4.0


def worker_of(name: str, incarnation: int = 0, host: str = "box") -> WorkerEntry:
    hello = Hello(
        versions=("1.0",),
        worker_id=f"{name}-{incarnation}",
        seq=1,
        codecs=("json",),
        credits=8,
        handlers=("h",),
        name=name,
        host=host,
    )
    return WorkerEntry(hello=hello, route=b"r", key=None, last_seen=0.0, session="s", credits=8, finished=OrderedDict())


def flight_of(worker_id: str, number: int) -> InFlight:
    event = TaskReadyEvent(
        run_id="r", task_id=f"r.{number}", task_name="w::t", attempt=1, max_attempts=1, holder=worker_id
    )
    return InFlight(event, lambda result: None, token_of(event.task_id, 1))


def breakers_of(clock: list[float], threshold: int = 2) -> WorkerBreakers:
    return WorkerBreakers(BreakerSettings(threshold=threshold, recovery=1.0, longest=LONGEST), lambda: clock[0])


def run(breakers: WorkerBreakers, worker: WorkerEntry, number: int, at_fault: bool | None) -> bool:
    """One attempt from its place to its end; whether it got there."""
    breakers.reserved(worker.id)
    flight = flight_of(worker.id, number)
    if not breakers.handed_over(flight):
        return False
    breakers.ended(flight, ExecutionResult.lost(flight.event, "gone"), at_fault)
    return True


def test_failures_of_its_own_in_a_row_bar_a_worker_and_no_other() -> None:
    breakers = breakers_of([0.0])
    bad, good = worker_of("bad"), worker_of("good")
    breakers.joined(bad)
    breakers.joined(good)
    assert run(breakers, bad, 1, True) and run(breakers, bad, 2, False) and run(breakers, bad, 3, True)
    assert not breakers.blocking, "not in a row"
    assert run(breakers, bad, 4, True)
    assert breakers.blocking and breakers.is_blocked(bad.id) and not breakers.has_room(bad.id)
    assert not breakers.is_blocked(good.id) and breakers.has_room(good.id)
    figures = breakers.figures_of(bad)
    assert (figures.breaker, figures.cause, figures.ended) == ("open", "Lost: gone", {"lost": 4})


def test_an_attempt_whose_place_was_set_aside_before_goes_back() -> None:
    breakers, worker = breakers_of([0.0]), worker_of("a")
    breakers.joined(worker)
    breakers.reserved(worker.id)
    run(breakers, worker, 1, True)
    run(breakers, worker, 2, True)
    assert not breakers.handed_over(flight_of(worker.id, 3))


def test_one_that_comes_back_under_its_name_finds_its_breaker_and_its_counts() -> None:
    breakers = breakers_of([0.0])
    for incarnation in range(2):
        worker = worker_of("a", incarnation)
        breakers.joined(worker)
        run(breakers, worker, incarnation, True)
        breakers.left(worker)
    assert not breakers.blocking, "nobody is there"
    back, namesake = worker_of("a", 2), worker_of("a", 0, host="elsewhere")
    breakers.joined(back)
    breakers.joined(namesake)
    assert breakers.is_blocked(back.id) and breakers.figures_of(back).lost == 2
    assert not breakers.is_blocked(namesake.id) and breakers.figures_of(namesake).lost == 0


def test_when_its_time_is_over_it_is_tried_once_and_that_is_said_once() -> None:
    clock = [0.0]
    breakers, worker = breakers_of(clock), worker_of("a")
    breakers.joined(worker)
    run(breakers, worker, 1, True)
    run(breakers, worker, 2, True)
    assert not breakers.tick()
    clock[0] = 1.0
    assert breakers.tick() and not breakers.tick()
    assert breakers.has_room(worker.id)
    breakers.reserved(worker.id)
    assert not breakers.has_room(worker.id), "one at a time"
    probe = flight_of(worker.id, 3)
    assert breakers.handed_over(probe)
    breakers.ended(probe, ExecutionResult.success(probe.event), False)
    assert not breakers.blocking and breakers.has_room(worker.id)


def test_a_probe_that_takes_its_time_speaks_for_its_worker() -> None:
    clock = [0.0]
    breakers, worker = breakers_of(clock), worker_of("a")
    breakers.joined(worker)
    run(breakers, worker, 1, True)
    run(breakers, worker, 2, True)
    clock[0] = 1.0
    breakers.reserved(worker.id)
    probe = flight_of(worker.id, 3)
    assert breakers.handed_over(probe)
    clock[0] = 1.0 + LONGEST
    assert breakers.tick()
    assert not breakers.blocking
    breakers.ended(probe, ExecutionResult.lost(probe.event, "late"), True)
    assert not breakers.blocking, "one failure does not open it"


class Workers(RuleBasedStateMachine):
    """Workers come, go, get work and fail in any order."""

    @initialize(threshold=st.integers(1, 3))
    def begin(self, threshold: int) -> None:
        self.clock = [0.0]
        self.breakers = breakers_of(self.clock, threshold)
        self.there: dict[str, WorkerEntry] = {}
        self.reserved: list[str] = []
        """Ids of workers, also of some that have left since."""
        self.flying: list[InFlight] = []
        self.count = 0

    @rule(seconds=st.sampled_from([0.5, 1.0, LONGEST]))
    def time_passes(self, seconds: float) -> None:
        self.clock[0] += seconds
        self.breakers.tick()

    @rule(name=st.sampled_from(NAMES))
    def join(self, name: str) -> None:
        if name not in self.there:
            self.count += 1
            self.there[name] = worker_of(name, self.count)
            self.breakers.joined(self.there[name])

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        worker = self.there.pop(data.draw(st.sampled_from(sorted(self.there))))
        lost = [flight for flight in self.flying if flight.event.holder == worker.id]
        self.flying = [flight for flight in self.flying if flight not in lost]
        for number, flight in enumerate(lost):
            self.breakers.ended(flight, ExecutionResult.lost(flight.event, "gone"), None if number else True)
        self.breakers.left(worker)

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def reserve(self, data: st.DataObject) -> None:
        worker = self.there[data.draw(st.sampled_from(sorted(self.there)))]
        if self.breakers.has_room(worker.id):
            self.breakers.reserved(worker.id)
            self.reserved.append(worker.id)

    @precondition(lambda self: self.reserved)
    @rule(data=st.data(), used=st.booleans())
    def hand_over_or_release(self, data: st.DataObject, used: bool) -> None:
        worker_id = self.reserved.pop(data.draw(st.integers(0, len(self.reserved) - 1)))
        if not used:
            self.breakers.released(worker_id)
            return
        self.count += 1
        flight = flight_of(worker_id, self.count)
        if self.breakers.handed_over(flight):
            self.flying.append(flight)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), at_fault=st.sampled_from([True, False, None]))
    def end(self, data: st.DataObject, at_fault: bool | None) -> None:
        flight = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        self.breakers.ended(flight, ExecutionResult.returned(flight.event, "said"), at_fault)

    @invariant()
    def nobody_is_barred_for_ever(self) -> None:
        """With nothing on its way, each may be tried again when its time is over."""
        if hasattr(self, "breakers") and not self.reserved and not self.flying:
            before, self.clock[0] = self.clock[0], self.clock[0] + LONGEST
            assert all(self.breakers.has_room(worker.id) for worker in self.there.values())
            self.clock[0] = before

    @invariant()
    def what_is_asked_on_the_hot_path_is_true(self) -> None:
        if hasattr(self, "breakers"):
            assert self.breakers.blocking is any(self.breakers.is_blocked(worker.id) for worker in self.there.values())


Workers.TestCase.settings = settings(max_examples=examples(200), stateful_step_count=40, deadline=None)
TestWorkers = Workers.TestCase
