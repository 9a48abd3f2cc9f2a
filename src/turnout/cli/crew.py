"""How does a command get at the workers of a database, and how are they put into lines?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from turnout.cli.opening import store_if_there
from turnout.cli.output import Line, Span, say, say_columns
from turnout.cli.wording import last_name, lasting, moment, one_line, short
from turnout.contracts.store import OwnershipStore
from turnout.model.rows import HeldAttempt
from turnout.model.workers import WorkerView
from turnout.runner.orchestrators import live_orchestrators
from turnout.runner.workers import drain, find_worker, live_workers

WORKER_HEADER = ("worker", "language", "labels", "running", "waiting", "executed", "failed", "lost", "hubs", "seen", "")
SHORT_ID = 8
LOOK = 0.25
"""Seconds from one look to the next while somebody waits."""


class Crew:
    """The workers on a database, which may not be there yet."""

    def __init__(self, store: OwnershipStore | None) -> None:
        self._store = store

    def look(self) -> list[WorkerView]:
        return [] if self._store is None else live_workers(self._store, live_orchestrators(self._store))

    def find(self, wanted: str) -> WorkerView:
        return find_worker(self.look(), wanted)

    def held(self, worker: WorkerView) -> list[HeldAttempt]:
        return [] if self._store is None else self._store.held_by(worker.id)

    def drain(self, worker: WorkerView, reason: str) -> None:
        if self._store is not None:
            drain(self._store, worker, reason)

    def wait_for_end(self, worker: WorkerView) -> bool:
        """Return when its session has ended."""
        assert self._store is not None
        while self._store.holders_alive([worker.id]):
            time.sleep(LOOK)
        return True


@contextmanager
def workers_at(database: str | None, *, configured: bool = True) -> Iterator[Crew]:
    """Looking makes no database."""
    with store_if_there(database, configured=configured) as store:
        yield Crew(store)


def connected(database: str | None) -> list[WorkerView]:
    """Those that are connected now; none where the configured database does not exist yet."""
    with workers_at(database, configured=False) as crew:
        return crew.look()


def hubs_at(database: str | None) -> list[tuple[str, str]]:
    """The orchestrators that have a hub now, each with its hub's address."""
    with store_if_there(database, configured=False) as store:
        there = [] if store is None else live_orchestrators(store)
    return [(f"{one.host}:{one.pid}", one.status.hub.address) for one in there if one.status.hub is not None]


def crew_cells(found: Sequence[WorkerView]) -> list[list[Span]]:
    """A row for each; those that share a name are told apart by the beginnings of their ids."""
    names = Counter(view.name for view in found)
    return [_worker_cells(view, view.id[:SHORT_ID] if names[view.name] > 1 else "") for view in found]


def _worker_cells(view: WorkerView, mark: str) -> list[Span]:
    return [
        (f"{one_line(view.name, 40)} {mark}".rstrip(), ""),
        (f"{view.language} {view.sdk_version}".strip(), "dim"),
        (one_line(labels_of(view), 40), ""),
        (f"{view.running:,}/{view.capacity:,}", ""),
        (f"{view.waiting:,}", ""),
        (f"{view.executed:,}", ""),
        (f"{view.failed:,}", "red" if view.failed else ""),
        (f"{view.lost:,}", "red" if view.lost else ""),
        (str(len(view.hubs)), "dim"),
        (f"{lasting(view.silent_seconds)} ago", "dim"),
        condition_of(view),
    ]


def condition_of(view: WorkerView) -> Span:
    """What is special about it, in a word."""
    if view.draining:
        return "■ draining", "magenta"
    if view.breaker != "closed":
        return f"! breaker {view.breaker.replace('_', ' ')}", "red" if view.breaker == "open" else "yellow"
    if not view.credits:
        return "■ takes nothing more", "magenta"
    return "✓", "green"


def labels_of(view: WorkerView) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(view.labels.items()))


def say_worker(view: WorkerView, held: Sequence[HeldAttempt]) -> None:
    mark, style = condition_of(view)
    said = view.drain_reason if view.draining else view.cause
    say([(f"{mark} {view.name}", style), (f"  {one_line(said or '')}", "dim")])
    rows: list[tuple[str, str]] = [
        ("id", view.id),
        ("where", f"{view.host}, process {view.pid}" if view.host else ""),
        ("language", f"{view.language} {view.sdk_version}".strip()),
        ("labels", labels_of(view)),
        ("handlers", one_line(", ".join(view.handlers), 400)),
        ("hubs", ", ".join(view.hubs)),
        ("up", lasting(view.up_seconds)),
        ("seen", f"{lasting(view.silent_seconds)} ago"),
        ("running", f"{view.running:,} of {view.capacity:,}; {view.waiting:,} waiting"),
        ("ended", f"{view.executed:,}, of which {view.failed:,} failed; {view.lost:,} lost"),
        ("breaker", view.breaker.replace("_", " ")),
    ]
    say_columns([[(f"  {name}", "dim"), (value, "")] for name, value in rows if value])
    if held:
        say()
        say_columns([_held_cells(one) for one in held], ("run", "workflow", "task", "attempt", "since", ""))


def _held_cells(one: HeldAttempt) -> Line:
    ago = "" if one.since is None else f"{lasting(time.time() - one.since)}"
    return [
        (short(one.run_id), ""),
        (last_name(one.workflow), ""),
        (one.task, ""),
        (str(one.attempt), "dim"),
        (moment(one.since), "dim"),
        (ago, ""),
    ]
