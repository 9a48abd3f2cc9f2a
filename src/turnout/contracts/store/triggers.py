"""Declares where event triggers are kept, and how a poll is claimed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from turnout.model.triggers import ClaimedPoll, TriggerRow


class TriggerStore(Protocol):
    """Keeps event triggers. A poll is claimed by one session at a time, whichever processes ask."""

    def put_trigger(self, name: str, workflow: str, every: float) -> None:
        """Stores a trigger, due at once; one that is stored keeps its state and gets this interval."""
        ...

    def put_unknown_trigger(self, name: str, workflow: str, every: float, error: str) -> None:
        """Stores why a trigger is not polled, unless it has been: its workflow is not known."""
        ...

    def trigger_delays(self, names: Sequence[str]) -> dict[str, float]:
        """Returns the seconds until each of these may be polled, without those that are paused. A poll that is under
        way has its lease, unless its session has ended."""
        ...

    def claim_poll(self, name: str, holder: str, lease: float) -> ClaimedPoll | None:
        """Claims the poll of a trigger that is due, for one session; None if it is not due, or claimed already."""
        ...

    def finish_poll(self, name: str, revision: int, delay: float, state: Any, runs: int) -> bool:
        """Ends a poll that succeeded, and stores what it keeps. False: it was claimed again meanwhile, so nothing is
        stored."""
        ...

    def fail_poll(self, name: str, revision: int, delay: float, error: str, runs: int) -> bool:
        """Ends a poll that failed; what the trigger keeps stays as it was. False as in ``finish_poll``."""
        ...

    def release_polls(self, holder: str) -> None:
        """Gives up the polls that this session has claimed: they are due again."""
        ...

    def triggers(self) -> list[TriggerRow]:
        """Returns all triggers, by name."""
        ...

    def pause_trigger(self, name: str, actor: str) -> bool:
        """Makes the trigger not due until it is resumed. False: no such trigger is stored."""
        ...

    def resume_trigger(self, name: str) -> bool: ...

    def poll_trigger(self, name: str) -> bool:
        """Makes the trigger due now. False: no such trigger is stored, or it is paused."""
        ...
