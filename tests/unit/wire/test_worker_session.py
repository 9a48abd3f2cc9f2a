"""A worker's session reports its steps at once, in messages that are not too large, and lines before results."""

from __future__ import annotations

from typing import Any

import msgspec
from unit.wire.network import done, hello, step

from turnout.wire.documents import StepResult, StepResults
from turnout.wire.frames import pack, unpack
from turnout.wire.handshake import HubFacts
from turnout.wire.held_steps import HeldSteps
from turnout.wire.messages import Log, Logged, Message, Start, StepBatch, Welcome
from turnout.wire.worker_session import HubClosed, Reconnect, SessionState, WorkerSession


class Side:
    """A session whose hub is this test."""

    def __init__(self, codec: str = "json", **facts: Any) -> None:
        self.held_steps = HeldSteps()
        self.session = WorkerSession(hello("w"), self.held_steps)
        self.codec = codec
        self.greet(**facts)

    def greet(self, hub: str = "hub", release: tuple[str, ...] = (), **facts: Any) -> None:
        self.session.open(0.0)
        seq = unpack(self.session.outbox[-1]).message.seq  # type: ignore[union-attr]
        self.hear(HubFacts(hub_id=hub, **facts).welcome("s", seq, self.codec, release), codec="json")
        self.session.outbox.clear()

    def hear(self, message: Message, codec: str | None = None) -> None:
        self.session.receive(pack(message, "s", codec or self.codec), 0.0)

    def give(self, *tokens: str, **more: Any) -> None:
        steps = tuple(step(token, **more) for token in tokens)
        self.hear(StepBatch(batch_id="b", protocol_version="1.0", steps=steps))
        self.session.outbox.clear()

    def finish(self, token: str, output: Any = None) -> None:
        held_step = self.held_steps.table[token]
        if held_step.state == "waiting":
            self.held_steps.begin(token)
        self.held_steps.finish(token, msgspec.structs.replace(done(held_step.step), output=output))

    def told(self, now: float = 0.0) -> list[Message]:
        self.session.report(self.held_steps.take_changed(), now)
        said = [unpack(frames, self.codec).message for frames in self.session.outbox]
        self.session.outbox.clear()
        return said


def results_in(messages: list[Message]) -> list[StepResult]:
    return [result for each in messages if isinstance(each, StepResults) for result in each.results]


def test_results_are_told_at_once_and_together() -> None:
    side = Side()
    side.give("a.1", "b.1")
    side.finish("a.1")
    side.finish("b.1")
    (message,) = side.told()
    assert [each.token for each in results_in([message])] == ["a.1", "b.1"]
    assert side.told() == []


def test_a_confirmed_start_is_asked_for_at_once_when_there_is_a_place_and_not_before() -> None:
    side = Side()
    side.give("a.1", confirm=True)
    side.session.tick(0.0)
    assert side.told() == []
    side.held_steps.request_start("a.1")
    assert side.told() == [Start(("a.1",))]


def test_all_lines_go_before_the_result_also_those_after_lines_that_wait_for_their_acknowledgement() -> None:
    side = Side()
    side.give("a.1")
    side.held_steps.begin("a.1")
    side.held_steps.add_line("a.1", "stdout", "first")
    side.session.tick(0.0)
    side.session.outbox.clear()
    side.held_steps.add_line("a.1", "stdout", "second")
    side.finish("a.1")
    log, results = side.told()
    assert isinstance(log, Log) and [line.text for line in log.lines] == ["first", "second"]
    assert isinstance(results, StepResults)


def test_many_lines_are_said_in_several_messages_that_follow_on_one_another() -> None:
    side = Side()
    side.give("a.1")
    side.held_steps.begin("a.1")
    for number in range(2_500):
        side.held_steps.add_line("a.1", "stdout", f"{number}" + "x" * (2_000 if number < 1_000 else 0))
    side.finish("a.1")
    logs = [each for each in side.told() if isinstance(each, Log)]
    assert len(logs) >= 3 and [each.offset for each in logs] == [
        sum(len(before.lines) for before in logs[:index]) for index in range(len(logs))
    ]
    assert sum(len(each.lines) for each in logs) == 2_500
    assert all(sum(len(line.text) for line in each.lines) < 1_100_000 for each in logs)


def test_lines_that_were_acknowledged_are_not_said_again() -> None:
    side = Side()
    side.give("a.1")
    side.held_steps.begin("a.1")
    side.held_steps.add_line("a.1", "stdout", "first")
    side.hear(Logged("a.1", 1))
    side.finish("a.1")
    assert not any(isinstance(each, Log) for each in side.told())


def test_results_that_are_too_large_together_travel_apart_and_one_that_is_too_large_alone_fails() -> None:
    side = Side(max_message_bytes=20_000)
    side.give("a.1", "b.1", "c.1")
    side.finish("a.1", "x" * 12_000)
    side.finish("b.1", "y" * 12_000)
    side.finish("c.1", "z" * 30_000)
    told = side.told()
    assert len(told) == 3
    by_token = {each.token: each for each in results_in(told)}
    assert by_token["a.1"].output == "x" * 12_000 and by_token["b.1"].status == "completed"
    failed = by_token["c.1"]
    assert failed.status == "failed" and not failed.metadata.retryable
    assert failed.error is not None and failed.error.type == "TooLarge"


def test_a_number_that_the_codec_cannot_say_fails_its_step_and_no_other() -> None:
    side = Side(codec="msgpack")
    side.give("a.1", "b.1")
    side.finish("a.1", 2**70)
    side.finish("b.1", 2**60)
    by_token = {each.token: each for each in results_in(side.told())}
    assert by_token["b.1"].output == 2**60
    assert by_token["a.1"].status == "failed" and by_token["a.1"].error is not None


def test_what_a_hub_had_given_is_not_taken_over_by_a_welcome_of_the_one_in_its_place() -> None:
    side = Side()
    side.give("a.1", "b.1")
    side.session.connection_lost("gone")
    side.greet("another", release=("b.1",))
    assert [(each.token, each.hub) for each in side.held_steps] == [("a.1", "hub")], "only keep does that"


def test_a_connection_that_is_cut_is_made_anew_and_one_that_is_refused_is_not() -> None:
    side = Side()
    side.session.connection_lost("gone")
    assert side.session.state is SessionState.CLOSED and side.session.actions == [Reconnect("gone")]
    side.session.connection_lost("again")
    side.session.refuse("the key is unknown")
    assert side.session.state is SessionState.REFUSED and side.session.refusal == "the key is unknown"
    assert side.session.actions == [Reconnect("gone"), HubClosed("the key is unknown")]


def test_a_welcome_in_a_codec_that_was_not_offered_is_malformed() -> None:
    side = Side()
    side.session.open(0.0)
    said = HubFacts(hub_id="h").welcome("s", 2, "json", ())
    side.hear(msgspec.structs.replace(said, codec="xml"), codec="json")
    assert isinstance(said, Welcome) and side.session.malformed == 1 and side.session.state is SessionState.CLOSED


def test_results_of_several_batches_travel_apart_each_in_the_order_in_which_they_ended() -> None:
    side = Side()
    for batch_id, tokens in (("b2", ("a.1", "b.1")), ("b1", ("c.1", "d.1"))):
        side.hear(StepBatch(batch_id=batch_id, protocol_version="1.0", steps=tuple(step(token) for token in tokens)))
    side.session.outbox.clear()
    for token in ("b.1", "d.1", "a.1", "c.1"):
        side.finish(token)
    told = side.told()
    assert [
        (each.batch_id, [result.token for result in each.results]) for each in told if isinstance(each, StepResults)
    ] == [
        ("b1", ["d.1", "c.1"]),
        ("b2", ["b.1", "a.1"]),
    ]
    assert side.told(now=0.1) == []
