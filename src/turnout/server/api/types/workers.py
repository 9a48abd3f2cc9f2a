"""Bodies of requests and answers about workers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from turnout.model.rows import HeldAttempt
from turnout.model.unmatched import Nearest
from turnout.model.workers import WorkerView


class Workers(msgspec.Struct, frozen=True):
    """The workers that are connected to a hub on this database, by name."""

    workers: list[WorkerView]


class WorkerDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A worker and the attempts that it holds, the oldest first."""

    worker: WorkerView
    attempts: list[HeldAttempt]


class UnmatchedWait(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks that wait for a worker that is not there."""

    handler: str
    labels: dict[str, str]
    """Labels that the worker must have."""
    tasks: int
    """Tasks that wait for it, among those that were looked at."""
    since: float | None
    """When the first of them began to wait."""
    run_id: str
    """The run of the first of them."""
    task: str
    workflow: str
    nearest: Nearest | None
    """The worker that lacks the least; null: no worker is connected."""


class UnmatchedWaits(msgspec.Struct, frozen=True, kw_only=True):
    """Handlers and labels that tasks wait for and no connected worker has, the longest wait first."""

    waits: list[UnmatchedWait]
    connected: int
    """The number of workers that are connected."""


class DrainRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason of a drain."""

    reason: Annotated[str, Meta(min_length=1, max_length=1_000)] = "drained"
