"""Declares the figures of a worker, and writes them in the text format of Prometheus."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from turnout.model.exposition import exposed, families, samples
from turnout.model.figures import Figure, Part


class HubFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One hub as the worker sees it."""

    METRIC_PREFIX: ClassVar[str] = "turnout_worker_"
    address: str
    state: str
    in_contact: Annotated[bool, Figure("hub_in_contact", "1 while steps of this hub may begin.")]
    credits: Annotated[int, Figure("hub_credits", "Steps that this hub may have out.")]
    sent: Annotated[int, Figure("messages_total", "Messages, by hub and direction.", label="direction=sent")]
    received: Annotated[int, Figure("messages_total", label="direction=received")]
    reconnects: Annotated[int, Figure("reconnects_total", "Connections that were given up.")]
    malformed: Annotated[int, Figure("malformed_messages_total", "Messages that could not be read.")]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """A worker at one moment."""

    METRIC_PREFIX: ClassVar[str] = "turnout_worker_"
    worker_id: str
    name: str
    uptime_seconds: Annotated[float, Figure("uptime_seconds", "Since the worker was started.")]
    draining: Annotated[bool, Figure("draining", "1 while it takes nothing more.")]
    concurrency: Annotated[int, Figure("concurrency", "Steps that may run at once.")]
    running: Annotated[int, Figure("running_steps", "Steps that run.")]
    stuck: Annotated[int, Figure("stuck_threads", "Threads held by bodies that were ended and do not return.")]
    waiting: Annotated[int, Figure("waiting_steps", "Steps that have not begun.")]
    unacknowledged: Annotated[int, Figure("unacknowledged_results", "Results that no hub has acknowledged.")]
    ended: Annotated[dict[str, int], Figure("steps_total", "Steps that ended, by outcome.", label="outcome")]
    hubs: Annotated[tuple[HubFigures, ...], Part(HubFigures, "hub", key="address")]

    @property
    def healthy(self) -> bool:
        """True while a hub is in contact, and while the worker drains."""
        return self.draining or any(hub.in_contact for hub in self.hubs)


def exposition(figures: Figures) -> str:
    """Returns the figures in the text format of Prometheus."""
    return exposed(families(Figures), samples(figures))
