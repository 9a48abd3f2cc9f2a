"""Declares steps and their results as the documents that handlers of any language know.

In these documents a step is a task and a task is a run. Only this module, ``step_codec`` and ``result_codec`` use these
words so. What is made once for every step is not tracked by the garbage collector: JSON has no cycles.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

StepStatus: TypeAlias = Literal["completed", "failed", "error"]
Outcome: TypeAlias = Literal[
    "timed_out", "cancelled", "skipped", "deferred", "returned", "crashed", "lost", "handler_missing"
]


class StepMetadata(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The attempt: its identity and its limits."""

    token: str
    attempt: int = 0
    """How many attempts of this task began before: 0 is the first."""
    retry_limit: int = 0
    """How many failures are followed by another attempt; the same for all attempts of a task."""
    failures: int = 0
    """How many of the attempts before failed: when they are as many as ``retry_limit``, this is the last one."""
    timeout_ms: int | None = None
    deadline_ms: int | None = None
    idempotency_key: str = ""
    args: dict[str, Any] = {}
    positional: tuple[Any, ...] = ()
    confirm_start: bool = False
    task_name: str = ""
    workflow: str = ""
    labels: dict[str, str] = {}
    shadow: bool = False
    index: int | None = None
    saved: Any = None
    condition: dict[str, Any] | None = None
    """Of a Python body that waits for a condition: what to ask before it is called."""
    context: dict[str, Any] | None = None
    traceparent: str = ""
    """The header of W3C Trace Context that makes the attempt the parent of what the handler does; left out unless
    telemetry is on."""


class Step(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An attempt as a worker receives it."""

    step_id: str
    task_id: str
    step_name: str
    handler_class: str
    metadata: StepMetadata
    handler_config: dict[str, Any] = {}
    task_context: Any = {}
    previous_results: dict[str, Any] = {}

    @property
    def token(self) -> str:
        return self.metadata.token


class StepBatch(msgspec.Struct, frozen=True, kw_only=True):
    """``steps``: what a worker is to do."""

    batch_id: str
    protocol_version: str
    steps: tuple[Step, ...]


class StepError(msgspec.Struct, frozen=True, omit_defaults=True):
    message: str
    type: str = ""
    backtrace: tuple[str, ...] = ()
    mro: tuple[str, ...] = ()
    """Names of the error's classes, most specific first: what ``retry_on`` and ``never_on`` compare."""
    code: str = ""
    """A stable code, of an error that has one."""
    exit_code: int | None = None
    """The exit code of a command that failed."""


class ResultMetadata(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    token: str
    attempt: int = 0
    execution_time_ms: float | None = None
    handler_version: str = ""
    retryable: bool = True
    outcome: Outcome | None = None
    retry_after_ms: int | None = None
    deferral: dict[str, Any] | None = None
    chosen: tuple[str, ...] | None = None


class StepResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of a step as a worker sends it."""

    step_id: str
    status: StepStatus
    metadata: ResultMetadata
    output: Any = None
    error: StepError | None = None

    @property
    def token(self) -> str:
        return self.metadata.token

    def decoded(self, limit: int) -> StepResult:
        """The result with its output as a value; ``limit`` bounds the bytes that are decoded."""
        return self


class StepResults(msgspec.Struct, frozen=True, kw_only=True):
    """``results``: how steps of one batch ended."""

    batch_id: str
    protocol_version: str
    results: tuple[StepResult, ...]
