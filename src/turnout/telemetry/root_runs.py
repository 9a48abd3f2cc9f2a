"""Finds the topmost ancestor of a run, whose id is the id of the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from turnout.model.rows import NewRun

FindRun: TypeAlias = Callable[[str], NewRun | None]

MAX_KNOWN = 10_000
"""Runs of which the ancestor is remembered."""


class RootRuns:
    """The topmost ancestors of runs. Used from any thread."""

    def __init__(self, in_memory: FindRun, stored: FindRun) -> None:
        self._in_memory = in_memory
        self._stored = stored
        self._known: dict[str, str] = {}
        """By the id of a run that has a parent with a parent: its topmost ancestor."""

    def of(self, new: NewRun, *, read: bool = True) -> str | None:
        """Returns the topmost ancestor. A run whose ancestors this orchestrator does not own is looked up in the store,
        once; None if it would have to be, and ``read`` is false."""
        if new.parent_run is None:
            return new.run_id
        if new.depth <= 1:
            return new.parent_run
        known = self._known.get(new.parent_run)
        if known is not None:
            return known
        parent = self._in_memory(new.parent_run)
        if parent is None and not read:
            return None
        parent = parent or self._stored(new.parent_run)
        # The parent was deleted meanwhile: the trace begins there.
        root = new.parent_run if parent is None else self.of(parent, read=read)
        if root is not None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[new.parent_run] = root
        return root
