"""Holds the policies of workflows and steps: conditions, continuing, retrying and repeating."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MAX_RETRIES = 1_000
MAX_REPEATS = 100_000
MAX_SECONDS = 10 * 366 * 86_400

Seconds = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]
ExitCode = Annotated[int, Meta(ge=0, le=255)]


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition of a workflow or a step. Without ``expected`` it is a command that must succeed."""

    condition: Annotated[str, Meta(min_length=1)]
    """A command, or with ``expected`` a text with variables and command substitutions."""
    expected: str | None = None
    """The text that the condition must have, or ``re:`` and a regular expression."""
    negate: bool = False
    """True: the condition must not hold."""


class ContinueOn(msgspec.Struct, frozen=True, kw_only=True):
    """The ends of a step after which its dependents run all the same."""

    failure: bool = False
    """Continue after a failure."""
    skipped: bool = False
    """Continue if the step was skipped by its preconditions."""
    exit_code: tuple[ExitCode, ...] = ()
    """Continue after these exit codes."""
    output: tuple[str, ...] = ()
    """Continue if the output contains one of these texts, or matches one that begins with ``re:``."""
    mark_success: bool = False
    """Count the step as completed if one of the above applies."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Further attempts of a failed step."""

    limit: Annotated[int, Meta(ge=0, le=MAX_RETRIES)]
    """The number of retries after the first attempt."""
    interval_sec: Seconds = 0
    """Seconds before the first retry."""
    backoff: Annotated[float, Meta(ge=1, le=100)] = 1.0
    """The factor by which each further interval grows; ``true`` is 2, ``false`` is 1."""
    max_interval_sec: Seconds | None = None
    """The longest interval."""
    exit_code: tuple[ExitCode, ...] = ()
    """The exit codes that are retried; empty: all."""


class RunRetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Further runs of a failed workflow."""

    limit: Annotated[int, Meta(ge=0, le=MAX_RETRIES)]
    """The number of further runs."""
    interval_sec: Seconds = 0
    """Seconds before the first further run."""
    backoff: Annotated[float, Meta(ge=1, le=100)] = 1.0
    """The factor by which each further interval grows; ``true`` is 2, ``false`` is 1."""
    max_interval_sec: Seconds | None = None
    """The longest interval."""


class RepeatPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Repetitions of a step that has completed."""

    repeat: Literal["while", "until"]
    """``while`` the condition holds, or ``until`` it does; without a condition ``while`` the step succeeds."""
    condition: str | None = None
    """A command, or with ``expected`` a text with variables and command substitutions."""
    expected: str | None = None
    """The text that the condition must have, or ``re:`` and a regular expression."""
    exit_code: tuple[ExitCode, ...] = ()
    """The exit codes that count as the condition, if there is no ``condition``."""
    interval_sec: Seconds = 0
    """Seconds between two executions."""
    backoff: Annotated[float, Meta(ge=1, le=100)] = 1.0
    """The factor by which each further interval grows; ``true`` is 2, ``false`` is 1."""
    max_interval_sec: Seconds | None = None
    """The longest interval."""
    limit: Annotated[int, Meta(ge=1, le=MAX_REPEATS)] | None = None
    """The greatest number of executions, the first included."""
