"""Who is there, who can run what, and who has room? The hub's workers as the orchestrator sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from turnout.contracts.executor import Work
from turnout.executors.workers.watching import Watch, name_of
from turnout.model.reasons import NO_CAPACITY, no_worker_matches, workers_barred
from turnout.model.rows import Session
from turnout.model.workers import WorkerFacts, WorkerReport
from turnout.wire.hub import HubProtocol
from turnout.wire.roster import WorkerEntry
from turnout.wire.translation import handler_of


class Wanted(msgspec.Struct, frozen=True):
    """What tasks of one line ask of a worker."""

    handler: str
    labels: dict[str, str]


_encode = msgspec.json.Encoder(order="deterministic").encode
_wanted = msgspec.json.Decoder(Wanted).decode


class Roll:
    """Places that are set aside, and lines of tasks that want the same workers."""

    def __init__(self, protocol: HubProtocol, watch: Watch) -> None:
        self._protocol = protocol
        self._watch = watch
        self._set_aside: Counter[str] = Counter()
        self._matching: dict[str, list[WorkerEntry]] = {}
        """Who can serve each line; forgotten whenever somebody comes or goes."""
        self.places = 0
        """How many attempts all workers together take at once, as last counted."""

    def changed(self) -> None:
        self._matching.clear()

    def count(self) -> None:
        self.places = sum(worker.free + len(worker.out) for worker in self._protocol.workers.values())

    def has_room(self) -> bool:
        return any(worker.free > self._set_aside[worker.id] for worker in self._protocol.workers.values())

    def line(self, handler: str, labels: Mapping[str, str]) -> str:
        """Its name says what its tasks want."""
        return _encode(Wanted(handler, dict(labels))).decode()

    def why_not(self, line: str) -> str:
        """Why tasks in this line wait: nobody could run them, nobody who could may be asked, or all are busy."""
        matching = self._matches(line)
        if not matching:
            wanted = _wanted(line)
            return no_worker_matches(wanted.labels, wanted.handler)
        if self._watch.shut and all(self._watch.barred(worker.id) for worker in matching):
            return workers_barred(sorted(name_of(worker) for worker in matching))
        return NO_CAPACITY

    def others(self, worker: WorkerEntry, work: Work | None) -> bool:
        """Whether somebody else is there who has the handler, and may be asked."""
        if work is None:
            return False
        handler, there = handler_of(work.task.body), self._protocol.workers.values()
        return any(
            each is not worker and each.session and each.matches(handler, {}) and not self._watch.barred(each.id)
            for each in there
        )

    def assign(self, line: str) -> str | None:
        """The matching worker with the largest share of its places free; among equals, who has waited longest."""
        best, most, shut, matching = None, 0.0, self._watch.shut, self._matches(line)
        for worker in matching:
            if shut and not self._watch.lets(worker.id):
                continue
            free = worker.free - self._set_aside[worker.id]
            if free > 0 and (share := free / worker.credits) > most:
                best, most = worker, share
        if best is None:
            return None
        self._set_aside[best.id] += 1
        if best is not matching[-1]:
            matching.remove(best)
            matching.append(best)
        return best.id

    def unassign(self, holder: str) -> None:
        if self._set_aside[holder] > 1:
            self._set_aside[holder] -= 1
        else:
            del self._set_aside[holder]

    def _matches(self, line: str) -> list[WorkerEntry]:
        found = self._matching.get(line)
        if found is None:
            wanted = _wanted(line)
            there = self._protocol.workers.values()
            found = [
                worker
                for worker in there
                if worker.session and not worker.draining and worker.matches(wanted.handler, wanted.labels)
            ]
            self._matching[line] = found
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
        figures = self._watch.figures_of(worker)
        report = WorkerReport(facts=facts, hub=self._protocol.facts.hub_id, figures=figures)
        return msgspec.json.encode(report).decode()

    def introduction(self, worker: WorkerEntry) -> str:
        hello = worker.hello
        labels = ", ".join(f"{name}={value}" for name, value in sorted(hello.labels.items())) or "no labels"
        return f"{hello.name or hello.host or 'a worker'} ({hello.language}), {labels}, {len(hello.handlers)} handlers"
