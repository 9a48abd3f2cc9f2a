"""What a hub sends and says again: no more than a message may hold, and nothing that brings it down."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from unit.wire.network import done, hello, ids, step

from turnout.wire.documents import Step, StepBatch, StepResults
from turnout.wire.frames import check_of, pack, unpack
from turnout.wire.handshake import HubFacts
from turnout.wire.hub_events import (
    Event,
    HelloReceived,
    ResultsReceived,
    StepNotEncodable,
    StepsLost,
    StepsOverdue,
    StepsReturned,
)
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.messages import Drain, Error, Heartbeat, Held, Message, Received
from turnout.wire.worker_entries import WorkerEntry


class Hub:
    """A hub with one worker, which is this test."""

    def __init__(self, codec: str = "json", credits: int = 10, **facts: int) -> None:
        self.protocol = HubProtocol(HubFacts(hub_id="hub", **facts), lambda: f"s{next(ids)}")  # type: ignore[arg-type]
        self.codec, self.now, self._seq = codec, 0.0, 0
        self.protocol.receive(b"r", pack(hello("w", codecs=(codec,), credits=credits), ""), 0.0)
        for event in self.events():
            if isinstance(event, HelloReceived):
                self.protocol.welcome(event.worker)
        self.said()

    @property
    def worker(self) -> WorkerEntry:
        return self.protocol.workers["w"]

    def hear(self, message: Message) -> None:
        self.protocol.receive(b"r", pack(message, self.worker.session, self.codec), self.now)

    def hear_document(self, kind: str, document: bytes) -> None:
        """A message that no sound worker would send."""
        parts = [kind.encode(), self.worker.session.encode(), document]
        self.protocol.receive(b"r", [*parts, check_of(parts)], self.now)

    def beat(self, *held: tuple[str, Any], credits: int = 10) -> None:
        self._seq += 1
        listed = tuple(Held(token, state) for token, state in held)
        self.hear(Heartbeat(seq=self._seq, credits=credits, in_flight=listed))

    def give(self, *steps: Step, again: bool = False) -> None:
        tokens = {each.token for each in steps} if again else frozenset[str]()
        self.protocol.give(self.worker, steps, self.now, tokens)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.protocol.tick(self.now)

    def events(self) -> list[Event]:
        events, self.protocol.events = self.protocol.events, []
        return events

    def said(self) -> list[Message]:
        out, self.protocol.outbox = self.protocol.outbox, []
        return [unpack(frames, self.codec).message for _, frames in out]

    def sizes(self) -> list[int]:
        return [len(frames[2]) for _, frames in self.protocol.outbox]


def tokens_in(messages: list[Message]) -> list[str]:
    return [each.token for message in messages if isinstance(message, StepBatch) for each in message.steps]


def unsendable(hub: Hub) -> list[StepNotEncodable]:
    return [event for event in hub.events() if isinstance(event, StepNotEncodable)]


def test_steps_that_are_too_large_together_travel_apart_also_when_they_are_said_again() -> None:
    hub = Hub(max_message_bytes=20_000)
    hub.give(*(step(f"{number}.1", args={"x": "x" * 7_000}) for number in range(5)))
    for _ in range(2):
        sizes = hub.sizes()
        assert len(sizes) > 1 and max(sizes) < 20_000
        assert sorted(tokens_in(hub.said())) == [f"{number}.1" for number in range(5)]
        hub.pass_time(3)


@pytest.mark.parametrize(
    ("codec", "value", "kind"), [("json", "x" * 30_000, "TooLarge"), ("msgpack", 2**70, "NotJson")], ids=str
)
def test_a_step_that_no_message_can_hold_is_given_up_and_the_others_go(codec: str, value: Any, kind: str) -> None:
    hub = Hub(codec, max_message_bytes=20_000)
    hub.give(step("a.1"), step("b.1", args={"x": value}), step("c.1"))
    [event] = unsendable(hub)
    assert (event.step.token, event.kind) == ("b.1", kind) and event.reason
    assert sorted(tokens_in(hub.said())) == ["a.1", "c.1"]
    assert sorted(hub.worker.out) == ["a.1", "c.1"]
    hub.pass_time(3)
    assert sorted(tokens_in(hub.said())) == ["a.1", "c.1"] and not unsendable(hub)


@pytest.mark.parametrize("number", [2**64, 10**30, -(2**64)])
@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("heartbeat", '{"seq": %d}'),
        ("heartbeat", '{"seq": 1, "credits": %d}'),
        ("credit", '{"seq": %d, "credits": 1}'),
        ("credit", '{"seq": 1, "credits": %d}'),
        ("log", '{"token": "a.1", "offset": %d, "lines": []}'),
    ],
)
def test_figures_beyond_all_bounds_are_malformed(kind: str, document: str, number: int) -> None:
    hub = Hub("json")
    hub.worker.codec = "json"
    hub.hear_document(kind, (document % number).encode())
    assert hub.protocol.malformed == 1
    [refusal] = hub.said()
    assert isinstance(refusal, Error) and refusal.code == "malformed"


def test_a_token_that_is_no_text_is_not_answered() -> None:
    hub = Hub()
    hub.give(step("a.1"))
    hub.said()
    sound = msgspec.json.encode(done(step("a.1"))).decode()
    bad = '{"step_id": "x", "status": "completed", "metadata": {"token": "\\ud800"}}'
    hub.hear_document(
        "results", f'{{"batch_id": "b", "protocol_version": "1.0", "results": [{sound}, {bad}]}}'.encode()
    )
    [ended] = [event for event in hub.events() if isinstance(event, ResultsReceived)]
    assert [result.token for result in ended.results] == ["a.1"]
    assert hub.said() == []


def test_a_worker_that_is_to_leave_is_told_again_until_it_asks_for_nothing_more() -> None:
    hub = Hub()
    hub.protocol.drain(hub.worker, "deploy")
    assert hub.said() == [Drain("deploy")]
    hub.beat(credits=4)
    assert Drain("deploy") in hub.said(), "it did not hear it"
    hub.beat(credits=0)
    assert Drain("deploy") not in hub.said()


def test_the_silence_of_a_time_in_which_the_hub_itself_was_not_there_does_not_count() -> None:
    hub = Hub()
    hub.give(step("a.1", timeout_ms=1_000))
    hub.pass_time(1)
    hub.beat(("a.1", "running"))
    hub.pass_time(60)
    assert "w" in hub.protocol.workers, "what it said meanwhile is still to be heard"
    assert StepsOverdue not in map(type, hub.events())
    for _ in range(14):
        hub.pass_time(1)
    assert "w" in hub.protocol.workers
    hub.pass_time(2)
    assert not hub.protocol.workers and StepsLost in map(type, hub.events())


def test_what_was_taken_over_is_named_until_its_worker_has_it_no_more() -> None:
    hub = Hub()
    hub.beat(("b.1", "running"))
    hub.protocol.keep(hub.worker, ["b.1"])
    hub.said()
    hub.beat(("b.1", "running"))
    assert hub.said() == [Heartbeat(seq=2, keep=("b.1",))]
    hub.beat()
    hub.said()
    hub.beat()
    assert hub.said() == [Heartbeat(seq=4)]


def test_the_time_between_two_ticks_is_no_excuse_however_short_the_lease_is() -> None:
    hub = Hub(heartbeat_ms=100, lease_ms=500)
    for _ in range(4):
        hub.pass_time(0.25)
    assert not hub.protocol.workers


def test_what_another_hub_may_have_given_before_never_counts_as_not_begun_because_it_is_not_listed() -> None:
    hub = Hub()
    hub.give(step("a.1"), again=True)
    hub.give(step("b.1"))
    hub.events()
    hub.protocol.receive(b"r2", pack(hello("w", codecs=("json",), seq=1), ""), 1.0)
    found = {
        type(event): event.steps[0].token for event in hub.events() if isinstance(event, StepsLost | StepsReturned)
    }
    assert found == {StepsLost: "a.1", StepsReturned: "b.1"}


def test_what_is_given_again_may_begin_also_if_the_worker_has_it_from_the_other_hub() -> None:
    hub = Hub()
    hub.give(step("a.1"), again=True)
    hub.said()
    hub.beat(("a.1", "waiting"))
    assert hub.said() == [Heartbeat(seq=1, keep=("a.1",))]
    hub.hear(StepResults(batch_id="b", protocol_version="1.0", results=(done(step("a.1")),)))
    assert [event.results[0].token for event in hub.events() if isinstance(event, ResultsReceived)] == ["a.1"]


@pytest.mark.parametrize(
    ("again", "listed", "outcome"),
    [(False, False, StepsReturned), (True, True, StepsReturned), (True, False, StepsLost)],
)
def test_what_is_taken_back_and_may_be_another_hubs_never_began_only_if_its_worker_had_named_it(
    again: bool, listed: bool, outcome: type[Event]
) -> None:
    hub = Hub()
    hub.give(step("a.1"), again=again)
    hub.hear(Received(("a.1",)))
    if listed:
        hub.beat(("a.1", "waiting"))
    hub.protocol.take_back(hub.worker, ["a.1"], "paused")
    hub.beat()
    hub.beat()
    assert [type(event) for event in hub.events() if isinstance(event, StepsLost | StepsReturned)] == [outcome]
