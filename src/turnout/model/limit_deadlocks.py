"""Finds runs that wait for slots of one another's limits in a circle, and never go on (pure).

A run holds its slots until its tasks and child runs have ended. If one of those waits for a limit whose slots all
belong to runs that wait in the same way for what the first one holds, none of them ends by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeAlias

import msgspec

Key: TypeAlias = tuple[str, int]
"""Run id and position of what waits."""


MAX_SHOWN = 8
"""Runs and limits that a message names."""


class NestedWaiter(msgspec.Struct, frozen=True):
    """A task or child run that waits while its own run, or runs above it, hold slots."""

    run_id: str
    pos: int
    names: frozenset[str]
    """All limits that it waits for."""
    above: Mapping[str, Set[str]]
    """By limit: the slots that its own run and the runs above it use. A slot is known by the run that it was given
    to."""
    family: frozenset[str]
    """Its own run and the runs above it that hold slots."""

    @property
    def key(self) -> Key:
        return self.run_id, self.pos


class LimitSlots(msgspec.Struct, frozen=True):
    """The slots of a limit that runs hold. Those of tasks are left out: an attempt ends by itself."""

    at_most: int | None
    users: Mapping[str, Set[str]]
    """By slot: the runs that use it."""


class Deadlocks(msgspec.Struct, frozen=True):
    """The limits and the waiters that are part of a circle, or wait behind one."""

    limits: Mapping[str, frozenset[str]] = {}
    """By limit whose slots are all held for ever: the runs that hold them."""
    waiters: Mapping[Key, Mapping[str, frozenset[str]]] = {}
    """By waiter: the limits that it never gets a slot of, with the runs that hold these."""

    def sentence(self) -> str:
        """Returns what an operator has to know and do."""
        runs = sorted({run_id for holders in self.limits.values() for run_id in holders})
        shown = ", ".join(runs[:MAX_SHOWN]) + (f" and {len(runs) - MAX_SHOWN} more" if len(runs) > MAX_SHOWN else "")
        return (
            f"runs wait in a circle for the limits {', '.join(sorted(self.limits)[:MAX_SHOWN])}, whose slots they hold "
            f"themselves, and none of them ends: cancel one of {shown}"
        )


def find_deadlocks(waiters: Mapping[Key, NestedWaiter], limits: Mapping[str, LimitSlots]) -> Deadlocks:
    """Returns the waiters that never get their slots. All are assumed to be such, until one is found for each of whose
    limits a slot becomes free, or can be shared."""
    stuck = dict(waiters)
    while True:
        endless = {run_id for waiter in stuck.values() for run_id in waiter.family}
        blocked = {key: _blocking(waiter, limits, endless) for key, waiter in stuck.items()}
        still = {key: waiter for key, waiter in stuck.items() if blocked[key]}
        if len(still) == len(stuck):
            full = {name: holders for name, each in limits.items() if (holders := _holders(each, endless))}
            return Deadlocks(full, blocked)
        stuck = still


def _blocking(waiter: NestedWaiter, limits: Mapping[str, LimitSlots], endless: Set[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for name in waiter.names:
        if name not in limits or _shareable(waiter, name, limits[name], endless):
            continue
        holders = _holders(limits[name], endless)
        if holders:
            found[name] = holders
    return found


def _shareable(waiter: NestedWaiter, name: str, slots: LimitSlots, endless: Set[str]) -> bool:
    """True if a slot of the runs above is, or becomes, free to be shared: what else uses it ends."""
    return any(
        not any(user in endless and user not in waiter.family for user in slots.users.get(slot, ()))
        for slot in waiter.above.get(name, ())
    )


def _holders(slots: LimitSlots, endless: Set[str]) -> frozenset[str]:
    """Returns the runs that hold all slots of the limit and never end; empty if a slot becomes free."""
    held = [users for users in slots.users.values() if not endless.isdisjoint(users)]
    if slots.at_most is None or len(held) < slots.at_most:
        return frozenset()
    return frozenset(user for users in held for user in users if user in endless)
