"""Decides which waiting runs and tasks get the slots of their limits. No I/O, no clock of its own.

A waiter gets a slot of each of its limits at once, or of none, so waiters never wait for one another in a circle.

A run shares its slots with what it waits for: its tasks, its child runs and theirs. Of a slot there is one user at a
time that is not waited for by another user, so a limit of n has n of them at work. Each counts in a rate.

Waiters are ranked by the time since which they wait; each level of priority counts as ``AGEING_INTERVAL`` seconds.
So a higher priority goes first, and a waiter is overtaken only by those that come within that time after it. One that
cannot go because another of its limits is full lets others pass for ``OVERTAKE_TIMEOUT``; then free slots are kept for
it, but not from what the waiter itself waits for. Thus nothing starves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from turnout.model.limits import LimitSize
from turnout.model.slots import RUN

OVERTAKE_TIMEOUT = 60.0
"""Seconds for which others may take free slots that a waiter cannot use yet."""

NOTHING_ABOVE: Mapping[str, Mapping[str, frozenset[str]]] = MappingProxyType({})


class Waiter(msgspec.Struct, frozen=True):
    """A run or task that waits, with the names of all its limits."""

    run_id: str
    pos: int
    rank: float
    since: float
    names: tuple[str, ...]
    above: Mapping[str, Mapping[str, frozenset[str]]] = NOTHING_ABOVE
    """By limit and slot: the task's run and the ancestors that use the slot. A slot is known by the run that it was
    given to."""


class LimitState(msgspec.Struct):
    """A limit as it is when slots are given."""

    size: LimitSize
    held: int = 0
    begun: int = 0
    """Slots that were given within the extended period of its rate."""
    next_in: float = 0.0
    """Seconds until the oldest of those is outside of the period."""
    users: dict[str, set[tuple[str, int]]] = msgspec.field(default_factory=dict[str, set[tuple[str, int]]])
    """By slot: run ids and positions of what shares it with the run that it was given to."""
    kept: list[frozenset[str]] = msgspec.field(default_factory=list[frozenset[str]])
    """For each free slot that is kept for a waiter: the limits that this waiter waits for."""

    @property
    def at_once_full(self) -> bool:
        return self.size.at_most is not None and self.held >= self.size.at_most

    def shareable(self, above: Mapping[str, frozenset[str]]) -> str | None:
        """Returns a slot all of whose users wait for the waiter; None if there is none, or none is needed."""
        if self.size.at_most is None:
            return None
        for slot in sorted(above):
            if all(pos == RUN and run_id in above[slot] for run_id, pos in self.users.get(slot, ())):
                return slot
        return None

    def free(self, holds: Collection[str], *, shared: bool) -> bool:
        """True if a waiter can go whose run and ancestors hold slots of these limits. Slots are not kept from it for
        what waits for those."""
        kept = sum(1 for waited_for in self.kept if waited_for.isdisjoint(holds))
        at_once = shared or self.size.at_most is None or self.held + kept < self.size.at_most
        return at_once and (self.size.rate is None or self.begun + kept < self.size.rate)

    def take(self, waiter: Waiter, slot: str | None) -> None:
        """Gives the waiter a slot of its own, or a share of this one."""
        self.begun += 1
        if slot is None:
            self.held += 1
        else:
            self.users.setdefault(slot, set()).add((waiter.run_id, waiter.pos))


class Admitted(msgspec.Struct, frozen=True):
    """The waiters that got their slots."""

    granted: list[tuple[str, int]] = []
    """Run ids and positions."""
    shared: list[tuple[str, int, str, str]] = []
    """Run id, position, limit and slot of those that share one."""
    next_in: float | None = None
    """Seconds after which a rate lets the next one pass, if one waits for a rate only."""
    more: bool = False
    """True if not all waiters were examined, and free slots may be left."""


def admit(waiters: Iterable[Waiter], limits: Mapping[str, LimitState], now: float) -> Admitted:
    """Returns the waiters that get their slots, in the order of their ranks. Changes ``limits`` by what they take."""
    ranked = sorted(waiters, key=lambda each: (each.rank, each.run_id, each.pos))
    needed = _needed_by_holders(ranked)
    granted: list[tuple[str, int]] = []
    shared: list[tuple[str, int, str, str]] = []
    due: list[float] = []
    for waiter in ranked:
        slots = {name: limits[name].shareable(waiter.above.get(name, {})) for name in waiter.names}
        full = [
            name for name, slot in slots.items() if not limits[name].free(waiter.above.keys(), shared=slot is not None)
        ]
        if not full:
            for name, slot in slots.items():
                limits[name].take(waiter, slot)
                if slot is not None:
                    shared.append((waiter.run_id, waiter.pos, name, slot))
            granted.append((waiter.run_id, waiter.pos))
            continue
        if all(slots[name] is not None or not limits[name].at_once_full for name in full):
            due.append(max(limits[name].next_in for name in full))
        if now - waiter.since > OVERTAKE_TIMEOUT:
            waited_for = _closure(
                [*full, *(each for name in full for kept in limits[name].kept for each in kept)], needed
            )
            for name, slot in slots.items():
                if slot is None:
                    limits[name].kept.append(waited_for)
    return Admitted(granted, shared, min(due) if due else None)


def _needed_by_holders(waiters: Sequence[Waiter]) -> dict[str, set[str]]:
    """Returns by limit those that holders of its slots need further ones of, for their tasks and child runs."""
    needed: dict[str, set[str]] = {}
    for waiter in waiters:
        for name in waiter.above:
            needed.setdefault(name, set()).update(waiter.names)
    return needed


def _closure(names: Iterable[str], needed: Mapping[str, Collection[str]]) -> frozenset[str]:
    found, left = set[str](), list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(needed.get(name, ()))
    return frozenset(found)
