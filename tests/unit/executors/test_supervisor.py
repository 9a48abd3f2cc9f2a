"""The supervisor of a cluster, between hubs without sockets and nodes that the test plays itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tests.kit.waiting import PATIENCE
from turnout.contracts.clock import boot_time
from turnout.executors.cluster.supervisor import Supervisor
from turnout.model.events import ExecutionResult
from turnout.wire.documents import Step, StepMetadata, StepResult
from turnout.wire.handshake import HubFacts
from turnout.wire.hub_events import Event, HelloReceived, ResultsReceived, StartRequested, StepsLost, StepsReturned
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.step_codec import event_of
from turnout.wire.worker_entries import WorkerEntry

NODE = "node-1"
LEASE_MS = 60_000


class Cluster:
    """A host that only notes what it is asked for."""

    def __init__(self, slots: int = 2) -> None:
        self.launched: list[str] = []
        self.recalled: list[str] = []
        self.refused: set[str] = set()
        self._slots = slots

    def launch(self, token: str, step: bytes, resources: Mapping[str, float]) -> None:
        if token in self.refused:
            raise ValueError("the precision is 0.0001")
        self.launched.append(token)

    def recall(self, token: str) -> None:
        self.recalled.append(token)

    def slots(self) -> int:
        return self._slots

    def figures(self) -> dict[str, Any]:
        return {}


class Hub:
    """A hub whose messages go to the supervisor, and back, whenever the test says so."""

    def __init__(self, supervisor: Supervisor, name: str, lease_ms: int = LEASE_MS) -> None:
        self._supervisor = supervisor
        self._name = name
        ids = iter(f"{name}-{number}" for number in range(1000))
        self.protocol = HubProtocol(HubFacts(hub_id=name, lease_ms=lease_ms), lambda: next(ids))
        self.events: list[Event] = []
        self.connection = 1

    async def send(self) -> None:
        out, self.protocol.outbox = [frames for _, frames in self.protocol.outbox], []
        await self._supervisor.exchange(self._name, self.connection, out, 0.0)

    async def pump(self) -> None:
        for _ in range(4):
            await self.send()
            reply = await self._supervisor.exchange(self._name, self.connection, (), 0.001)
            for frames in reply["frames"]:
                self.protocol.receive(b"%d" % self.connection, frames, time.monotonic())
            events, self.protocol.events = self.protocol.events, []
            self.events += events
            for event in events:
                if isinstance(event, HelloReceived):
                    self.protocol.welcome(event.worker)

    async def pump_until(self, kind: type[Event]) -> None:
        """Pumps until such an event has come; fails otherwise."""
        async with asyncio.timeout(PATIENCE):
            while not any(isinstance(each, kind) for each in self.events):
                await self.pump()

    @property
    def worker(self) -> WorkerEntry:
        (worker,) = self.protocol.workers.values()
        return worker

    async def give(self, *steps: Step) -> None:
        self.protocol.give(self.worker, list(steps), time.monotonic(), set())
        await self.pump()

    def results(self) -> list[StepResult]:
        return [result for each in self.events if isinstance(each, ResultsReceived) for result in each.results]


def step(token: str, *, once: bool = False) -> Step:
    metadata = StepMetadata(token=f"{token}:1", confirm_start=once)
    return Step(step_id=token, task_id="run", step_name="step", handler_class="turnout.job", metadata=metadata)


def done(of: Step) -> bytes:
    return msgspec.json.encode(ExecutionResult.success(event_of(of), 7))


def played(play: Callable[[Supervisor, Cluster, Hub], Any]) -> None:
    async def main() -> None:
        cluster = Cluster()
        supervisor = Supervisor(cluster, name="test")
        hub = Hub(supervisor, "hub")
        await hub.pump()
        await play(supervisor, cluster, hub)

    asyncio.run(main())


def test_a_step_is_launched_once_and_its_result_stays_until_it_is_acknowledged() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        one = step("a")
        await hub.give(one)
        await hub.give(one)
        assert cluster.launched == ["a:1"]
        assert await supervisor.begin("a:1", NODE)
        supervisor.finish("a:1", done(one))
        await hub.pump()
        assert [bytes(result.output) for result in hub.results()] == [b"7"]
        hub.protocol.acknowledge(hub.worker, ["a:1"])
        await hub.give(one)
        assert cluster.launched == ["a:1"], "an acknowledged attempt was launched again"
        assert await supervisor.begin("a:1", NODE) is None

    played(play)


def test_leave_to_begin_is_given_once() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        await hub.give(step("a"))
        left = await supervisor.begin("a:1", NODE)
        assert left is not None and 0 < left <= LEASE_MS / 1000
        assert await supervisor.begin("a:1", "node-2") is None, "Dask moves a task when its worker dies"

    played(play)


def test_what_may_begin_once_waits_for_the_leave_of_its_hub() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        await hub.give(step("a", once=True))
        asking = asyncio.ensure_future(supervisor.begin("a:1", NODE))
        await hub.pump_until(StartRequested)
        assert not asking.done()
        hub.protocol.answer_start(hub.worker, ["a:1"], [])
        await hub.pump()
        assert await asking

    played(play)


def test_steps_that_wait_for_leave_do_not_wake_one_another() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        steps = [step(f"a{number}", once=True) for number in range(2)]
        await hub.give(*steps)
        asking = [asyncio.ensure_future(supervisor.begin(each.token, NODE)) for each in steps]
        await hub.pump_until(StartRequested)
        rounds = 0
        wake = supervisor._links.wake

        def count() -> None:
            nonlocal rounds
            rounds += 1
            wake()

        supervisor._links.wake = count  # type: ignore[method-assign]
        for _ in range(100):
            await asyncio.sleep(0)
        assert not rounds, f"{rounds} rounds without a cause"
        await hub.pump()
        hub.protocol.answer_start(hub.worker, [each.token for each in steps], [])
        await hub.pump()
        assert all(await asyncio.gather(*asking))

    played(play)


def test_a_step_that_the_cluster_does_not_take_fails_with_the_cause_and_hinders_no_other() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        cluster.refused = {"a:1"}
        await hub.give(step("a"), step("b"))
        (result,) = hub.results()
        assert (result.token, result.status, result.metadata.retryable) == ("a:1", "failed", False)
        assert result.error is not None and "the precision is 0.0001" in result.error.message
        assert cluster.launched == ["b:1"] and not cluster.recalled
        assert await supervisor.begin("a:1", NODE) is None

    played(play)


def test_an_attempt_whose_node_is_lost_is_lost_if_it_had_begun_and_returned_if_not() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        await hub.give(step("a"), step("b"))
        assert await supervisor.begin("a:1", NODE)
        supervisor.node_gone(NODE, "it burned")
        supervisor.lost("b:1", "it burned")
        await hub.pump()
        assert {each.token: each.metadata.outcome for each in hub.results()} == {"a:1": "lost", "b:1": "returned"}

    played(play)


def test_a_result_after_the_loss_of_its_node_changes_nothing() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        one = step("a")
        await hub.give(one)
        await supervisor.begin("a:1", NODE)
        supervisor.node_gone(NODE, "it was slow")
        supervisor.finish("a:1", done(one))
        await hub.pump()
        assert [each.metadata.outcome for each in hub.results()] == ["lost"]

    played(play)


def test_a_cancelled_step_that_has_not_begun_is_recalled_and_returned() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        await hub.give(step("a"))
        hub.protocol.cancel(hub.worker, ["a:1"], "cancelled")
        await hub.pump()
        assert cluster.recalled == ["a:1"]
        assert [each.metadata.outcome for each in hub.results()] == ["returned"]
        assert await supervisor.begin("a:1", NODE) is None

    played(play)


def test_a_cancelled_step_that_has_begun_is_told_to_its_node() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        await hub.give(step("a"))
        await supervisor.begin("a:1", NODE)
        watching = asyncio.ensure_future(supervisor.watch("a:1", 60.0))
        hub.protocol.cancel(hub.worker, ["a:1"], "cancelled")
        await hub.pump()
        assert await watching

    played(play)


def test_a_node_that_asks_another_incarnation_ends_its_body() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        assert await supervisor.watch("unknown:1", 60.0)
        assert await supervisor.begin("unknown:1", NODE) is None

    played(play)


def test_nothing_begins_while_no_hub_is_in_contact() -> None:
    async def main() -> None:
        supervisor = Supervisor(Cluster(), name="test")
        hub = Hub(supervisor, "hub", lease_ms=50)
        await hub.pump()
        await hub.give(step("a"))
        await asyncio.sleep(0.06)
        asking = asyncio.ensure_future(supervisor.begin("a:1", NODE))
        await asyncio.sleep(0)
        assert not asking.done()
        asking.cancel()

    asyncio.run(main())


def test_another_hub_learns_of_what_a_hub_that_left_had_given() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        one = step("a")
        await hub.give(one)
        await supervisor.begin("a:1", NODE)
        hub.protocol.close("stopping")
        await hub.send()
        other = Hub(supervisor, "other")
        await other.pump()
        (hello,) = [each for each in other.events if isinstance(each, HelloReceived)]
        assert [held.token for held in hello.unknown] == ["a:1"]

    played(play)


def test_a_hub_whose_call_failed_finds_its_attempts_on_its_second_connection() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        running, waiting = step("a"), step("b")
        await hub.give(running, waiting)
        assert await supervisor.begin("a:1", NODE)
        hub.connection += 1
        await hub.pump()
        assert not any(isinstance(each, StepsLost | StepsReturned) for each in hub.events)
        assert cluster.launched == ["a:1", "b:1"] and not cluster.recalled
        assert await supervisor.begin("b:1", NODE), "the hub is in contact by its second connection"
        supervisor.finish("a:1", done(running))
        await hub.pump()
        assert [bytes(result.output) for result in hub.results()] == [b"7"]

    played(play)


def test_a_call_of_an_older_connection_takes_and_gives_nothing() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        asking = asyncio.ensure_future(supervisor.exchange("hub", 1, (), PATIENCE))
        await asyncio.sleep(0)
        late = [frames for _, frames in hub.protocol.outbox]
        hub.connection += 1
        await hub.pump()
        hub.protocol.give(hub.worker, [step("a")], time.monotonic(), set())
        assert (await asking)["frames"] == [], "the greeting of the second connection went to the first"
        assert (await supervisor.exchange("hub", 1, late, 1.0))["frames"] == []
        await hub.pump()
        assert cluster.launched == ["a:1"], "a call of the first connection ended the second"

    played(play)


def test_two_hubs_keep_their_own_attempts_when_one_of_them_connects_again() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        other = Hub(supervisor, "other")
        await other.pump()
        await hub.give(step("a"))
        await other.give(step("b"))
        hub.connection += 1
        await hub.pump()
        supervisor._tick(boot_time())
        await hub.pump()
        await other.pump()
        assert not any(isinstance(each, StepsLost | StepsReturned) for each in (*hub.events, *other.events))
        assert not hub.results(), "a step that waits was returned, since its hub counted as gone"
        assert await supervisor.begin("a:1", NODE) and await supervisor.begin("b:1", NODE)

    played(play)


def test_an_orchestrator_learns_how_many_attempts_a_cluster_runs_when_that_changes() -> None:
    async def main() -> None:
        cluster = Cluster(slots=0)
        supervisor = Supervisor(cluster, name="test")
        hub = Hub(supervisor, "hub")
        await hub.pump()
        assert hub.worker.credits == 2, "attempts that wait have an empty cluster grow"
        cluster._slots = 8
        supervisor._tick(boot_time())
        await hub.pump()
        assert (hub.worker.capacity, hub.worker.credits) == (8, 16)
        hub.connection += 1
        await hub.pump()
        assert (hub.worker.capacity, hub.worker.credits) == (8, 16), "another connection has another greeting"

    asyncio.run(main())


def test_attempts_that_wait_for_a_process_of_their_node_count_as_their_own_use_of_the_cluster() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        large = msgspec.structs.replace(step("b"), handler_config={"resources": {"CPU": 4.0}})
        await hub.give(step("a"), large)
        assert await supervisor.begin("a:1", NODE)
        assert supervisor.in_use("CPU", 1.0) == 5.0
        supervisor.finish("a:1", done(step("a")))
        supervisor.lost("b:1", "it was preempted")
        assert supervisor.in_use("CPU", 1.0) == 0.0

    played(play)


def test_lines_that_come_twice_are_kept_once() -> None:
    async def play(supervisor: Supervisor, cluster: Cluster, hub: Hub) -> None:
        await hub.give(step("a"))
        await supervisor.begin("a:1", NODE)
        supervisor.output("a:1", 0, [("stdout", "one"), ("stdout", "two")])
        supervisor.output("a:1", 1, [("stdout", "two"), ("stdout", "three")])
        held = supervisor._held_steps.table["a:1"]
        assert [line.text for line in held.lines] == ["one", "two", "three"]

    played(play)
