"""Declares the events of a hub that its owner acts on, one frozen struct each."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from turnout.wire.documents import Step, StepResult
from turnout.wire.messages import Held, Line, Progress
from turnout.wire.worker_entries import WorkerEntry


class HelloReceived(msgspec.Struct, frozen=True):
    """A worker sent hello: the hub's owner checks which steps of other hubs are still needed, and calls ``welcome``."""

    worker: WorkerEntry
    unknown: tuple[Held, ...]


class CapacityChanged(msgspec.Struct, frozen=True):
    """A worker may have become able to take more."""

    worker: WorkerEntry


class ResultsReceived(msgspec.Struct, frozen=True):
    """Results of steps that this hub gave: commit them, then ``acknowledge``."""

    worker: WorkerEntry
    results: tuple[StepResult, ...]


class ForeignResultsReceived(msgspec.Struct, frozen=True):
    """Results of steps that another hub gave: leave them for the owners of the runs, then ``acknowledge``."""

    worker: WorkerEntry
    results: tuple[StepResult, ...]


class StartRequested(msgspec.Struct, frozen=True):
    """Steps with ``confirm_start``: make sure that they begin once, then ``answer_start``."""

    worker: WorkerEntry
    tokens: tuple[str, ...]


class StepsLost(msgspec.Struct, frozen=True):
    """It is unknown whether these were begun."""

    worker: WorkerEntry
    steps: tuple[Step, ...]
    reason: str


class StepsReturned(msgspec.Struct, frozen=True):
    """These certainly were not begun."""

    worker: WorkerEntry
    steps: tuple[Step, ...]
    reason: str


class StepsWithdrawn(msgspec.Struct, frozen=True):
    """These have begun, or never will: their worker has heard that they are taken back."""

    worker: WorkerEntry
    tokens: tuple[str, ...]


class StepsWaiting(msgspec.Struct, frozen=True):
    """Steps have waited there for long: if others could begin them, ``take_back``."""

    worker: WorkerEntry


class StepNotEncodable(msgspec.Struct, frozen=True):
    """No message can hold this step, now or later."""

    worker: WorkerEntry
    step: Step
    kind: str
    reason: str


class StepsOverdue(msgspec.Struct, frozen=True):
    """These have run for longer than they may, and their worker has not ended them: do not wait for them."""

    worker: WorkerEntry
    steps: tuple[Step, ...]


class LinesReceived(msgspec.Struct, frozen=True):
    """Lines of a step that the worker was given, here or by another hub; none if all of them came before. Store them,
    then say how many are ``logged``."""

    worker: WorkerEntry
    token: str
    first: int
    """The number of the first of these lines."""
    lines: tuple[Line, ...]


class ProgressReceived(msgspec.Struct, frozen=True):
    worker: WorkerEntry
    step: Step
    progress: Progress


class WorkerLeft(msgspec.Struct, frozen=True):
    """A worker is gone."""

    worker: WorkerEntry
    reason: str
    graceful: bool = False
    """The worker sent bye, and holds nothing."""


Event: TypeAlias = (
    HelloReceived
    | CapacityChanged
    | ResultsReceived
    | ForeignResultsReceived
    | StartRequested
    | StepsLost
    | StepsReturned
    | StepsWaiting
    | StepsWithdrawn
    | StepNotEncodable
    | StepsOverdue
    | LinesReceived
    | ProgressReceived
    | WorkerLeft
)
