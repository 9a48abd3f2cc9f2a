"""Chooses workers for tasks: which are connected, which can run what, and which have free slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from turnout.contracts.executor import Work
from turnout.executors.workers.attempt_workers import AttemptWorkers
from turnout.executors.workers.exclusive import ExclusiveWorkers
from turnout.executors.workers.in_flight import InFlight
from turnout.executors.workers.worker_breakers import WorkerBreakers, name_of
from turnout.model.labels import WORKER_LABEL, unpinned
from turnout.model.reasons import (
    NO_CAPACITY,
    WAITING_TO_RUN_ALONE_ON_A_WORKER,
    breaker_open_on_workers,
    no_worker_matches,
    waiting_for_its_worker,
)
from turnout.model.rows import Session
from turnout.model.workers import WorkerFacts, WorkerReport
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.step_codec import handler_of
from turnout.wire.worker_entries import WorkerEntry

MAX_REMEMBERED_NAMES = 10_000
"""Names of workers that are known by id; all are forgotten at once when there are more."""


class WorkerSelector(msgspec.Struct, frozen=True):
    """The demands on a worker that tasks which wait together share."""

    handler: str
    labels: dict[str, str]
    exclusive: bool = False
    """Nothing else may be on the worker with it."""
    also: tuple[str, ...] = ()
    """Handlers that the worker must have besides: of the other tasks of a run that stays on one worker."""


class Candidates(msgspec.Struct, frozen=True):
    """The workers that match a selector, the last chosen one at the end."""

    wanted: WorkerSelector
    workers: list[WorkerEntry]


_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(WorkerSelector).decode


@lru_cache(maxsize=4096)
def _selector_text(handler: str, labels: tuple[tuple[str, str], ...], exclusive: bool, also: tuple[str, ...]) -> str:
    return _encode(WorkerSelector(handler, dict(labels), exclusive, also)).decode()


class WorkerPool:
    """Reserved slots, and the workers that match each selector."""

    def __init__(
        self, protocol: HubProtocol, breakers: WorkerBreakers, attempt_workers: AttemptWorkers | None = None
    ) -> None:
        self._protocol = protocol
        self._attempt_workers = AttemptWorkers() if attempt_workers is None else attempt_workers
        self._breakers = breakers
        self._reserved: Counter[str] = Counter()
        self._by_selector: dict[str, Candidates] = {}
        """Cleared whenever a worker joins or leaves."""
        self._names: dict[str, str] = {}
        """Names of workers by id, also of some that have left: runs may still wait for them."""
        self._exclusive = ExclusiveWorkers(lambda worker: len(worker.out) + self._reserved[worker.id])
        self.capacity = 0
        """How many attempts all workers together take at once, as last counted."""

    def changed(self) -> None:
        self._by_selector.clear()
        if len(self._names) > MAX_REMEMBERED_NAMES:
            self._names.clear()
        self._names.update((worker.id, name_of(worker)) for worker in self._protocol.workers.values())
        if self._exclusive:
            self._exclusive.keep(self._protocol.workers)

    def shared(self) -> Iterator[WorkerEntry]:
        """Yields the workers that any task may go to: not those that were made for one attempt."""
        workers = self._protocol.workers.values()
        if not self._attempt_workers:
            return iter(workers)
        return (worker for worker in workers if worker.id not in self._attempt_workers)

    def count(self) -> None:
        self.capacity = sum(worker.free + len(worker.out) for worker in self.shared())

    def has_room(self) -> bool:
        return any(worker.free > self._reserved[worker.id] for worker in self.shared())

    def selector(
        self, handler: str, labels: Mapping[str, str], exclusive: bool = False, also: tuple[str, ...] = ()
    ) -> str:
        """Returns the selector of such tasks, as text."""
        return _selector_text(handler, tuple(labels.items()), exclusive, also)

    def wait_reason(self, selector: str) -> str:
        """Returns why such tasks wait: no worker matches, all that match are blocked, or all are busy."""
        known = self._candidates(selector)
        wanted, workers = known.wanted, known.workers
        pinned_to = wanted.labels.get(WORKER_LABEL)
        if pinned_to is not None and pinned_to not in self._protocol.workers:
            return waiting_for_its_worker(self._names.get(pinned_to, pinned_to), unpinned(wanted.labels) or {})
        if not workers:
            return no_worker_matches(wanted.labels, ", ".join(dict.fromkeys((wanted.handler, *wanted.also))))
        if self._breakers.blocking and all(self._breakers.is_blocked(worker.id) for worker in workers):
            return breaker_open_on_workers(sorted(name_of(worker) for worker in workers))
        return WAITING_TO_RUN_ALONE_ON_A_WORKER if wanted.exclusive else NO_CAPACITY

    def others(self, worker: WorkerEntry, work: Work | None) -> bool:
        """True if another connected worker has the handler and its breaker is closed."""
        if work is None:
            return False
        handler = handler_of(work.task.body)
        return any(
            each is not worker and each.session and each.matches(handler, {}) and not self._breakers.is_blocked(each.id)
            for each in self.shared()
        )

    def assign(self, selector: str) -> str | None:
        """Reserves a slot of the matching worker with the largest free share; of equals, the least recently chosen."""
        known = self._by_selector.get(selector) or self._candidates(selector)
        workers = known.workers
        best = self._choose_exclusive(workers) if known.wanted.exclusive else self._least_loaded(workers)
        if best is None:
            return None
        holder = best.hello.worker_id
        self._reserved[holder] = self._reserved.get(holder, 0) + 1
        if best is not workers[-1]:
            workers.remove(best)
            workers.append(best)
        return holder

    def assign_to(self, holder: str) -> bool:
        """Reserves a slot of this worker, if it has one."""
        worker = self._protocol.workers[holder]
        if worker.free <= self._reserved[holder]:
            return False
        self._reserved[holder] += 1
        return True

    def _least_loaded(self, workers: Sequence[WorkerEntry]) -> WorkerEntry | None:
        best, most, shut, exclusive = None, 0.0, self._breakers.blocking, self._exclusive
        reserved = self._reserved
        for worker in workers:
            # Read here instead of by `free`: every step passes all workers that match it.
            if not worker.session or worker.drain_reason is not None:
                continue
            worker_id = worker.hello.worker_id
            if shut and not self._breakers.has_room(worker_id):
                continue
            free = worker.credits - len(worker.out) - reserved.get(worker_id, 0)
            if free > 0 and (share := free / worker.credits) > most:
                if exclusive.uses and exclusive.closed_to_others(worker):
                    continue
                best, most = worker, share
        return best

    def _choose_exclusive(self, workers: Sequence[WorkerEntry]) -> WorkerEntry | None:
        able = [each for each in workers if each.session and each.credits and self._breakers.has_room(each.id)]
        return self._exclusive.choose(able)

    def misplaced(self, worker: WorkerEntry) -> list[str]:
        """Returns steps that have waited there for long and that another worker could begin at once."""
        if worker.id in self._attempt_workers:
            return []
        idle = {each.id: slots for each in self.shared() if (slots := self._idle(each)) > 0}
        found: list[str] = []
        for token, given in worker.out.items():
            # A step that needs a grant to begin is left to its owner.
            if not given.is_waiting or given.step.metadata.confirm_start:
                continue
            handler, labels = given.step.handler_class, given.step.metadata.labels
            able = (each for each in idle if self._protocol.workers[each].matches(handler, labels))
            if (taker := next(able, None)) is not None:
                found.append(token)
                idle[taker] -= 1
                if not idle[taker]:
                    del idle[taker]
        return found

    def _idle(self, worker: WorkerEntry) -> int:
        """Returns the estimated number of idle slots: workers ask for twice as many steps as they have slots."""
        busy = len(worker.out) + self._reserved[worker.id]
        waits = any(given.is_waiting for given in worker.out.values())
        if waits or self._breakers.is_blocked(worker.id) or self._exclusive.closed_to_others(worker):
            return 0
        return min((worker.hello.credits + 1) // 2 - busy, worker.free)

    def sent(self, holder: str, flights: Iterable[InFlight]) -> None:
        """Releases the slots that were reserved for attempts which their worker has now."""
        count = 0
        for flight in flights:
            if not flight.given:
                flight.given = True
                count += 1
        if (left := self._reserved.get(holder, 0) - count) > 0:
            self._reserved[holder] = left
        else:
            self._reserved.pop(holder, None)

    def release_reservation(self, flight: InFlight) -> None:
        """Releases the slot that was reserved for the attempt: its worker has it now, or never will."""
        if not flight.given:
            flight.given = True
            self.unassign(flight.event.holder)

    def unassign(self, holder: str) -> None:
        if self._reserved[holder] > 1:
            self._reserved[holder] -= 1
        else:
            del self._reserved[holder]

    def _candidates(self, selector: str) -> Candidates:
        found = self._by_selector.get(selector)
        if found is None:
            wanted = _decode(selector)
            workers = [
                worker
                for worker in self.shared()
                if worker.session
                and not worker.draining
                and all(worker.matches(handler, wanted.labels) for handler in (wanted.handler, *wanted.also))
            ]
            found = self._by_selector[selector] = Candidates(wanted, workers)
        return found

    # -- for people, and for the database -----------------------------------------------------------------------
    def session_of(self, worker: WorkerEntry) -> Session:
        hello = worker.hello
        return Session(
            id=worker.id,
            kind="worker",
            host=hello.host,
            boot_id=hello.boot_id,
            pid_namespace=hello.pid_namespace,
            pid=hello.pid,
            process_started=hello.process_started,
            workflows=(),
            key=worker.key or "",
        )

    def about(self, worker: WorkerEntry) -> str:
        hello = worker.hello
        facts = WorkerFacts(
            name=name_of(worker),
            language=hello.language,
            sdk_version=hello.sdk_version,
            labels=hello.labels,
            handlers=hello.handlers,
        )
        figures = self._breakers.figures_of(worker)
        report = WorkerReport(facts=facts, hub=self._protocol.facts.hub_id, figures=figures)
        return msgspec.json.encode(report).decode()

    def introduction(self, worker: WorkerEntry) -> str:
        hello = worker.hello
        labels = ", ".join(f"{name}={value}" for name, value in sorted(hello.labels.items())) or "no labels"
        return f"{hello.name or hello.host or 'a worker'} ({hello.language}), {labels}, {len(hello.handlers)} handlers"
