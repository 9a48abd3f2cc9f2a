"""Reads the events of all runs from the store: each change of the state of a run, with the run as it is now."""

from __future__ import annotations

from turnout.contracts.store import Store
from turnout.server.api.types.runs import run_of
from turnout.server.fan_out import Frame
from turnout.server.sse import frame

PAGE_SIZE = 500
MAX_REPLAYED_PAGES = 20
"""Pages that a client may be behind; for one that is further behind, a new list is cheaper."""
CHANGE = "change"


class ChangeSource:
    """The changes of all runs from a position on. ``begin`` and ``read`` block.

    Changes of one run that are read together are one event, and an event shows the run as it is at the time of the
    read. A run that was deleted meanwhile has none.
    """

    over = False

    def __init__(self, store: Store, position: int | None = None) -> None:
        self._store = store
        self._position = position

    @property
    def position(self) -> int:
        return self._position or 0

    def begin(self) -> str | None:
        """Checks the position; without one, begins at the newest. Returns why it begins elsewhere than asked."""
        span = self._store.change_span()
        asked, self._position = self._position, span.newest
        if asked is None or asked == span.newest:
            return None
        if asked > span.newest:
            return "the position is not one of this database"
        if asked < span.oldest:
            return "events behind this position are not kept any more"
        if len(self._store.run_changes(asked, PAGE_SIZE * MAX_REPLAYED_PAGES)) >= PAGE_SIZE * MAX_REPLAYED_PAGES:
            return "too many events have happened since this position"
        self._position = asked
        return None

    def copy(self) -> ChangeSource:
        return ChangeSource(self._store, self._position)

    def includes(self, frame: Frame) -> bool:
        return frame.position <= (self.position,)

    def read(self) -> list[Frame]:
        changes = self._store.run_changes(self.position, PAGE_SIZE)
        if not changes:
            return []
        latest = {change.run_id: change.position for change in changes}
        runs = {run.new.run_id: run for run in self._store.runs_by_id(list(latest))}
        self._position = changes[-1].position
        return [
            Frame(CHANGE, (position,), frame("run", run_of(runs[run_id]), str(position)), runs[run_id].new.workflow)
            for run_id, position in sorted(latest.items(), key=lambda pair: pair[1])
            if run_id in runs
        ]


def is_of_workflow(frame: Frame, workflow: str | None) -> bool:
    """True if the event is about a run of this workflow, by full name or last segment; None: of any."""
    return workflow is None or frame.subject == workflow or frame.subject.rpartition("::")[2] == workflow
