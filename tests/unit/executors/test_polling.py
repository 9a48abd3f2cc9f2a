"""The poller: what it claims, keeps alive, loses and posts. The store is a fake that can be made to fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from tests.fake_loader import WAIT, FakeLoader, Results
from tests.kit.waiting import until
from turnout.contracts.clock import boot_time
from turnout.errors import InvalidSetting, StoreRejected, StoreUnreachable
from turnout.executors.polling import PollingExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.names import split_task_id
from turnout.model.retry import RetryPolicy
from turnout.model.rows import Lease, PolledTask, Session
from turnout.model.spec import Body, TaskSpec, WorkflowSpec

SPEC = WorkflowSpec(
    "w", (TaskSpec("t", Body("python", "m:t"), full_name="public::embedded::w::t", retry=RetryPolicy(attempts=4)),)
)


class FakeStore:
    """As much of a store as a poller uses."""

    def __init__(self) -> None:
        self.ready: list[PolledTask] = []
        self.posted = Results()
        self.sessions: list[str] = []
        self.ended: list[str] = []
        self.dead: set[str] = set()
        self.lost: set[tuple[str, int, int]] = set()
        self.renewed = threading.Semaphore(0)
        self.claims = threading.Semaphore(0)
        self.limits: list[int] = []
        self.failing: dict[str, list[Exception]] = {}
        self.poison: set[str] = set()
        self.wake: Callable[[str], None] = lambda _: None
        self.spec: str | None = msgspec.json.encode(SPEC).decode()
        self._lock = threading.Lock()

    def _fail(self, what: str) -> None:
        if errors := self.failing.get(what):
            raise errors.pop(0)

    def start_session(self, session: Session, lease: float) -> None:
        assert session.kind == "poller"
        self.sessions.append(session.id)

    def renew_session(self, session_id: str, lease: float, health: str | None = None) -> Lease:
        self._fail("renew_session")
        return Lease(held=session_id not in self.dead, peers=0)

    def end_session(self, session_id: str) -> None:
        self._fail("end_session")
        self.ended.append(session_id)

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        self.wake = on_wake
        return lambda: None

    def claim_ready(self, poller: str, keys: Sequence[str], limit: int, lease: float) -> list[PolledTask]:
        try:
            self._fail("claim_ready")
            with self._lock:
                self.limits.append(limit)
                taken, self.ready = self.ready[:limit], self.ready[limit:]
            return taken
        finally:
            self.claims.release()

    def renew_attempts(
        self, poller: str, attempts: Sequence[tuple[str, int, int]], lease: float
    ) -> list[tuple[str, int, int]]:
        self.renewed.release()
        return [attempt for attempt in attempts if attempt in self.lost]

    def post_results(self, poller: str, results: Sequence[ExecutionResult]) -> None:
        self._fail("post_results")
        for result in results:
            if result.task_id in self.poison and result.status is ExecutionStatus.COMPLETED:
                raise StoreRejected("invalid byte sequence")
        for result in results:
            self.posted(result)

    def workflow(self, version: str) -> str | None:
        return self.spec


class Bench:
    def __init__(self, **settings: Any) -> None:
        self.store = FakeStore()
        self.loader = FakeLoader()
        self.inner = ThreadExecutor(threads=2, max_backlog=0)
        settings = {"lease": 30.0, "poll": 30.0, **settings}
        self.poller = PollingExecutor(self.store, self.loader, self.inner, **settings)  # type: ignore[arg-type]
        self.go = threading.Event()
        self.entered = threading.Semaphore(0)

    def waiting(self) -> bool:
        self.entered.release()
        return self.go.wait(WAIT)

    def add(self, *bodies: Callable[[], Any]) -> list[TaskReadyEvent]:
        """Ready tasks with these bodies, and the wake-up that a real store would send."""
        events = [self.loader.add(body) for body in bodies]
        self.store.ready += [
            PolledTask(event.run_id, split_task_id(event.task_id)[1], 1, "public::embedded::w", "v1")
            for event in events
        ]
        self.store.wake("ready")
        return events

    def in_body(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=WAIT)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    made.poller.start()
    yield made
    made.go.set()
    made.poller.stop(WAIT)


def test_ready_tasks_are_claimed_run_and_answered(bench: Bench) -> None:
    events = bench.add(lambda: 1, lambda: 2, lambda: 3)
    results = bench.store.posted.take(3)
    assert {(r.task_id, r.output) for r in results} == {(e.task_id, str(n)) for n, e in enumerate(events, 1)}
    assert bench.poller.metrics().total_executed == 3


def test_no_more_is_claimed_than_there_is_room_for(bench: Bench) -> None:
    bench.add(*[bench.waiting] * 5)
    bench.in_body(2)
    assert len(bench.store.ready) == 3
    assert max(bench.store.limits) == 2
    bench.go.set()
    assert len(bench.store.posted.take(5)) == 5


def test_only_wake_ups_about_ready_tasks_make_it_look() -> None:
    poller = Bench().poller
    for topic, looks in (("finished", False), ("inbox", False), ("ready", True), ("any", True)):
        poller._wake.clear()
        poller._woken(topic)
        assert poller._wake.is_set() is looks


def test_without_wake_ups_the_slow_poll_finds_the_work() -> None:
    bench = Bench(poll=0.01)
    bench.poller.start()
    bench.store.wake = lambda _: None
    bench.add(lambda: 1)
    assert bench.store.posted.one().output == "1"
    bench.poller.stop(WAIT)


@pytest.mark.parametrize(("failures", "last"), [(1, 4), (0, 5)])
def test_the_event_has_the_full_name_and_the_attempts_that_are_left(failures: int, last: int) -> None:
    seen: list[TaskReadyEvent] = []

    class Watching(FakeLoader):
        def load_now(self, event: TaskReadyEvent) -> Any:
            seen.append(event)
            return super().load_now(event)

    bench = Bench()
    bench.loader = Watching()
    bench.inner.bind(bench.loader)
    event = bench.loader.add(lambda: 1)
    bench.loader.works["run.0"] = bench.loader.works[event.task_id]
    bench.store.ready.append(PolledTask("run", 0, 2, "public::embedded::w", "v1", failures=failures))
    bench.poller.start()
    bench.store.posted.one()
    bench.poller.stop(WAIT)
    assert (seen[0].task_name, seen[0].attempt, seen[0].max_attempts) == ("public::embedded::w::t", 2, last)


def test_a_task_of_an_unknown_workflow_version_is_handed_back(bench: Bench) -> None:
    bench.store.spec = None
    bench.add(lambda: 1)
    result = bench.store.posted.one()
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "code_missing")


def test_results_are_resent_until_the_store_takes_them(bench: Bench) -> None:
    bench.store.failing["post_results"] = [StoreUnreachable("down"), StoreUnreachable("down"), OSError("bug")]
    bench.add(lambda: 1)
    assert bench.store.posted.one().output == "1"
    assert not bench.store.failing["post_results"]


def test_a_result_that_the_store_refuses_fails_alone() -> None:
    bench = Bench()
    events = bench.add(*[bench.waiting] * 2, *[lambda: 1] * 6)
    bench.store.poison = {events[3].task_id}
    bench.poller.start()
    bench.in_body(2)
    bench.go.set()
    results = {result.task_id: result for result in bench.store.posted.take(8)}
    bench.poller.stop(WAIT)
    refused = results.pop(events[3].task_id)
    assert (refused.status, refused.retryable) == (ExecutionStatus.FAILED, False)
    assert refused.error is not None
    assert refused.error.type == "StoreRejected"
    assert {result.status for result in results.values()} == {ExecutionStatus.COMPLETED}


def test_a_store_that_is_down_does_not_end_the_claiming(bench: Bench) -> None:
    bench.store.failing["claim_ready"] = [StoreUnreachable("down"), RuntimeError("bug")]
    for _ in range(3):
        bench.add(lambda: 1)
        assert bench.store.claims.acquire(timeout=WAIT)
    bench.store.wake("ready")
    assert len(bench.store.posted.take(3)) == 3


def test_attempts_that_are_no_longer_its_own_are_cancelled_and_not_answered() -> None:
    bench = Bench(lease=1.0)
    bench.poller.start()
    cancelled = threading.Event()

    async def body() -> None:
        bench.entered.release()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    (event,) = bench.add(body)
    bench.in_body()
    run_id, pos = split_task_id(event.task_id)
    bench.store.lost.add((run_id, pos, 1))
    assert cancelled.wait(WAIT)
    bench.poller.stop(WAIT)
    assert bench.store.posted.empty


def test_what_it_holds_is_renewed_also_while_it_stops() -> None:
    bench = Bench(lease=1.0)
    bench.poller.start()
    bench.add(bench.waiting)
    bench.in_body()
    stopping = threading.Thread(target=bench.poller.stop, args=(WAIT,))
    stopping.start()
    for _ in range(3):
        assert bench.store.renewed.acquire(timeout=WAIT)
    bench.go.set()
    stopping.join(WAIT)
    assert bench.store.posted.one().output == "true"


def test_declared_dead_it_goes_on_under_a_new_name() -> None:
    bench = Bench(lease=1.0)
    bench.poller.start()
    bench.store.failing["renew_session"] = [StoreUnreachable("down"), RuntimeError("bug")]
    first = bench.poller.session.id
    bench.store.dead.add(first)
    bench.add(bench.waiting)
    bench.in_body()
    while bench.poller.session.id == first:
        assert bench.store.renewed.acquire(timeout=WAIT)
    bench.go.set()
    assert bench.store.posted.one().output == "true"
    bench.poller.stop(WAIT)
    assert bench.store.sessions == [first, bench.poller.session.id]
    assert bench.store.ended == [bench.poller.session.id]


def test_without_a_renewal_for_most_of_its_lease_it_claims_nothing() -> None:
    bench = Bench(lease=30.0)
    bench.poller._renewed = boot_time() - 25.0
    bench.poller._claim()
    assert bench.store.limits == []
    bench.poller._renewed = boot_time()
    bench.poller._claim()
    assert bench.store.limits == [2]


class LateLoader(FakeLoader):
    """Gives the work after something has happened."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = lambda: None

    def load_blocking(self, event: TaskReadyEvent) -> Any:
        work = super().load_blocking(event)
        self.meanwhile()
        return work


@pytest.fixture
def late() -> Iterator[Bench]:
    made = Bench(lease=3600.0)
    made.loader = LateLoader()
    made.poller = PollingExecutor(made.store, made.loader, made.inner, lease=3600.0, poll=30.0)  # type: ignore[arg-type]
    made.poller.start()
    yield made
    made.poller.stop(WAIT)


def test_a_poller_that_was_stopped_while_it_loaded_begins_nothing(late: Bench) -> None:
    def stopped() -> None:
        late.poller._renewed -= 3600.0
        for held in late.poller._held.values():
            held.renewed -= 3600.0

    late.loader.meanwhile = stopped  # type: ignore[attr-defined]
    begun: list[int] = []
    late.add(lambda: begun.append(1))
    assert late.store.posted.one().error_message == "attempt_fenced"
    assert begun == []


@pytest.mark.parametrize("dead", [False, True])
def test_a_poller_that_comes_back_asks_for_what_it_holds_before_it_begins_it(late: Bench, dead: bool) -> None:
    begun: list[int] = []

    def stopped() -> None:
        held = late.poller._held[event.task_id, 1]
        held.renewed -= 3600.0
        if dead:
            late.store.dead.add(late.poller.session.id)
        else:
            late.store.lost.add((*split_task_id(event.task_id), 1))
        late.poller._heartbeat()

    late.loader.meanwhile = stopped  # type: ignore[attr-defined]
    event = late.loader.add(lambda: begun.append(1))
    late.store.ready.append(PolledTask(event.run_id, split_task_id(event.task_id)[1], 1, "public::embedded::w", "v1"))
    late.store.wake("ready")
    if dead:  # the owner of its run takes it for lost as soon as it looks
        assert late.store.posted.one().error_message == "attempt_fenced"
    else:
        until(lambda: not late.poller._held and not late.inner.metrics().active_tasks)
    assert begun == []


def test_an_attempt_that_was_renewed_begins(late: Bench) -> None:
    late.loader.meanwhile = late.poller._heartbeat  # type: ignore[attr-defined]
    late.add(lambda: 1)
    assert late.store.posted.one().output == "1"


def test_stopping_waits_for_what_runs_and_ends_the_session_if_it_can() -> None:
    bench = Bench()
    bench.add(bench.waiting)
    bench.poller.start()
    bench.in_body()
    bench.store.failing["end_session"] = [StoreUnreachable("down")]
    bench.go.set()
    bench.poller.stop(WAIT)
    assert bench.store.posted.one().output == "true"
    assert bench.store.ended == []


def test_a_store_that_stays_down_does_not_keep_it_from_stopping() -> None:
    bench = Bench()
    bench.poller.start()
    bench.store.failing["post_results"] = [StoreUnreachable("down")] * 10_000
    bench.add(bench.waiting)
    bench.in_body()
    bench.go.set()
    bench.poller.stop(0.1)
    assert bench.store.posted.empty


def test_senseless_settings_are_refused() -> None:
    for settings in ({"keys": ()}, {"lease": 0.0}, {"batch": 0}):
        with pytest.raises(InvalidSetting):
            Bench(**settings)
