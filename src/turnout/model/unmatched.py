"""Finds for tasks that no worker can take the worker that comes nearest, and what it lacks (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from turnout.model.reasons import NO_WORKER_MATCHES
from turnout.model.workers import ANY_HANDLER, WorkerView

_REASON = re.compile(rf"{NO_WORKER_MATCHES}\{{(.*)\}} handler (.*)", re.DOTALL)


class Nearest(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that lacks the least of what a task needs."""

    worker: str
    missing: dict[str, str]
    """Labels that it would have to have, with their values."""
    has: dict[str, str]
    """Its own values of these labels, where it has others."""
    lacks_handler: bool
    draining: bool


def needs_in(reason: str) -> tuple[str, dict[str, str]]:
    """Returns the handler and the labels that a reason names. The row of a task has its labels only once it has
    started; of values with a comma and an equals sign the parts are taken for labels.

    >>> needs_in("no_worker_matches{gpu=true, zone=a} handler train")
    ('train', {'gpu': 'true', 'zone': 'a'})
    """
    found = _REASON.fullmatch(reason)
    if found is None:
        return "", {}
    labels: dict[str, str] = {}
    last = ""
    for part in found[1].split(", ") if found[1] else ():
        name, equals, value = part.partition("=")
        if equals:
            labels[name], last = value, name
        elif last:
            labels[last] += f", {part}"
    return found[2], labels


def nearest(handler: str, labels: Mapping[str, str], workers: Sequence[WorkerView]) -> Nearest | None:
    """Returns the worker that lacks the fewest labels, and of those one that has the handler; None without workers."""
    found = [_lacks(handler, labels, each) for each in workers]
    return min(
        found, key=lambda each: (each.draining, len(each.missing) + each.lacks_handler, each.worker), default=None
    )


def _lacks(handler: str, labels: Mapping[str, str], worker: WorkerView) -> Nearest:
    missing = {name: value for name, value in labels.items() if worker.labels.get(name) != value}
    return Nearest(
        worker=worker.name,
        missing=missing,
        has={name: worker.labels[name] for name in missing if name in worker.labels},
        lacks_handler=handler not in worker.handlers and ANY_HANDLER not in worker.handlers,
        draining=worker.draining,
    )
