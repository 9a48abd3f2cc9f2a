"""Finds limits by name, for the command line and the API."""

from __future__ import annotations

from turnout.contracts.store import LimitStore
from turnout.errors import InvalidInput
from turnout.model.limits import QUEUE
from turnout.model.names import suggest
from turnout.model.slots import LimitDetail


def find_limit(store: LimitStore, name: str) -> LimitDetail:
    """Returns the limit with this name; a queue also by its own name. Raises InvalidInput if there is none."""
    found = store.limit(name) or store.limit(f"{QUEUE}{name}")
    if found is None:
        known = [view.name for view in store.limits()]
        raise InvalidInput(
            f"there is no limit {name!r} that is configured, declared, held or waited for{suggest(name, known)}",
            code="limit_not_found",
            limit=name,
        )
    return found
