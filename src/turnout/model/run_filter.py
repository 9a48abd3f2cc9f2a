"""Holds the conditions by which stored runs are found."""

from __future__ import annotations

import math

import msgspec

from turnout.model.states import RunState


class RunFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions on runs, all of which must hold. Without conditions it finds every run."""

    workflow: str | None = None
    """A full name or its last segment."""
    among: tuple[str, ...] | None = None
    """Of one of these workflows, by full name; None: of any."""
    states: tuple[RunState, ...] = ()
    """One of these states; empty: any."""
    key: str | None = None
    """The idempotency key."""
    parent: str | None = None
    """The id of the parent run."""
    top_level: bool = False
    """True: no child runs."""
    created_from: float = -math.inf
    """Submitted at this time or later, by the clock of the submitter, in seconds since 1970."""
    created_before: float = math.inf


ALL_RUNS = RunFilter()


class RunChange(msgspec.Struct, frozen=True, gc=False):
    """A change of the state of a run, in the order in which changes became readable."""

    position: int
    """A reader that continues after this position misses no change. The changes of one commit may share it."""
    run_id: str


class ChangeSpan(msgspec.Struct, frozen=True):
    """The positions that a reader of changes can continue after."""

    oldest: int
    """Changes up to this position are not kept."""
    newest: int
    """Every later change gets a higher position."""
