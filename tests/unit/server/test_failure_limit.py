"""The limit of failures of one address."""

from __future__ import annotations

from turnout.server.failure_limit import FailureLimit


def test_an_address_that_fails_too_often_waits_for_the_end_of_the_period() -> None:
    limit = FailureLimit(failures=2, period=60.0)
    limit.failed("a", 0.0)
    assert limit.retry_after("a", 1.0) is None
    limit.failed("a", 1.0)
    assert limit.retry_after("a", 20.5) == 40 and limit.retry_after("b", 20.5) is None
    assert limit.retry_after("a", 60.0) is None
    limit.failed("a", 61.0)
    assert limit.retry_after("a", 62.0) is None, "a new period has begun"


def test_it_remembers_a_bounded_number_of_addresses() -> None:
    limit = FailureLimit(failures=1, addresses=2)
    for address in "abc":
        limit.failed(address, 0.0)
    assert [limit.retry_after(each, 0.0) is not None for each in "abc"] == [False, True, True]
