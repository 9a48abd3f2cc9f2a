"""Sessions that a busy machine disturbed are played again, and never pass."""

from __future__ import annotations

import pytest

from turnout.conformance import session_runner
from turnout.conformance.actions import Verdict
from turnout.conformance.script import sessions
from turnout.conformance.session_runner import MAX_PLAYS, Outcome, play
from turnout.conformance.trace import TraceLine

BUSY = "step 6 of 18 stood still for 0.8 s"


def outcome(verdict: Verdict, disturbance: str = "", reason: str = "") -> Outcome:
    trace = [TraceLine(0.1, 1, "←", "hello")]
    return Outcome("echo", "", verdict, 2.0, reason, trace, "", disturbance)


def judged(monkeypatch: pytest.MonkeyPatch, *plays: Outcome) -> Outcome:
    left = iter(plays)
    monkeypatch.setattr(session_runner, "_play_once", lambda *_: next(left))
    found = play(sessions(["echo"])[0], ["true"])
    assert list(left) == []
    return found


def test_a_session_that_was_not_disturbed_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for verdict in Verdict:
        assert judged(monkeypatch, outcome(verdict)) == outcome(verdict)


def test_a_session_that_was_disturbed_is_played_again_and_the_trace_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch, outcome(Verdict.PASSED, BUSY), outcome(Verdict.FAILED, BUSY), outcome(Verdict.PASSED))
    assert (found.verdict, found.seconds, found.reason) == (Verdict.PASSED, 6.0, "")
    assert [each.text for each in found.trace] == [f"played again: {BUSY}"] * 2 + ["hello"]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_machine_that_stays_too_busy_fails_the_session(monkeypatch: pytest.MonkeyPatch, verdict: Verdict) -> None:
    found = judged(monkeypatch, *[outcome(verdict, BUSY, "results came, and should not have")] * MAX_PLAYS)
    assert found.verdict is Verdict.FAILED
    assert found.reason.startswith(f"this machine was too busy: {BUSY}")
    assert ("results came" in found.reason) is (verdict is Verdict.FAILED)
