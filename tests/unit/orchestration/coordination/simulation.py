"""A pool of stage executors without time passing: batches, their commits and the scaler, from a curve of arrivals."""

from __future__ import annotations

import heapq
import math
from pathlib import Path

import msgspec

from turnout.orchestration.coordination.scaling import PoolLoad, ScalingAction, scale
from turnout.orchestration.coordination.settings import CoordinatorSettings

CURVES = Path(__file__).parent / "curves"
PIECES = 20
"""In how many portions the arrivals of one interval come."""


class Curve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Items that arrive, interval by interval, and what a batch of them takes."""

    what: str
    interval_seconds: float
    batch_size: int
    round_trip_seconds: float
    seconds_per_item: float
    arrivals: list[int]
    bursts: int
    """How often the load rises and falls again."""

    def service(self, items: int) -> float:
        return self.round_trip_seconds + items * self.seconds_per_item


class Sample(msgspec.Struct, frozen=True):
    """What was seen at one look, and done about it."""

    at: float
    load: PoolLoad
    action: ScalingAction
    processed: int
    """Items so far."""


def curves() -> dict[str, Curve]:
    return {path.stem: msgspec.json.decode(path.read_bytes(), type=Curve) for path in sorted(CURVES.glob("*.json"))}


class Simulation:
    """Executors that take a batch whenever they are free, one look of the scaler per interval."""

    def __init__(self, curve: Curve, settings: CoordinatorSettings, low: int = 1, high: int = 8) -> None:
        self._curve, self._settings = curve, settings
        self._low, self._high = low, high
        self._queue = self._processed = self._batches = self._left_behind = 0
        self._free = [0.0] * low
        """When each executor is free again, as a heap."""
        self._busy: list[tuple[float, float]] = []
        """Stretches in which one executor was busy, the recent ones."""
        self._changed = -math.inf
        self._peaks: list[tuple[float, float]] = []

    def run(self) -> list[Sample]:
        samples: list[Sample] = []
        now, interval = 0.0, self._curve.interval_seconds
        for arrivals in self._curve.arrivals:
            for piece in range(PIECES):
                came = arrivals * (piece + 1) // PIECES - arrivals * piece // PIECES
                self._work(came, now + interval * piece / PIECES, now + interval * (piece + 1) / PIECES)
            now += interval
            samples.append(self._look(now))
        return samples

    def _work(self, arrivals: int, start: float, end: float) -> None:
        self._queue += arrivals
        while self._queue and self._free[0] < end:
            begin = max(start, heapq.heappop(self._free))
            items = min(self._queue, self._curve.batch_size)
            self._queue -= items
            self._processed += items
            self._batches += 1
            self._left_behind += self._queue
            until = begin + self._curve.service(items)
            self._busy.append((begin, until))
            heapq.heappush(self._free, until)

    def _look(self, now: float) -> Sample:
        since = now - self._curve.interval_seconds
        count = len(self._free)
        busy = sum(min(until, now) - max(begin, since) for begin, until in self._busy if until > since and begin < now)
        self._busy = [(begin, until) for begin, until in self._busy if until > now]
        utilisation = min(1.0, busy / (self._curve.interval_seconds * count))
        cooldown = self._settings.scaling_cooldown_seconds
        self._peaks = [*((at, each) for at, each in self._peaks if at >= now - cooldown), (now, utilisation)]
        left_behind = (
            self._left_behind / self._batches if self._batches else max(0, self._queue - self._curve.batch_size)
        )
        load = PoolLoad(
            executors=count,
            min_executors=self._low,
            max_executors=self._high,
            utilisation=utilisation,
            peak=max(each for _, each in self._peaks),
            left_behind=left_behind,
            backlog=self._queue,
            since_change=now - self._changed,
        )
        self._batches = self._left_behind = 0
        action = scale(load, self._settings)
        self._resize(action.change, now)
        return Sample(now, load, action, self._processed)

    def _resize(self, change: int, now: float) -> None:
        if not change:
            return
        self._changed = now
        for _ in range(change):
            heapq.heappush(self._free, now)
        if change < 0:
            # Those who are free soonest go: the others have a batch in hand.
            self._free = sorted(self._free)[-change:]
            heapq.heapify(self._free)
