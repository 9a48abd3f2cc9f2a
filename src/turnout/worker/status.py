"""How is a worker doing? What it says of itself to people and to Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from turnout.model.exposition import Family, exposed


class HubFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One hub, from here."""

    address: str
    state: str
    in_contact: bool
    credits: int
    sent: int
    received: int
    reconnects: int
    malformed: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """A worker at a moment."""

    worker_id: str
    name: str
    uptime_seconds: float
    draining: bool
    concurrency: int
    running: int
    stuck: int
    waiting: int
    unacknowledged: int
    ended: dict[str, int]
    """Steps by how they ended."""
    hubs: tuple[HubFigures, ...]

    @property
    def healthy(self) -> bool:
        """Whether some hub can give it work, or it is on its way out as it should be."""
        return self.draining or any(hub.in_contact for hub in self.hubs)


FAMILIES: dict[str, Family] = {
    "turnout_worker_uptime_seconds": ("gauge", "Since the worker was started."),
    "turnout_worker_draining": ("gauge", "1 while it takes nothing more."),
    "turnout_worker_concurrency": ("gauge", "Steps that may run at once."),
    "turnout_worker_running_steps": ("gauge", "Steps that run."),
    "turnout_worker_stuck_threads": ("gauge", "Threads held by bodies that were ended and do not return."),
    "turnout_worker_waiting_steps": ("gauge", "Steps that have not begun."),
    "turnout_worker_unacknowledged_results": ("gauge", "Results that no hub has acknowledged."),
    "turnout_worker_steps_total": ("counter", "Steps that ended, by outcome."),
    "turnout_worker_hub_in_contact": ("gauge", "1 while steps of this hub may begin."),
    "turnout_worker_hub_credits": ("gauge", "Steps that this hub may have out."),
    "turnout_worker_messages_total": ("counter", "Messages, by hub and direction."),
    "turnout_worker_reconnects_total": ("counter", "Connections that were given up."),
    "turnout_worker_malformed_messages_total": ("counter", "Messages that could not be read."),
}


def exposition(figures: Figures) -> str:
    """The figures in the text format of Prometheus."""
    return exposed(FAMILIES, _samples(figures))


def _samples(figures: Figures) -> Iterator[tuple[str, tuple[tuple[str, str], ...], float]]:
    yield "turnout_worker_uptime_seconds", (), figures.uptime_seconds
    yield "turnout_worker_draining", (), figures.draining
    yield "turnout_worker_concurrency", (), figures.concurrency
    yield "turnout_worker_running_steps", (), figures.running
    yield "turnout_worker_stuck_threads", (), figures.stuck
    yield "turnout_worker_waiting_steps", (), figures.waiting
    yield "turnout_worker_unacknowledged_results", (), figures.unacknowledged
    for outcome, count in figures.ended.items():
        yield "turnout_worker_steps_total", (("outcome", outcome),), count
    for hub in figures.hubs:
        of = (("hub", hub.address),)
        yield "turnout_worker_hub_in_contact", of, hub.in_contact
        yield "turnout_worker_hub_credits", of, hub.credits
        yield "turnout_worker_messages_total", (*of, ("direction", "sent")), hub.sent
        yield "turnout_worker_messages_total", (*of, ("direction", "received")), hub.received
        yield "turnout_worker_reconnects_total", of, hub.reconnects
        yield "turnout_worker_malformed_messages_total", of, hub.malformed
