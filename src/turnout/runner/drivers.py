"""Who drives which runs, as far as the store and this machine know."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.contracts.store import Store
from turnout.model.driver import Driver, driver
from turnout.model.rows import StoredRun
from turnout.orchestration.lease import seen_dead
from turnout.runner.orchestrators import live_orchestrators


def drivers_of(store: Store, runs: Sequence[StoredRun]) -> list[Driver]:
    """What is known of the driver of each of these runs."""
    owners = sorted({run.owner for run in runs if run.owner is not None and not run.row.state.terminal})
    known = store.holders(owners) if owners else {}
    gone = {name for name, holder in known.items() if seen_dead(holder.session)}
    return [driver(run.row.state, known.get(run.owner or ""), gone=run.owner in gone) for run in runs]


def driver_of(store: Store, run: StoredRun) -> Driver:
    return drivers_of(store, [run])[0]


def not_driven(store: Store) -> tuple[int, int, int]:
    """How many orchestrators are alive, how many runs have not ended, and how many of these are not driven."""
    alive = live_orchestrators(store)
    unfinished = int(store.waiting()["unfinished"])
    driven = sum(len(store.owned_runs(one.id)) for one in alive)
    return len(alive), unfinished, max(0, unfinished - driven)
