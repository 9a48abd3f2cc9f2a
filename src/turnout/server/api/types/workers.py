"""Bodies of requests and answers about workers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from turnout.model.rows import HeldAttempt
from turnout.model.workers import WorkerView


class Workers(msgspec.Struct, frozen=True):
    """The workers that are connected to a hub on this database, by name."""

    workers: list[WorkerView]


class WorkerDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A worker and the attempts that it holds, the oldest first."""

    worker: WorkerView
    attempts: list[HeldAttempt]


class DrainRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason of a drain."""

    reason: Annotated[str, Meta(min_length=1, max_length=1_000)] = "drained"
