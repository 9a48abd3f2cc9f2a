"""``turnout workers``: lists, shows and drains the connected workers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import BREAKER_STYLES, format_duration, format_time, one_line, short_id, workflow_name
from turnout.cli.options import Group, Json, default_command
from turnout.cli.output import Line, Span, plain, print_json, print_line, print_rows
from turnout.cli.place import HERE, Place, placed

if TYPE_CHECKING:
    from turnout.model.rows import HeldAttempt
    from turnout.model.workers import WorkerView


app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

Worker = Annotated[str, typer.Argument(metavar="WORKER", help="A worker's name, its id, or the beginning of its id.")]


@app.command()
@placed
def ls(as_json: Json = False, place: Place = HERE) -> None:
    """List the workers that are connected to any hub on the database."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        found, hubs = service.workers.list(), service.workers.hubs()
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
@placed
def show(worker: Worker, as_json: Json = False, place: Place = HERE) -> None:
    """Show a worker: what it can run, what it has, and since when."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        view = service.workers.find(worker)
        held, hubs = service.workers.held(view), service.workers.hubs()
    if as_json:
        print_json({**plain(view), "held": held})
    else:
        print_worker(view, held, hubs)


@app.command()
@placed
def drain(
    worker: Worker,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it has left.")] = False,
    reason: Annotated[str, typer.Option(help="Why; it is sent to the worker.")] = "drained",
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Let a worker finish what it has and leave. All its hubs request it within a heartbeat.

    \b
    turnout workers drain gpu-1 --wait
    """
    from turnout.cli.service import service_at

    with service_at(place) as service:
        view = service.workers.find(worker)
        service.workers.drain(view, reason)
        while wait and service.workers.is_alive(view):
            time.sleep(POLL_INTERVAL)
    if as_json:
        print_json({"id": view.id, "name": view.name, "reason": reason, "left": wait})
    else:
        print_line(f"worker {view.name} {'has left' if wait else 'is draining: it finishes what it has and leaves'}")


WORKER_HEADER = ("worker", "language", "labels", "running", "waiting", "executed", "failed", "lost", "hubs", "seen", "")
OLD_FIGURES = "the figures are those that the hub reported last"
SHORT_ID = 8
POLL_INTERVAL = 0.25
"""Seconds between checks whether the worker has left."""


def connected_workers(database: str | None) -> list[WorkerView]:
    """Returns the connected workers; none where the configured database does not exist yet."""
    from turnout.cli.database import store_if_there
    from turnout.runner.live_sessions import live_orchestrators, live_workers

    with store_if_there(database, configured=False) as store:
        return [] if store is None else live_workers(store, live_orchestrators(store))


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
