"""A trouble that lasts is spoken of at once, now and then, and when it is over."""

from __future__ import annotations

import logging

import pytest
from kit.clock import Clock

from turnout.rate_limited_log import INTERVAL, RateLimitedLog


def test_it_does_not_flood_the_log_and_says_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock(100.0)
    complaint = RateLimitedLog(logging.getLogger("turnout.test"), clock)
    caplog.set_level(logging.INFO, "turnout.test")
    complaint.recovered("well again")
    for _ in range(1000):
        complaint.failure("no answer from %s", "there")
        clock.now += 2.5 * INTERVAL / 1000
    complaint.recovered("answers %s again", "there")
    complaint.recovered("answers again")
    assert caplog.messages == [
        "no answer from there",
        "no answer from there (401 times in 10 s)",
        "no answer from there (801 times in 20 s)",
        "answers there again, after 1000 failures in 25.0 s",
    ]


def test_the_next_trouble_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    complaint = RateLimitedLog(logging.getLogger("turnout.test"), Clock(100.0))
    for _ in range(2):
        complaint.failure("no answer")
        complaint.recovered("answers again")
    assert [record.levelname for record in caplog.records if record.levelno >= logging.WARNING] == ["WARNING"] * 2
