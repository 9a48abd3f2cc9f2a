"""Reads how runs were started: of a whole list with at most two statements."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.contracts.store import Store
from turnout.model.rows import StoredRun
from turnout.model.run_triggers import RunTrigger, ScheduledRun, needs_decision, trigger_of, webhook_id_of


def triggers_of(store: Store, runs: Sequence[StoredRun]) -> list[RunTrigger]:
    """Returns how each of the runs was started. Blocks."""
    asked = [run.new.run_id for run in runs if needs_decision(run.new)]
    scheduled: dict[str, ScheduledRun] = store.scheduled_runs(asked) if asked else {}
    hooks = any(webhook_id_of(run.new) is not None for run in runs)
    names = {each.id: each.name for each in store.webhooks()} if hooks else {}
    return [trigger_of(run.new, scheduled.get(run.new.run_id), names) for run in runs]
