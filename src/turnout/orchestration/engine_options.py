"""Declares the role of an orchestrator, and what its parts report to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from turnout.authoring.workflow import DEFAULT_TENANT
from turnout.contracts.telemetry import CommitObserver
from turnout.dispatcher.admission import Admission
from turnout.model.limits import LimitSize
from turnout.model.values import MAX_BYTES
from turnout.orchestration.run_requests import NO_SIZES
from turnout.orchestration.stages.claims import ClaimScope
from turnout.orchestration.upkeep.definitions import Refresh

NO_SCOPE = ClaimScope()


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The role of an orchestrator."""

    drives: bool = True
    """False: it starts nothing and claims nothing by itself. What is submitted to it is stored for others."""
    polled: frozenset[str] = frozenset()
    """Executor keys that pollers serve: their tasks are never dispatched from here."""
    scope: ClaimScope = NO_SCOPE
    tenant: str = DEFAULT_TENANT
    refresh: Refresh | None = None
    """Puts changes of what orchestrators share in force here; None: nothing of it is used."""
    max_output_bytes: int = MAX_BYTES
    schedules: bool = False
    """True: it decides the due times of the schedules of its workflows."""
    admission: Admission | None = None
    """Checks where the tasks of new runs go; None: it is not known here."""
    limits: Mapping[str, LimitSize] = NO_SIZES
    """The sizes of limits in the configuration, by their declared names."""
    observer: CommitObserver | None = None
    """Sees every commit that was applied; None without telemetry."""


class EngineCallbacks(msgspec.Struct, frozen=True, kw_only=True):
    """The functions by which parts report to the orchestrator that they belong to."""

    session_lost: Callable[[], None]
    """Called once others have declared this session dead."""
    store_failed: Callable[[], None]
    """Called when commits fail, since the database does not answer."""
    store_answered: Callable[[], None]
    store_outage: Callable[[], str | None]
    """Returns why batches may take long; None if nothing is known to delay them."""
