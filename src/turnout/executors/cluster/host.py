"""Describes the cluster around a supervisor, and what follows when it does not take an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from turnout.model.events import ExecutionResult
from turnout.wire.documents import Step, StepResult
from turnout.wire.result_codec import answer_of
from turnout.wire.step_codec import event_of


class Host(Protocol):
    """The cluster, as a supervisor uses it. All calls are made on the supervisor's event loop."""

    def launch(self, token: str, step: bytes, resources: Mapping[str, float]) -> None:
        """Has a node run this step as soon as one has the resources."""
        ...

    def recall(self, token: str) -> None:
        """Called when a step that was launched, and has not begun, is not needed any more."""
        ...

    def slots(self) -> int:
        """Returns how many attempts the cluster runs at once: what others use of it does not count."""
        ...

    def figures(self) -> dict[str, Any]:
        """Returns the resources of the cluster: ``total``, ``free``, and ``nodes`` with those of each."""
        ...


class ClusterRefused(Exception):
    """The error of an attempt that its cluster does not take, such as one with an amount that it does not know."""


def refused(step: Step, error: Exception) -> StepResult:
    """Returns the failure of a step whose launch has raised. It is not retried: the next would be refused as well."""
    cause = ClusterRefused(f"the cluster does not take it: {type(error).__name__}: {error}")
    return answer_of(step, ExecutionResult.failed(event_of(step), cause, retryable=False))
