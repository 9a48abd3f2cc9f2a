"""Decides whether a failed attempt is retried, and after what delay."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from turnout.model.events import ErrorInfo

Backoff: TypeAlias = Literal["fixed", "linear", "exponential"]

PERMANENT = "turnout.errors.PermanentFailure"
MAX_DOUBLINGS = 62


class RetryPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """The number of attempts of a task and the delays between them. ``RetryPolicy()`` is one attempt, no retry."""

    attempts: int = 1
    """The number of attempts, the first included."""
    backoff: Backoff = "fixed"
    delay: float = 0.0
    """Seconds before the second attempt."""
    max_delay: float | None = None
    jitter: float = 0.0
    """The share (0 to 1) of each delay that may be subtracted at random."""
    retry_on: tuple[str, ...] = ()
    """``module.qualname`` of exception classes (a bare name is a builtin); empty: all of them."""
    never_on: tuple[str, ...] = ()
    """As ``retry_on``, over which it takes precedence."""
    factor: float = 2.0
    """With exponential backoff: the factor by which each further delay grows."""


def last_attempt(policy: RetryPolicy, attempt: int, failures: int) -> int:
    """Returns the ordinal of the last attempt that the policy allows, if every further attempt fails."""
    return attempt + max(0, policy.attempts - 1 - failures)


def backoff_delay(policy: RetryPolicy, failures: int, random01: float) -> float:
    """Returns the seconds to wait after the ``failures``-th failure (from 1); ``random01`` is a number in 0..1."""
    steps = max(failures, 1)
    match policy.backoff:
        case "fixed":
            delay = policy.delay
        case "linear":
            delay = policy.delay * steps
        case "exponential":
            delay = policy.delay * _power(policy.factor, steps - 1)
    if policy.max_delay is not None:
        delay = min(delay, policy.max_delay)
    return max(delay * (1.0 - policy.jitter * random01), 0.0)


def _power(factor: float, exponent: int) -> float:
    """Returns the power, bounded so that no number of failures overflows it."""
    if factor == 2.0:
        return float(2 ** min(exponent, MAX_DOUBLINGS))
    return 1.0 if factor <= 1.0 else factor ** min(exponent, MAX_DOUBLINGS / math.log2(factor))


def delay_before_retry(
    policy: RetryPolicy,
    failures: int,
    error: ErrorInfo | None,
    retryable: bool,
    retry_after: float | None,
    random01: float,
) -> float | None:
    """Returns the seconds until the next attempt; None if the task has failed. ``failures`` counts this failure too.

    ``RetryAfter`` overrides the lists of exceptions and the backoff, but not the number of attempts.
    """
    if not retryable or failures >= policy.attempts:
        return None
    kinds = frozenset(error.mro) if error is not None else frozenset[str]()
    if PERMANENT in kinds:
        return None
    if retry_after is not None:
        return max(retry_after, 0.0)
    if _matches(policy.never_on, kinds):
        return None
    if policy.retry_on and not _matches(policy.retry_on, kinds):
        return None
    return backoff_delay(policy, failures, random01)


def _matches(names: Iterable[str], kinds: frozenset[str]) -> bool:
    return any((name if "." in name else f"builtins.{name}") in kinds for name in names)
