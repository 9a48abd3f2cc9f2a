"""Connections to PostgreSQL that others hold: we use fewer at once, and go on as before when they are back."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.conformance.store_rows import OWNER, begin, completed, new_run, update
from tests.faults.children import eventually
from tests.faults.counted import Bodies
from tests.faults.guarantees import check_history
from tests.faults.scale import FULL, PATIENCE, scaled
from tests.postgres import OwnServer
from turnout import Runner, Workflow, task, workflow
from turnout.model.states import RunState
from turnout.orchestration.coordination.backpressure import MAX_QUIET, MIN_FACTOR, MIN_QUIET
from turnout.orchestration.coordination.settings import CoordinatorSettings
from turnout.runner import EngineSettings
from turnout.store.postgres import PostgresStore

CONNECTIONS = 10
OURS = 8
"""85 % of them."""
CALLERS = 16
"""Calls that a busy orchestrator makes at once: more than it may."""
WATCHFUL = EngineSettings(
    connections=CONNECTIONS, coordinator=CoordinatorSettings(backpressure_interval_seconds=0.05), sweep=0.2
)


class Sight(NamedTuple):
    """The orchestrator at one moment of its loop."""

    factor: float
    executors: set[float]
    limit: int
    active: int


class Demand:
    """An orchestrator that always has something to ask its store, and what it looks like meanwhile."""

    def __init__(self, runner: Runner) -> None:
        self._core, self.engine, self._pool = runner._core, runner._core.engine, pool_of(runner)
        self.answers = 0
        self.failures: list[BaseException] = []
        self._enough = False
        self._calling = [self._core.loop.call(self._call()) for _ in range(CALLERS)]

    async def _call(self) -> None:
        engine = self.engine
        while not self._enough:
            try:
                await engine.background.in_thread(self._ask)
                self.answers += 1
            except Exception as error:
                self.failures.append(error)

    def _ask(self) -> None:
        with self._pool.lend() as lent:
            lent.connection.execute("select pg_sleep(0.01)")

    def end(self) -> None:
        self._enough = True
        for each in self._calling:
            each.result(PATIENCE)

    def look(self) -> Sight:
        return self._core.loop.call(self._look()).result(PATIENCE)

    async def _look(self) -> Sight:
        engine = self.engine
        executors = {executor._factor for pool in engine.pools.values() for executor in pool.executors}
        return Sight(
            engine.coordinator.backpressure.factor, executors, engine.store_threads.limit, engine.store_threads.active
        )

    def slows_down(self, at_most: float) -> None:
        """The factor falls, and with it, in the same step, everything that it governs."""
        sight = eventually(f"a factor of {at_most} or less", lambda: (s := self.look()).factor <= at_most and s)
        assert sight.executors == {sight.factor}
        assert sight.limit == max(1, int(OURS * sight.factor))

    def recovers(self) -> None:
        sight = eventually("full speed", lambda: (s := self.look()).factor == 1.0 and s)
        assert (sight.executors, sight.limit) == ({1.0}, OURS)
        before = self.answers
        eventually("calls are answered", lambda: self.answers > before + 100)
        assert all(self.look().active <= OURS < 0.85 * CONNECTIONS for _ in range(100))
        eventually("it is healthy", lambda: self.engine.status.read().condition == "healthy")

    def did_not_swing(self) -> None:
        """The factor changed its direction no more often than its patience allows in all its looks."""
        coordinator = self.engine.coordinator
        factors = [1.0, *(float(e.detail.split()[1]) for e in list(coordinator.events) if e.kind == "backpressure")]
        steps = [after - before for before, after in itertools.pairwise(factors)]
        turns = sum((first > 0) is not (second > 0) for first, second in itertools.pairwise(steps))
        assert coordinator.started_at is not None
        looks = (coordinator._clock() - coordinator.started_at) / WATCHFUL.coordinator.backpressure_interval_seconds
        tries = math.log2(MAX_QUIET / MIN_QUIET) + 1 + looks / MAX_QUIET
        assert turns <= 2 * tries, factors
        print(f"the factor went {factors}: {turns} turns in {looks:.0f} looks")


def pool_of(runner: Runner) -> Any:
    store = runner._core.store
    assert isinstance(store, PostgresStore)
    return store._postgres.pool


@pytest.fixture
def bodies() -> Bodies:
    return Bodies()


@pytest.fixture
def runner(postgres_url: str, bodies: Bodies) -> Iterator[Runner]:
    with Runner(postgres_url, workflows=[bodies.workflow], settings=WATCHFUL, handle_sigterm=False) as made:
        made.run(bodies.workflow, "warm")
        yield made
    check_history(postgres_url)


@pytest.mark.parametrize("held", [CONNECTIONS - 2, CONNECTIONS])
def test_connections_that_others_hold_slow_us_down_until_they_are_released(
    runner: Runner, bodies: Bodies, held: int
) -> None:
    demand = Demand(runner)
    with ExitStack() as stack:
        for _ in range(held):
            stack.enter_context(pool_of(runner).lend())
        demand.slows_down(MIN_FACTOR if held == CONNECTIONS else 0.7)
        if held < CONNECTIONS:
            eventually("calls from before it are over", lambda: (s := demand.look()).active <= s.limit)
        assert demand.engine.status.read().condition == "degraded"
        # The ledger has connections of its own: runs go on.
        assert runner.run(bodies.workflow, "meanwhile") == "meanwhile"
    demand.recovers()
    demand.did_not_swing()
    demand.end()
    assert held == CONNECTIONS or not demand.failures, "a call failed although others of its pool were served"


def test_a_server_without_room_for_one_more_connection_slows_us_down_until_it_has(
    restarted_server: OwnServer, bodies: Bodies
) -> None:
    with (
        restarted_server.database(empty=True) as url,
        Runner(url, workflows=[bodies.workflow], settings=WATCHFUL, handle_sigterm=False) as runner,
    ):
        runner.run(bodies.workflow, "warm")
        with ExitStack() as stack:
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    stack.enter_context(contextlib.closing(psycopg.connect(restarted_server.dsn)))
            demand = Demand(runner)
            demand.slows_down(0.8)
            eventually("calls from before it are over", lambda: (s := demand.look()).active <= s.limit)
            assert runner.run(bodies.workflow, "meanwhile") == "meanwhile"
        demand.recovers()
        demand.did_not_swing()
        demand.end()
        assert not demand.failures, "a call failed although others of its pool were served"
        check_history(url)


def test_a_lane_that_gets_no_connection_of_its_own_commits_over_one_of_the_pool(restarted_server: OwnServer) -> None:
    """A ledger that begins to use a second lane while the server is full does not wait until the server has room."""
    with restarted_server.database() as url, contextlib.closing(PostgresStore(url)) as store, ExitStack() as stack:
        store.open()
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(contextlib.closing(psycopg.connect(restarted_server.dsn)))
        begin(store, OWNER)
        run = new_run()
        with ThreadPoolExecutor(1) as lane:
            inserted = lane.submit(store.commit, [run]).result(PATIENCE)
            more = new_run()
            both = lane.submit(store.commit, [more, update(run.run_id, completed())]).result(PATIENCE)
        assert [outcome.applied for outcome in (*inserted, *both)] == [True, True, True]


def test_readers_in_the_same_program_and_the_orchestrator_do_not_starve_one_another(
    runner: Runner, bodies: Bodies
) -> None:
    runs, enough = scaled(100, 1_000), threading.Event()
    reads = [0] * 20

    def read(number: int) -> None:
        while not enough.is_set():
            runner.list(limit=5)
            reads[number] += 1

    readers = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(len(reads))]
    for reader in readers:
        reader.start()
    demand = Demand(runner)
    handles = runner.submit_many(bodies.workflow, [{"key": f"r{number}"} for number in range(runs)])
    assert {handle.wait(PATIENCE) for handle in handles} == {RunState.COMPLETED}
    eventually("every reader reads", lambda: all(reads))
    eventually("the orchestrator's calls are answered", lambda: demand.answers > CALLERS)
    enough.set()
    for reader in readers:
        reader.join(PATIENCE)
    demand.recovers()
    demand.end()
    assert not demand.failures


@task
def nothing(number: int) -> int:
    return number


def chain_of(length: int) -> Workflow[..., Any]:
    @workflow(name=f"chain{length}")
    def chain(number: int) -> int:
        for step in range(length):
            number = nothing.named(f"step{step}")(number)
        return number

    return chain


def test_full_load_on_a_healthy_database_is_not_throttled(store_url: str) -> None:
    chain, seen = chain_of(10), list[float]()
    with Runner(store_url, workflows=[chain], handle_sigterm=False) as runner:
        coordinator = runner._core.engine.coordinator
        look = coordinator._store_use

        def looked() -> Any:
            use = look()
            seen.append(use.saturation)
            return use

        coordinator._store_use = looked
        handles = runner.submit_many(chain, [{"number": number} for number in range(scaled(200, 1_000))])
        assert {handle.wait(PATIENCE) for handle in handles} == {RunState.COMPLETED}
        eventually("somebody has looked", lambda: seen)
        slower = [event.detail for event in list(coordinator.events) if event.kind == "backpressure"]
    print(f"saturation at most {max(seen):.3f} in {len(seen)} looks; {slower}")
    assert sum(seen) / len(seen) < 0.1
    if FULL:  # a machine that others use, too, may hold up a caller for reasons of its own
        assert not slower


def test_a_caller_that_gives_up_on_its_submission_harms_nobody(runner: Runner, bodies: Bodies) -> None:
    core = runner._core
    requests = [core.submitter.request(bodies.workflow, (f"r{number}",), {}) for number in range(40)]
    for request in requests[::2]:
        request.accepted.set_exception(asyncio.CancelledError())
    core.submitter.submit(requests)
    kept = requests[1::2]
    assert {request.final.result(PATIENCE).run.row.state for request in kept} == {RunState.COMPLETED}

    async def late() -> None:
        """Gives up while its insert is on its way."""
        more = [core.submitter.request(bodies.workflow, (f"late{number}",), {}) for number in range(40)]
        core.engine.submissions.put(more)
        while not any(request.insert_started for request in more):
            await asyncio.sleep(0)
        for request in more[::2]:
            request.accepted.set_exception(asyncio.CancelledError())
        finals = [request.final.wait() for request in more[1::2]]
        assert {final.run.row.state for final in await asyncio.gather(*finals)} == {RunState.COMPLETED}

    core.loop.call(late()).result(PATIENCE)
