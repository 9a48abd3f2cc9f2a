"""``turnout workers``: lists, shows and drains the connected workers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import BREAKER_STYLES, format_duration, format_time, one_line, short_id, workflow_name
from turnout.cli.options import Database, Group, Json, default_command
from turnout.cli.output import Line, Span, plain, print_json, print_line, print_rows

if TYPE_CHECKING:
    from turnout.contracts.store import OwnershipStore
    from turnout.model.rows import HeldAttempt
    from turnout.model.workers import WorkerView


app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

Worker = Annotated[str, typer.Argument(metavar="WORKER", help="A worker's name, its id, or the beginning of its id.")]


@app.command()
def ls(as_json: Json = False, database: Database = None) -> None:
    """List the workers that are connected to any hub on the database."""
    with workers_at(database) as workers:
        found, hubs = workers.all(), workers.hubs()
    if as_json:
        print_json(found)
    elif found:
        print_rows(worker_rows(found, hubs), WORKER_HEADER)
        if any(is_orphaned(view, hubs) for view in found):
            print_line([(f"! hub gone: {OLD_FIGURES}", "yellow")])
    else:
        print_line("no workers")


default_command(app, ls, "Look at workers, and let them leave. Without a command, list them.")


@app.command()
def show(worker: Worker, as_json: Json = False, database: Database = None) -> None:
    """Show a worker: what it can run, what it has, and since when."""
    with workers_at(database) as workers:
        view = workers.find(worker)
        held, hubs = workers.held(view), workers.hubs()
    if as_json:
        print_json({**plain(view), "held": held})
    else:
        print_worker(view, held, hubs)


@app.command()
def drain(
    worker: Worker,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it has left.")] = False,
    reason: Annotated[str, typer.Option(help="Why; it is sent to the worker.")] = "drained",
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Let a worker finish what it has and leave. All its hubs request it within a heartbeat.

    \b
    turnout workers drain gpu-1 --wait
    """
    with workers_at(database) as workers:
        view = workers.find(worker)
        workers.drain(view, reason)
        left = workers.wait_for_end(view) if wait else False
    if as_json:
        print_json({"id": view.id, "name": view.name, "reason": reason, "left": left})
    else:
        print_line(f"worker {view.name} {'has left' if left else 'is draining: it finishes what it has and leaves'}")


WORKER_HEADER = ("worker", "language", "labels", "running", "waiting", "executed", "failed", "lost", "hubs", "seen", "")
OLD_FIGURES = "the figures are those that the hub reported last"
SHORT_ID = 8
POLL_INTERVAL = 0.25
"""Seconds between checks whether the worker has left."""


class WorkerReader:
    """Reads and drains the workers on a database, which may not exist yet."""

    def __init__(self, store: OwnershipStore | None) -> None:
        self._store = store

    def all(self) -> list[WorkerView]:
        from turnout.runner.live_sessions import live_orchestrators, live_workers

        return [] if self._store is None else live_workers(self._store, live_orchestrators(self._store))

    def hubs(self) -> set[str]:
        """Returns the addresses of the hubs of live orchestrators."""
        from turnout.runner.live_sessions import live_orchestrators

        found = [] if self._store is None else live_orchestrators(self._store)
        return {one.status.hub.address for one in found if one.status.hub is not None}

    def find(self, wanted: str) -> WorkerView:
        from turnout.runner.live_sessions import find_worker

        return find_worker(self.all(), wanted)

    def held(self, worker: WorkerView) -> list[HeldAttempt]:
        return [] if self._store is None else self._store.held_by(worker.id)

    def drain(self, worker: WorkerView, reason: str) -> None:
        from turnout.runner.live_sessions import drain

        if self._store is not None:
            drain(self._store, worker, reason)

    def wait_for_end(self, worker: WorkerView) -> bool:
        """Returns when the session of the worker has ended."""
        assert self._store is not None
        while self._store.holders_alive([worker.id]):
            time.sleep(POLL_INTERVAL)
        return True


@contextmanager
def workers_at(database: str | None, *, configured: bool = True) -> Iterator[WorkerReader]:
    """Yields a reader for the workers on the database, which is not created."""
    from turnout.cli.database import store_if_there

    with store_if_there(database, configured=configured) as store:
        yield WorkerReader(store)


def connected_workers(database: str | None) -> list[WorkerView]:
    """Returns the connected workers; none where the configured database does not exist yet."""
    with workers_at(database, configured=False) as workers:
        return workers.all()


def hubs_at(database: str | None) -> list[tuple[str, str]]:
    """Returns the live orchestrators that have a hub, each with the address."""
    from turnout.cli.database import store_if_there
    from turnout.runner.live_sessions import live_orchestrators

    with store_if_there(database, configured=False) as store:
        orchestrators = [] if store is None else live_orchestrators(store)
    return [(f"{one.host}:{one.pid}", one.status.hub.address) for one in orchestrators if one.status.hub is not None]


def worker_rows(found: Sequence[WorkerView], hubs: Collection[str]) -> list[list[Span]]:
    """Returns a row for each worker; workers with the same name get the beginning of their id."""
    names = Counter(view.name for view in found)
    return [_worker_cells(view, view.id[:SHORT_ID] if names[view.name] > 1 else "", hubs) for view in found]


def _worker_cells(view: WorkerView, mark: str, hubs: Collection[str]) -> list[Span]:
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
        (f"{format_duration(view.silent_seconds)} ago", "dim"),
        condition_of(view, hubs),
    ]


def condition_of(view: WorkerView, hubs: Collection[str]) -> Span:
    """Returns the mark and words for a worker all of whose hubs have died, draining, a breaker that is not closed, or
    no credit. ``hubs`` has the addresses of the live ones."""
    if is_orphaned(view, hubs):
        return "! hub gone", "yellow"
    if view.draining:
        return "■ draining", "magenta"
    if view.breaker != "closed":
        return f"! breaker {view.breaker.replace('_', ' ')}", BREAKER_STYLES.get(view.breaker, "yellow")
    if not view.credits:
        return "■ takes nothing more", "magenta"
    return "✓", "green"


def is_orphaned(view: WorkerView, hubs: Collection[str]) -> bool:
    """True if all hubs of the worker have died: its figures are from before."""
    return bool(view.hubs) and not set(view.hubs) & set(hubs)


def labels_of(view: WorkerView) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(view.labels.items()))


def print_worker(view: WorkerView, held: Sequence[HeldAttempt], hubs: Collection[str]) -> None:
    mark, style = condition_of(view, hubs)
    reason = OLD_FIGURES if is_orphaned(view, hubs) else view.drain_reason if view.draining else view.cause
    print_line([(f"{mark} {view.name}", style), (f"  {one_line(reason or '')}", "dim")])
    rows: list[tuple[str, str]] = [
        ("id", view.id),
        ("where", f"{view.host}, process {view.pid}" if view.host else ""),
        ("language", f"{view.language} {view.sdk_version}".strip()),
        ("labels", labels_of(view)),
        ("handlers", one_line(", ".join(view.handlers), 400)),
        ("hubs", ", ".join(view.hubs)),
        ("up", format_duration(view.up_seconds)),
        ("seen", f"{format_duration(view.silent_seconds)} ago"),
        ("running", f"{view.running:,} of {view.capacity:,}; {view.waiting:,} waiting"),
        ("ended", f"{view.executed:,}, of which {view.failed:,} failed; {view.lost:,} lost"),
        ("breaker", view.breaker.replace("_", " ")),
    ]
    print_rows([[(f"  {name}", "dim"), (value, "")] for name, value in rows if value])
    if held:
        print_line()
        print_rows([_held_cells(one) for one in held], ("run", "workflow", "task", "attempt", "since", ""))


def _held_cells(one: HeldAttempt) -> Line:
    ago = "" if one.since is None else f"{format_duration(time.time() - one.since)}"
    return [
        (short_id(one.run_id), ""),
        (workflow_name(one.workflow), ""),
        (one.task, ""),
        (str(one.attempt), "dim"),
        (format_time(one.since), "dim"),
        (ago, ""),
    ]
