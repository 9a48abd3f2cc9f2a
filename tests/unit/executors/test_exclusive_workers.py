"""A task that may be what its workers died of gets one for itself; the others go on as they were."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from turnout.dispatcher.exclusive import INITIAL_WINDOW, MAX_EXCLUSIVE_WAIT
from turnout.executors.workers.exclusive import ExclusiveWorkers
from turnout.executors.workers.worker_breakers import WorkerBreakers
from turnout.executors.workers.worker_pool import WorkerPool
from turnout.model.reasons import NO_CAPACITY, WAITING_TO_RUN_ALONE_ON_A_WORKER
from turnout.wire.documents import Step, StepMetadata
from turnout.wire.handshake import HubFacts
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.messages import Hello
from turnout.wire.worker_entries import SentStep, WorkerEntry

PLACES = 2


def worker_of(name: str) -> WorkerEntry:
    hello = Hello(versions=("1.0",), worker_id=name, seq=1, codecs=("json",), credits=PLACES, handlers=("h",))
    return WorkerEntry(
        hello=hello,
        route=name.encode(),
        key=None,
        last_seen=0.0,
        session="s",
        credits=PLACES,
        finished=OrderedDict(),
        out={},
    )


def give(worker: WorkerEntry, token: str) -> None:
    step = Step(step_id="s", task_id="t", step_name="n", handler_class="h", metadata=StepMetadata(token=token))
    worker.out[token] = SentStep(step=step, batch_id="b", sent_at=0.0)


class Hall:
    """Two workers, and who is asked to take what."""

    def __init__(self) -> None:
        self.now = 0.0
        self.workers = {name: worker_of(name) for name in ("a", "b")}
        protocol = HubProtocol(HubFacts(hub_id="hub"), lambda: "id")
        protocol.workers = self.workers
        self.pool = WorkerPool(protocol, WorkerBreakers())
        self.pool._exclusive._clock = lambda: self.now
        self.company, self.alone = self.pool.selector("h", {}), self.pool.selector("h", {}, exclusive=True)
        self._number = 0

    def assign(self, line: str) -> str | None:
        """Set a place aside and use it, as the hub does."""
        chosen = self.pool.assign(line)
        if chosen is not None:
            self.pool.unassign(chosen)
            self._number += 1
            give(self.workers[chosen], str(self._number))
        return chosen

    def fill(self, line: str) -> list[str]:
        return sorted(iter(lambda: self.assign(line) or "", ""))


@pytest.fixture
def hall() -> Hall:
    return Hall()


def test_it_gets_a_worker_that_has_nothing_and_nobody_else_gets_that_one(hall: Hall) -> None:
    give(hall.workers["a"], "long")
    assert hall.assign(hall.alone) == "b"
    assert hall.fill(hall.company) == ["a"]
    hall.workers["b"].out.clear()
    assert hall.fill(hall.company) == ["b", "b"]


def test_a_place_that_is_set_aside_counts_before_it_is_used(hall: Hall) -> None:
    hall.pool.assign(hall.company)
    taken = hall.pool.assign(hall.alone)
    assert taken is not None
    assert taken not in hall.fill(hall.company)


def test_where_all_have_something_others_make_way_on_one_of_them(hall: Hall) -> None:
    for name in hall.workers:
        give(hall.workers[name], f"long {name}")
    assert hall.assign(hall.alone) is None
    assert (
        hall.pool.wait_reason(hall.alone) == WAITING_TO_RUN_ALONE_ON_A_WORKER
        and hall.pool.wait_reason(hall.company) == NO_CAPACITY
    )
    (open_one,) = hall.fill(hall.company)
    (kept,) = hall.workers.keys() - {open_one}
    hall.workers[kept].out.clear()
    assert hall.assign(hall.alone) == kept
    assert hall.fill(hall.company) == []


def test_nobody_makes_way_for_ever(hall: Hall) -> None:
    for name in hall.workers:
        give(hall.workers[name], f"long {name}")
    assert hall.assign(hall.alone) is None
    hall.now = INITIAL_WINDOW + 1
    assert hall.assign(hall.alone) is None
    assert hall.fill(hall.company) == ["a", "b"]


def test_in_the_end_it_runs_in_company_but_only_where_there_is_a_place() -> None:
    now, busy = [0.0], {"a": PLACES}
    solitudes = ExclusiveWorkers(lambda worker: busy[worker.id], lambda: now[0])
    worker = worker_of("a")
    assert solitudes.choose([worker]) is None
    now[0] = MAX_EXCLUSIVE_WAIT + 1
    assert solitudes.choose([worker]) is None, "there is no room"
    busy["a"] = 1
    assert solitudes.choose([worker]) is worker


def test_two_of_them_are_not_alone_together(hall: Hall) -> None:
    assert {hall.assign(hall.alone), hall.assign(hall.alone)} == {"a", "b"}
    assert hall.assign(hall.alone) is None


def test_a_worker_that_left_is_forgotten(hall: Hall) -> None:
    assert hall.assign(hall.alone) is not None
    hall.workers.clear()
    hall.pool.changed()
    assert not hall.pool._exclusive
