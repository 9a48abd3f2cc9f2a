"""Retry: how often, how soon, and for which errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import PermanentFailure
from turnout.model.events import ErrorInfo, error_info
from turnout.model.retry import RetryPolicy, backoff_delay, delay_before_retry

shares = st.floats(0, 1)
policies = st.builds(
    RetryPolicy,
    attempts=st.integers(1, 50),
    backoff=st.sampled_from(["fixed", "linear", "exponential"]),
    delay=st.floats(0, 1e6),
    max_delay=st.none() | st.floats(0, 1e6),
    jitter=shares,
)
VALUE_ERROR = error_info(ValueError("no"))


@given(policies, st.integers(1, 10_000), shares)
def test_a_delay_stays_between_zero_and_the_cap(policy: RetryPolicy, failures: int, chance: float) -> None:
    delay = backoff_delay(policy, failures, chance)
    assert delay >= 0
    if policy.max_delay is not None:
        assert delay <= policy.max_delay


@given(policies, st.integers(1, 500))
def test_without_chance_delays_never_shrink(policy: RetryPolicy, failures: int) -> None:
    assert backoff_delay(policy, failures, 0.0) <= backoff_delay(policy, failures + 1, 0.0)


@given(policies, st.integers(1, 500), shares)
def test_jitter_takes_away_no_more_than_its_share(policy: RetryPolicy, failures: int, chance: float) -> None:
    whole = backoff_delay(policy, failures, 0.0)
    assert whole * (1 - policy.jitter) - 1e-6 <= backoff_delay(policy, failures, chance) <= whole


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [("fixed", [2, 2, 2, 2]), ("linear", [2, 4, 6, 7]), ("exponential", [2, 4, 7, 7])],
)
def test_backoffs_grow_as_their_names_say_up_to_the_cap(backoff: str, delays: list[float]) -> None:
    policy = RetryPolicy(attempts=9, backoff=backoff, delay=2, max_delay=7)  # pyright: ignore[reportArgumentType]
    assert [backoff_delay(policy, failures, 0.5) for failures in (1, 2, 3, 4)] == delays


@given(policies, st.integers(1, 100), st.none() | st.floats(0, 100), shares)
def test_attempts_bound_everything(policy: RetryPolicy, failures: int, after: float | None, chance: float) -> None:
    verdict = delay_before_retry(policy, failures, VALUE_ERROR, True, after, chance)
    assert (verdict is None) is (failures >= policy.attempts)


def test_the_default_policy_is_one_attempt() -> None:
    assert delay_before_retry(RetryPolicy(), 1, VALUE_ERROR, True, None, 0.0) is None


def test_what_is_not_retryable_or_permanent_is_not_tried_again() -> None:
    policy = RetryPolicy(attempts=9)
    assert delay_before_retry(policy, 1, VALUE_ERROR, False, None, 0.0) is None
    assert delay_before_retry(policy, 1, error_info(PermanentFailure("no")), True, None, 0.0) is None
    assert delay_before_retry(policy, 1, None, True, None, 0.0) == 0.0


def test_retry_after_overrides_delay_cap_and_lists_of_errors() -> None:
    policy = RetryPolicy(attempts=3, delay=1, max_delay=2, retry_on=("KeyError",), never_on=("ValueError",))
    assert delay_before_retry(policy, 1, VALUE_ERROR, True, 30.0, 0.0) == 30.0
    assert delay_before_retry(policy, 1, VALUE_ERROR, True, -5.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("retry_on", "never_on", "retried"),
    [
        ((), (), True),
        (("builtins.ValueError",), (), True),
        (("ValueError",), (), True),
        (("Exception",), (), True),
        (("KeyError",), (), False),
        (("other.ValueError",), (), False),
        ((), ("ValueError",), False),
        (("ValueError",), ("Exception",), False),
    ],
)
def test_errors_are_matched_by_any_of_their_classes_and_never_on_is_stronger(
    retry_on: tuple[str, ...], never_on: tuple[str, ...], retried: bool
) -> None:
    policy = RetryPolicy(attempts=2, retry_on=retry_on, never_on=never_on)
    assert (delay_before_retry(policy, 1, VALUE_ERROR, True, None, 0.0) is not None) is retried


def test_an_error_without_classes_matches_no_list() -> None:
    assert delay_before_retry(RetryPolicy(2, retry_on=("ValueError",)), 1, ErrorInfo("X", "x"), True, None, 0.0) is None
    assert delay_before_retry(RetryPolicy(2, never_on=("ValueError",)), 1, ErrorInfo("X", "x"), True, None, 0.0) == 0.0
