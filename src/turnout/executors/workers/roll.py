"""Who is there, who can run what, and who has room? The hub's workers as the orchestrator sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from turnout.model.rows import Session
from turnout.wire.hub import HubProtocol
from turnout.wire.roster import WorkerEntry


class Wanted(msgspec.Struct, frozen=True):
    """What tasks of one line ask of a worker."""

    handler: str
    labels: dict[str, str]


class Roll:
    """Places that are set aside, and lines of tasks that want the same workers."""

    def __init__(self, protocol: HubProtocol) -> None:
        self._protocol = protocol
        self._set_aside: Counter[str] = Counter()
        self._lines: dict[str, Wanted] = {}
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
        name = f"{handler} {sorted(labels.items())}" if labels else handler
        if name not in self._lines:
            self._lines[name] = Wanted(handler, dict(labels))
        return name

    def wanted(self, line: str) -> Wanted:
        return self._lines[line]

    def anybody(self, line: str) -> bool:
        """Whether a worker is there that could run it, busy or not."""
        return bool(self._matches(line))

    def assign(self, line: str) -> str | None:
        """The matching worker with the largest share of its places free."""
        best, most = None, 0.0
        for worker in self._matches(line):
            free = worker.free - self._set_aside[worker.id]
            if free > 0 and (share := free / worker.credits) > most:
                best, most = worker, share
        if best is None:
            return None
        self._set_aside[best.id] += 1
        return best.id

    def unassign(self, holder: str) -> None:
        if self._set_aside[holder] > 1:
            self._set_aside[holder] -= 1
        else:
            del self._set_aside[holder]

    def _matches(self, line: str) -> list[WorkerEntry]:
        found = self._matching.get(line)
        if found is None:
            wanted = self._lines[line]
            there = self._protocol.workers.values()
            found = [worker for worker in there if worker.session and worker.matches(wanted.handler, wanted.labels)]
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
        facts = {
            "name": hello.name,
            "language": hello.language,
            "sdk_version": hello.sdk_version,
            "labels": hello.labels,
            "handlers": list(hello.handlers),
            "credits": worker.credits,
            "in_flight": len(worker.out),
            "draining": worker.draining,
            "hub": self._protocol.facts.hub_id,
        }
        return msgspec.json.encode(facts).decode()

    def introduction(self, worker: WorkerEntry) -> str:
        hello = worker.hello
        labels = ", ".join(f"{name}={value}" for name, value in sorted(hello.labels.items())) or "no labels"
        return f"{hello.name or hello.host or 'a worker'} ({hello.language}), {labels}, {len(hello.handlers)} handlers"
