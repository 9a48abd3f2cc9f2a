"""Who drives which runs, as far as the store and this machine know."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.contracts.store import Store
from turnout.model.driver import Driver, driver
from turnout.model.rows import Holder, StoredRun
from turnout.model.states import RunState
from turnout.orchestration.lease import seen_dead


def drivers_of(store: Store, runs: Sequence[StoredRun]) -> list[Driver]:
    """What is known of the driver of each of these runs."""
    owners = sorted({run.owner for run in runs if run.owner is not None and not run.row.state.terminal})
    known = store.holders(owners) if owners else {}
    gone = {name for name, holder in known.items() if seen_dead(holder.session)}
    return [driver(run.row.state, known.get(run.owner or ""), gone=run.owner in gone) for run in runs]


def driver_of(store: Store, run: StoredRun) -> Driver:
    return drivers_of(store, [run])[0]


class OpenCounts(msgspec.Struct, frozen=True):
    """The runs of a database that have not ended."""

    states: dict[RunState, int]
    unfinished: int
    not_driven: int


NONE_OPEN = OpenCounts({}, 0, 0)


def open_counts(store: Store) -> OpenCounts:
    """How many there are, and how many of them nobody drives."""
    waiting = store.waiting()
    owners: dict[str, int] = waiting["owners"]
    known = store.holders(sorted(owners)) if owners else {}
    driven = sum(count for owner, count in owners.items() if _drives(known.get(owner)))
    states = {RunState(state): counts["owned"] + counts["unowned"] for state, counts in waiting["runs"].items()}
    return OpenCounts(states, waiting["unfinished"], waiting["unfinished"] - driven)


def _drives(owner: Holder | None) -> bool:
    """Whether runs of this owner that have not ended are driven."""
    gone = owner is not None and seen_dead(owner.session)
    return driver(RunState.RUNNING, owner, gone=gone) is Driver.DRIVEN
