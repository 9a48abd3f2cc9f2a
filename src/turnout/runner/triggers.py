"""Finds and changes stored event triggers, for the API and for commands."""

from __future__ import annotations

from typing import Literal, TypeAlias

from turnout.contracts.store import TriggerStore
from turnout.errors import TriggerError, TriggerNotFound
from turnout.model.names import suggest
from turnout.model.triggers import TriggerRow

TriggerVerb: TypeAlias = Literal["pause", "resume", "poll"]


def find_trigger(store: TriggerStore, wanted: str) -> TriggerRow:
    """Returns the trigger with this full name, or with this last part of it if it is the only one."""
    rows = store.triggers()
    found = [row for row in rows if row.name == wanted or row.name.endswith(f"::{wanted}")]
    if len(found) > 1:
        names = ", ".join(row.name for row in found)
        raise TriggerNotFound(
            f"{len(found)} triggers are named {wanted!r}: give the full name, one of {names}",
            code="ambiguous_trigger",
            trigger=wanted,
        )
    if not found:
        names = [row.name.rpartition("::")[2] for row in rows]
        raise TriggerNotFound(f"there is no trigger {wanted!r}{suggest(wanted, names)}", trigger=wanted)
    return found[0]


def change_trigger(store: TriggerStore, wanted: str, verb: TriggerVerb, *, actor: str) -> TriggerRow:
    """Pauses, resumes or polls a trigger; servers see it within two seconds. Returns it as it is then."""
    row = find_trigger(store, wanted)
    if verb == "pause":
        store.pause_trigger(row.name, actor)
    elif verb == "resume":
        store.resume_trigger(row.name)
    elif not store.poll_trigger(row.name):
        raise TriggerError(f"trigger {wanted!r} is paused by {row.paused_by}: resume it first", trigger=row.name)
    return find_trigger(store, row.name)
