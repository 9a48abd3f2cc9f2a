"""Scripts played without sockets: what passes, what fails and why, what the hub does by itself."""

from __future__ import annotations

import json
from typing import Any

from turnout.conformance.actions import Drop, Kill, Look, Post, Relaunch, Verdict
from turnout.conformance.hub import frames_of
from turnout.conformance.interpreter import GRACE, Player
from turnout.conformance.script import read
from turnout.conformance.step_shorthand import batch
from turnout.wire.frames import unpack

HELLO: dict[str, Any] = {
    "versions": ["1.0"],
    "worker_id": "w",
    "seq": 1,
    "codecs": ["msgpack", "json"],
    "credits": 8,
    "handlers": ["*"],
}


class Play:
    """A script, and a worker that says what it is told to."""

    def __init__(self, *script: dict[str, Any], **more: Any) -> None:
        text = json.dumps({"about": "a test", "script": list(script), **more})
        self.now = 0.0
        self.player = Player(read("test", text), {"dir": "/tmp/x"}, self.now)

    def say(
        self, kind: str, body: dict[str, Any], session: str = "s1-1", route: bytes = b"r", codec: str = "json"
    ) -> Play:
        self.player.receive(1, route, frames_of(kind, "" if kind == "hello" else session, body, codec), self.now)
        return self

    def greeted(self) -> Play:
        return self.say("hello", HELLO).say("heartbeat", {"seq": 1, "credits": 8, "in_flight": []})

    def wait(self, seconds: float) -> Play:
        """Time passes as it does on a machine that is not busy."""
        ends = self.now + seconds
        while self.now < ends:
            self.freeze(min(0.1, ends - self.now))
        return self

    def freeze(self, seconds: float) -> Play:
        """The kit does not run for so long."""
        self.now += seconds
        self.player.tick(self.now)
        return self

    def sent(self, codec: str = "json") -> list[str]:
        """The kinds of what the hub has sent since the last time."""
        return [unpack(act.frames, codec).kind for act in self.player.take_acts() if isinstance(act, Post)]

    @property
    def verdict(self) -> Verdict | None:
        return self.player.verdict

    @property
    def reason(self) -> str:
        return self.player.reason


GREET: dict[str, Any] = {"greet": {}}
ECHO: dict[str, Any] = {"give": [{"token": "1.1", "handler": "conformance.echo"}]}


def result(token: str = "1.1", **more: Any) -> dict[str, Any]:
    (given,) = batch("batch_1", [{"token": token, "handler": "conformance.echo"}], "test")["steps"]
    metadata = {"token": token, "attempt": given["metadata"]["attempt"], **more.pop("metadata", {})}
    one = {
        "step_id": given["step_id"],
        "status": "completed",
        "output": None,
        "metadata": metadata,
        **more,
    }
    return {"batch_id": "batch_1", "protocol_version": "1.0", "results": [one]}


def test_a_greeting_is_hello_welcome_and_heartbeat() -> None:
    play = Play(GREET)
    assert play.sent() == []
    play.say("hello", HELLO)
    assert play.sent() == ["welcome"]
    play.say("heartbeat", {"seq": 1, "credits": 8})
    assert play.verdict is Verdict.PASSED and play.sent() == ["heartbeat"]


def test_what_does_not_come_in_time_fails_and_what_came_instead_is_said() -> None:
    play = Play(GREET, {"expect": {"kind": "error", "body": {"code": "x"}}, "within_ms": 2000}).greeted()
    play.say("error", {"code": "y"}).wait(1.9)
    assert play.verdict is None
    play.wait(0.2)
    assert play.verdict is Verdict.FAILED
    assert "error" in play.reason and "code: expected 'x', got 'y'" in play.reason


def test_what_came_before_it_was_expected_counts_unless_it_says_how_things_are() -> None:
    play = Play(
        GREET,
        ECHO,
        {"expect": {"kind": "results"}},
        {"expect": {"kind": "received"}},
        {"expect": {"kind": "heartbeat"}},
    )
    play.greeted().say("received", {"tokens": ["1.1"]}).say("results", result())
    assert play.verdict is None, "the heartbeat of the greeting is an old one"
    assert play.say("heartbeat", {"seq": 2}).verdict is Verdict.PASSED


def test_the_very_next_message_of_a_kind_must_match_where_the_script_says_so() -> None:
    script = {"expect": {"kind": "heartbeat", "body": {"credits": 4}}, "next": True}
    assert Play(GREET, script).greeted().say("heartbeat", {"seq": 2, "credits": 8}).verdict is Verdict.FAILED
    assert Play(GREET, script).greeted().say("heartbeat", {"seq": 2, "credits": 4}).verdict is Verdict.PASSED


def test_an_ability_that_is_missing_skips_the_session() -> None:
    wanted = {"kind": "hello", "body": {"codecs": {"$includes": ["msgpack"]}}}
    play = Play({"expect": wanted, "next": True, "or_skip": "no msgpack"}).say("hello", {**HELLO, "codecs": ["json"]})
    assert (play.verdict, play.reason) == (Verdict.SKIPPED, "no msgpack")


def test_nothing_means_nothing_for_so_long() -> None:
    script = {"nothing": [{"kind": "bye"}], "for_ms": 500}
    beats = Play(GREET, script).greeted().say("heartbeat", {"seq": 2}).say("heartbeat", {"seq": 3})
    assert beats.wait(0.4).verdict is None and beats.wait(0.1).verdict is Verdict.PASSED
    play = Play(GREET, script).greeted().wait(0.4).say("bye", {"reason": "x"})
    assert play.verdict is Verdict.FAILED and "bye came, and should not have" in play.reason


def test_the_end_of_the_program_is_awaited_or_fails_the_session() -> None:
    play = Play(GREET, {"signal": "TERM"}, {"exit": 0}).greeted()
    assert [act for act in play.player.acts if isinstance(act, Kill)] == [Kill("TERM")]
    play.player.exited(0, play.now)
    assert play.verdict is Verdict.PASSED
    play = Play(GREET, {"exit": "nonzero"}).greeted()
    play.player.exited(0, play.now)
    assert play.verdict is Verdict.FAILED and "code 0; expected nonzero" in play.reason


def test_the_last_messages_of_a_program_that_has_ended_count() -> None:
    script = (GREET, {"expect": {"kind": "bye"}}, {"exit": 0})
    play = Play(*script).greeted()
    play.player.exited(0, play.now)
    assert play.verdict is None
    assert play.say("bye", {}).verdict is Verdict.PASSED
    play = Play(*script).greeted()
    play.player.exited(0, play.now)
    assert play.wait(GRACE).verdict is Verdict.FAILED and "ended with code 0; expected bye" in play.reason


def test_a_file_is_looked_at_until_it_is_right_or_cannot_become_right() -> None:
    play = Play({"file": "ran", "lines": ["a", "b"]})
    assert play.player.acts == [Look("ran")]
    play.player.looked(None, play.now)
    play.player.looked(["a"], play.now)
    assert play.verdict is None
    play.player.looked(["a", "b"], play.now)
    assert play.verdict is Verdict.PASSED
    play = Play({"file": "ran", "lines": ["a"]})
    play.player.looked(["a", "a"], play.now)
    assert play.verdict is Verdict.FAILED and "it has ['a', 'a']" in play.reason


def test_after_a_cut_the_session_is_over_and_who_goes_on_in_it_is_told() -> None:
    play = Play(GREET, {"cut": "restart"}, {"expect": {"kind": "hello", "body": {"seq": 2}}}).greeted()
    assert Drop(1, down=False) in play.player.acts
    play.sent()
    play.say("heartbeat", {"seq": 2}, route=b"r2")
    assert play.sent() == ["error"]
    assert play.say("hello", {**HELLO, "seq": 2}, route=b"r2").verdict is Verdict.PASSED


def test_a_welcome_with_another_seq_opens_no_session() -> None:
    play = Play({"expect": {"kind": "hello"}}, {"welcome": {"seq": 7, "session": "x"}}, {"pause_ms": 1000}).say(
        "hello", HELLO
    )
    assert play.sent() == ["welcome"]
    play.say("heartbeat", {"seq": 1}, session="x")
    assert play.verdict is Verdict.FAILED and "never given" in play.reason


def test_a_hello_that_comes_again_gets_the_same_welcome_again() -> None:
    play = Play(GREET, {"pause_ms": 1000}).say("hello", HELLO).say("hello", HELLO)
    first, second = (act.frames for act in play.player.acts if isinstance(act, Post))
    assert first == second


def test_after_a_welcome_that_names_it_messages_are_msgpack() -> None:
    play = Play({"greet": {"codec": "msgpack"}}, {"pause_ms": 1000}).say("hello", HELLO)
    play.sent()
    play.say("heartbeat", {"seq": 1}, codec="msgpack")
    assert play.sent("msgpack") == ["heartbeat"]
    play.say("heartbeat", {"seq": 2}, codec="json")
    assert play.verdict is Verdict.FAILED and "malformed" in play.reason


def test_lines_are_put_together_by_their_offsets_and_logged() -> None:
    play = Play(GREET, ECHO, {"lines_of": "1.1", "texts": ["a", "b"]}).greeted()
    play.say("log", {"token": "1.1", "offset": 1, "lines": [{"stream": "stdout", "text": "b"}]})
    assert play.verdict is None
    play.say("log", {"token": "1.1", "offset": 0, "lines": [{"stream": "stdout", "text": "a"}]})
    assert play.verdict is Verdict.PASSED
    assert play.sent()[-2:] == ["logged", "logged"]


def test_no_session_takes_longer_than_it_may() -> None:
    play = Play({"pause_ms": 100_000}, seconds=5).wait(5.1)
    assert play.verdict is Verdict.FAILED and "took too long" in play.reason


def broken(kind: str, body: dict[str, Any]) -> str:
    """What is said of a worker that sends this after it was given a step."""
    play = Play(GREET, ECHO, {"pause_ms": 1000}).greeted().say(kind, body)
    assert play.verdict is Verdict.FAILED
    return play.reason


def test_rules_that_hold_in_every_session_are_looked_after() -> None:
    assert "seq 3 follows 1" in broken("heartbeat", {"seq": 3})
    assert "received names '9.9'" in broken("received", {"tokens": ["9.9"]})
    assert "ack is not for a hub" in broken("ack", {"tokens": ["1.1"]})
    assert "never given" in broken("results", result("9.9"))
    assert "no error with a message" in broken("results", result(status="failed"))
    outcome = result(status="failed", error={"message": "x"}, metadata={"outcome": "returned"})
    assert "failed with outcome 'returned'" in broken("results", outcome)
    assert "attempt=33" in broken("results", result(metadata={"attempt": 33}))
    assert "there is no message 'tomorrow'" in broken("tomorrow", {})
    assert "malformed" in broken("credit", {"seq": 2})
    assert "no stream 'noise'" in broken(
        "log", {"token": "1.1", "offset": 0, "lines": [{"stream": "noise", "text": ""}]}
    )
    assert "worker_id was 'w'" in broken("hello", {**HELLO, "worker_id": "other"})
    assert "the codec json" in broken("hello", {**HELLO, "codecs": ["msgpack"]})


def test_a_message_that_is_larger_than_the_welcome_allows_breaks_a_rule() -> None:
    play = Play({"greet": {"max_message_bytes": 1000}}, ECHO, {"pause_ms": 1000}).greeted()
    assert play.say("results", result(output="x" * 500)).verdict is None
    assert "max_message_bytes is 1000" in play.say("results", result(output="x" * 1000)).reason


def test_the_first_number_of_a_session_is_1() -> None:
    play = Play(GREET, {"pause_ms": 1000}).say("hello", HELLO).say("heartbeat", {"seq": 2, "credits": 8})
    assert "seq 2 follows 0" in play.reason


def test_a_message_that_comes_too_early_fails_the_session() -> None:
    script = {"expect": {"kind": "credit"}, "not_before_ms": 500}
    credit = {"seq": 2, "credits": 4}
    assert Play(GREET, script).greeted().wait(0.6).say("credit", credit).verdict is Verdict.PASSED
    assert "not before 500 ms" in Play(GREET, script).greeted().wait(0.4).say("credit", credit).reason


def test_a_program_that_is_started_again_is_another_worker() -> None:
    script = (GREET, ECHO, {"signal": "KILL"}, {"exit": "any"}, {"launch": "again"}, GREET)
    plays = [Play(*script).greeted() for _ in range(3)]
    for play in plays:
        play.player.exited(-9, play.now)
        assert Relaunch() in play.player.acts
    same, other, knowing = plays
    assert "'w' is that of an earlier process" in same.say("hello", HELLO, route=b"r2").reason
    hello = {**HELLO, "worker_id": "w2"}
    other.say("hello", hello, route=b"r2").say("heartbeat", {"seq": 1, "credits": 8}, session="s1-2", route=b"r2")
    assert other.verdict is Verdict.PASSED
    held = [{"token": "1.1", "state": "done"}]
    assert "which was never given" in knowing.say("hello", {**hello, "in_flight": held}, route=b"r2").reason


def test_a_stream_gives_no_more_than_the_credits_and_ends_with_the_last_result() -> None:
    play = Play({"greet": {}}, {"stream": {"count": 3, "handler": "conformance.echo", "prefix": "s"}})
    play.say("hello", {**HELLO, "credits": 2}).say("heartbeat", {"seq": 1, "credits": 2})
    assert play.sent() == ["welcome", "heartbeat", "steps"]
    play.say("results", result("s1.1"))
    assert play.sent() == ["ack", "steps"] and play.verdict is None
    second = {**result("s3.1"), "batch_id": "batch_2"}
    assert play.say("results", result("s2.1")).say("results", second).verdict is Verdict.PASSED


def test_a_result_that_changes_breaks_a_rule() -> None:
    play = Play(GREET, ECHO, {"pause_ms": 1000}).greeted().say("results", result(output=1))
    assert play.verdict is None
    assert "was ('completed', 1) and is ('completed', 2) now" in play.say("results", result(output=2)).reason


def test_a_window_is_as_long_as_the_heartbeats_that_fit_in_it() -> None:
    """A program that does not run says nothing, and keeps no rule by that."""
    play = Play(GREET, {"nothing": [{"kind": "bye"}], "for_ms": 500}).greeted().wait(2).say("heartbeat", {"seq": 2})
    assert play.wait(0.1).verdict is None
    assert play.say("heartbeat", {"seq": 3}).wait(0.1).verdict is Verdict.PASSED
    silent = Play(GREET, {"nothing": [{"kind": "bye"}], "for_ms": 500}).greeted().wait(10.6)
    assert silent.verdict is Verdict.FAILED and "0 heartbeats came" in silent.reason


def test_everything_that_came_before_the_end_of_a_window_counts() -> None:
    play = Play({"expect": {"kind": "hello"}}, {"nothing": [{"kind": "hello"}], "for_ms": 500}).say("hello", HELLO)
    play.now += 3
    play.say("hello", {**HELLO, "seq": 2}, route=b"r2")
    assert play.verdict is Verdict.FAILED and play.player.disturbance == ""


def test_a_pause_that_ends_late_disturbs_the_session() -> None:
    def play() -> Play:
        return Play(GREET, {"pause_ms": 900}, ECHO, {"pause_ms": 100}).greeted()

    assert play().freeze(0.8).wait(0.4).player.disturbance == "", "it ended in time"
    late = play().wait(0.8).freeze(0.7).wait(0.2)
    assert late.verdict is Verdict.PASSED and "a pause was 0.7 s too long" in late.player.disturbance
    done_late = play().wait(0.9).freeze(0.7).wait(0.2)
    assert "a pause was 0.7 s too long" in done_late.player.disturbance, "the step after it may have been done late"


def test_a_limit_that_passed_while_the_kit_did_not_run_disturbs_the_session() -> None:
    credit = {"seq": 2, "credits": 4}
    soon, late = ({"expect": {"kind": "credit"}, limit: 900} for limit in ("within_ms", "not_before_ms"))
    assert Play(GREET, soon).greeted().freeze(0.8).say("credit", credit).player.disturbance == ""
    assert (
        "did not run the kit for 1.0 s"
        in Play(GREET, soon).greeted().freeze(1).say("credit", credit).player.disturbance
    )
    failed = Play(GREET, soon).greeted().freeze(0.8).wait(0.2)
    assert failed.verdict is Verdict.FAILED and failed.player.disturbance
    assert Play(GREET, soon).greeted().wait(1).player.disturbance == ""
    assert Play(GREET, late).greeted().freeze(0.8).wait(1).say("credit", credit).player.disturbance == ""
    assert Play(GREET, late).greeted().freeze(0.8).wait(0.2).say("credit", credit).player.disturbance


def test_the_time_in_which_the_kit_did_not_run_does_not_count_for_what_must_come() -> None:
    play = Play(GREET, ECHO, {"expect": {"kind": "results"}}, seconds=20).greeted().wait(5).freeze(14).wait(4.9)
    assert play.verdict is None and play.player.disturbance == ""
    assert play.say("results", result()).verdict is Verdict.PASSED


def test_heartbeats_that_are_answered_late_disturb_a_session_with_a_short_lease() -> None:
    script = ({"greet": {"lease_ms": 6000}}, ECHO, {"expect": {"kind": "results"}})
    assert "answered 3.1 s late" in Play(*script).greeted().freeze(3.1).player.disturbance
    assert Play(*script).greeted().freeze(2.9).player.disturbance == ""
    unanswered = Play(script[0], {"answer": {"heartbeat": False}}, *script[1:])
    assert unanswered.greeted().freeze(3.1).player.disturbance == ""


def test_hellos_of_several_connections_are_taken_by_their_number_whatever_their_order() -> None:
    script = ({"expect": {"kind": "hello"}, "connections": 2}, {"welcome": {}}, {"expect": {"kind": "hello"}})
    play = (
        Play(*script)
        .say("hello", {**HELLO, "seq": 2}, route=b"second")
        .say("hello", {**HELLO, "seq": 2}, route=b"second")
    )
    assert play.sent() == [] and play.verdict is None
    play.say("hello", HELLO, route=b"first")
    assert [act.route for act in play.player.take_acts() if isinstance(act, Post)] == [b"first"]
    assert play.verdict is Verdict.PASSED


def test_the_time_in_which_the_kit_writes_a_message_is_no_part_of_the_step_after_it() -> None:
    play = Play(GREET, ECHO, {"expect": {"kind": "credit"}, "not_before_ms": 900}).greeted()
    play.now += 2
    play.player.acting(play.now)
    assert "after 0.80 s; not before 900 ms" in play.wait(0.8).say("credit", {"seq": 2, "credits": 4}).reason
    assert play.player.disturbance == ""
