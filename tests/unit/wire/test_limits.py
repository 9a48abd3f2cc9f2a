"""A message that holds too much costs little to refuse, and its sender is not heard again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import turnout.wire
from turnout.model.values import MAX_BYTES
from turnout.wire.documents import StepResults
from turnout.wire.frames import JSON, MSGPACK, check_of, pack, read, unpack
from turnout.wire.handshake import HubFacts
from turnout.wire.held_steps import HeldSteps
from turnout.wire.hub_events import HelloReceived, WorkerLeft
from turnout.wire.hub_sessions import SUSPENSION_SECONDS, HubProtocol
from turnout.wire.limits import LIMITS, MAX_REPLY_TOKENS, MAX_RESULTS
from turnout.wire.messages import ALWAYS_JSON, KINDS, Ack, Heartbeat, Held, Hello, Malformed, OverLimit, Start, Welcome
from turnout.wire.topics import read_results
from turnout.wire.worker_session import Reconnect, SessionState, WorkerSession
from turnout.worker.connection import Connection
from turnout.worker.settings import WorkerSettings

VECTORS = json.loads((Path(turnout.wire.__file__).parent / "vectors" / "limits.json").read_text())

MANY = 300_000


def frames(kind: str, session: str, body: bytes) -> list[bytes]:
    parts = [kind.encode(), session.encode(), body]
    return [*parts, check_of(parts)]


def listing(*entries: bytes) -> bytes:
    return b'{"batch_id":"b","protocol_version":"1.0","results":[' + b",".join(entries) + b"]}"


ATTACKS: dict[str, tuple[str, bytes]] = {
    "bad results": (JSON, listing(*[b'{"metadata":{"token":"t"}}'] * MANY)),
    "sound results": (JSON, listing(*[b'{"step_id":"","status":"failed","metadata":{"token":""}}'] * MANY)),
    "numbers": (JSON, listing(*[b"1"] * MANY)),
    "brackets": (JSON, b"[" * 15_000_000),
    "brackets in results": (JSON, b'{"batch_id":"b","results":' + b"[" * 15_000_000),
    "brackets, then quotes": (JSON, b'{"results":' + b"[" * 5_000 + b'"' * 15_000_000),
    "nils": (MSGPACK, b"\x82\xa8batch_id\xa1b\xa7results\xdd" + (15_000_000).to_bytes(4, "big") + b"\xc0" * 15_000_000),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_results_without_end_are_over_the_limit(attack: str) -> None:
    codec, body = ATTACKS[attack]
    for lazily in (False, True):
        with pytest.raises(OverLimit):
            read("results", "s", body, codec, lazily=lazily)


@pytest.mark.parametrize(
    "kind", [kind for kind, message in KINDS.items() if set(message.__struct_fields__) & set(LIMITS)]
)
def test_every_list_of_a_message_is_bounded(kind: str) -> None:
    fields = [name for name in KINDS[kind].__struct_fields__ if name in LIMITS]
    for field in fields:
        document: dict[str, Any] = {name: _sample(name) for name in KINDS[kind].__struct_fields__}
        document[field] = [_sample(field)[0]] * (LIMITS[field] + 1)
        with pytest.raises(OverLimit, match=f"{kind} has .* {field}; the limit is"):
            unpack(frames(kind, "s", msgspec.json.encode(document)))


def _sample(field: str) -> Any:
    metadata = {"token": "t"}
    known: dict[str, Any] = {
        "results": [{"step_id": "", "status": "failed", "metadata": metadata}],
        "steps": [{"step_id": "", "task_id": "", "step_name": "", "handler_class": "", "metadata": metadata}],
        "lines": [{"stream": "stdout", "text": ""}],
        "in_flight": [{"token": "t", "state": "done"}],
        "labels": {},
        "total": None,
        "retry": True,
        "done": 1.0,
    }
    lists = {*LIMITS, "handlers"} - set(known)
    numbers = {
        name for message in KINDS.values() for name, kind in message.__annotations__.items() if "int" in str(kind)
    }
    if field in known:
        return known[field]
    if field in lists:
        return ["x"]
    return 1 if field in numbers | {"seq", "credits", "offset"} else "x"


def test_an_output_is_decoded_only_when_it_is_asked_for_and_not_above_its_bound() -> None:
    body = listing(
        b'{"step_id":"1","status":"completed","metadata":{"token":"large"},"output":[' + b"{}," * 2_000_000 + b"{}]}",
        b'{"step_id":"1","status":"completed","metadata":{"token":"small"},"output":[{}]}',
    )
    message = read("results", "s", body, JSON, lazily=True)
    assert isinstance(message, StepResults)
    large, small = message.results
    assert isinstance(large.output, msgspec.Raw)
    refused = large.decoded(MAX_BYTES)
    assert refused.error is not None and refused.error.code == "output_too_large" and not refused.metadata.retryable
    decoded = small.decoded(MAX_BYTES)
    assert (decoded.step_id, decoded.status, decoded.output) == ("1", "completed", [{}])
    assert msgspec.to_builtins(decoded.metadata) == {"token": "small"}


class Hub:
    """A hub, and the workers at its routes."""

    def __init__(self) -> None:
        self.protocol = HubProtocol(HubFacts(hub_id="h"), iter(map(str, range(1, 100))).__next__)

    def hello(self, route: bytes, worker_id: str, key: str | None, now: float = 0.0, seq: int = 1) -> str:
        hello = Hello(versions=("1.0",), worker_id=worker_id, seq=seq, codecs=("json",), credits=1, handlers=("h",))
        self.protocol.receive(route, pack(hello, ""), now, key)
        for event in self.protocol.events:
            if isinstance(event, HelloReceived):
                self.protocol.welcome(event.worker)
        self.protocol.events.clear()
        worker = self.protocol.worker_at(route)
        return "" if worker is None else worker.session

    def said(self, route: bytes) -> list[Any]:
        mine = [unpack(sent).message for to, sent in self.protocol.outbox if to == route]
        self.protocol.outbox.clear()
        return mine


def test_a_worker_over_the_limit_is_told_why_expelled_and_not_heard_again() -> None:
    hub = Hub()
    session = hub.hello(b"r1", "w1", "key")
    hub.said(b"r1")
    attack = frames("results", session, ATTACKS["bad results"][1])
    hub.protocol.receive(b"r1", attack, 1.0)
    [error] = hub.said(b"r1")
    assert (error.code, error.retry) == ("over_limit", False) and "the limit is" in error.message
    assert [type(event) for event in hub.protocol.events] == [WorkerLeft]
    assert not hub.protocol.workers
    hub.protocol.receive(b"r1", attack, 1.0)
    hub.protocol.receive(b"r1", pack(Heartbeat(seq=1), session), 1.0)
    assert hub.hello(b"r1", "w1", "key", 1.0, 2) == "" and not hub.said(b"r1"), "over this connection nothing is heard"


def test_the_key_of_a_worker_over_the_limit_is_not_let_in_for_a_while() -> None:
    hub = Hub()
    session, other = hub.hello(b"r1", "w1", "key"), hub.hello(b"r2", "w2", "other")
    hub.protocol.receive(b"r1", frames("results", session, ATTACKS["brackets"][1]), 1.0)
    assert hub.hello(b"r3", "w3", "key", 2.0) == ""
    assert [error.code for error in hub.said(b"r3")] == ["over_limit"]
    assert other and hub.hello(b"r4", "w4", "other", 2.0), "others are not concerned"
    assert hub.hello(b"r3", "w3", "key", 1.0 + SUSPENSION_SECONDS, 2)


def test_a_hello_over_the_limit_is_refused() -> None:
    hub = Hub()
    held = tuple(Held("t", "done") for _ in range(LIMITS["in_flight"] + 1))
    hello = Hello(versions=("1.0",), worker_id="w", seq=1, codecs=("json",), credits=1, handlers=(), in_flight=held)
    hub.protocol.receive(b"r", pack(hello, ""), 0.0)
    assert [error.code for error in hub.said(b"r")] == ["over_limit"] and not hub.protocol.workers


def in_session() -> WorkerSession:
    hello = Hello(versions=("1.0",), worker_id="w", seq=0, codecs=("json",), credits=1, handlers=("h",))
    session = WorkerSession(hello, HeldSteps())
    session.open(0.0)
    welcome = Welcome(
        protocol_version="1.0", session="s", seq=1, hub_id="h", codec="json", heartbeat_ms=1000, lease_ms=9000,
        resend_ms=1000, max_message_bytes=1 << 24,
    )  # fmt: skip
    session.receive(pack(welcome, ""), 0.0)
    assert session.state is SessionState.OPEN
    return session


def test_a_worker_leaves_a_hub_that_is_over_the_limit_says_why_and_does_not_trust_its_next_welcome() -> None:
    session = in_session()
    session.receive(pack(Ack(("t",) * (LIMITS["tokens"] + 1)), "s"), 0.1)
    assert session.state is SessionState.CLOSED and session.over_limit
    assert session.actions == [Reconnect("over_limit: ack has 200,001 tokens; the limit is 200,000")]


def test_the_pauses_before_a_hub_that_was_over_the_limit_only_grow() -> None:
    session = in_session()
    connection = Connection("tcp://127.0.0.1:1", session, WorkerSettings(connect=("tcp://127.0.0.1:1",)))

    def pauses() -> list[float]:
        found: list[float] = []
        for _ in range(4):
            connection.welcomed()
            found.append(connection._pause)
            connection.come_back(0.0, "over")
        return found

    assert len(set(pauses())) == 1
    session.receive(pack(Ack(("t",) * (LIMITS["tokens"] + 1)), "s"), 0.1)
    grown = pauses()
    assert grown == sorted(set(grown)) and len(grown) == 4


@pytest.mark.parametrize("codec", [JSON, MSGPACK])
@pytest.mark.parametrize("case", VECTORS["lists"], ids=lambda case: f"{case['kind']}.{case['field']}")
def test_the_limits_are_those_of_every_language(case: dict[str, Any], codec: str) -> None:
    encode = msgspec.msgpack.encode if codec == MSGPACK and case["kind"] not in ALWAYS_JSON else msgspec.json.encode
    assert LIMITS[case["field"]] == case["most"]
    body = {**case["body"], case["field"]: [case["member"]] * case["most"]}
    unpack(frames(case["kind"], "s1", encode(body)), codec)
    body[case["field"]].append(case["member"])
    with pytest.raises(OverLimit):
        unpack(frames(case["kind"], "s1", encode(body)), codec)


def test_nesting_is_bounded_as_in_every_language() -> None:
    case = VECTORS["nesting"]
    for depth, sound in ((case["read"], True), (case["unreadable"], False)):
        nested = b"[" * (depth - 1) + b"]" * (depth - 1)
        body = msgspec.json.encode(case["body"])[:-1] + f',"{case["field"]}":'.encode() + nested + b"}"
        if sound:
            unpack(frames(case["kind"], "s1", body))
            continue
        with pytest.raises(Malformed):
            unpack(frames(case["kind"], "s1", body))


def test_published_results_are_bounded_and_not_read_if_nobody_waits_for_them() -> None:
    for body in (listing(*[b"{}"] * MANY), b"[" * 15_000_000, b'{"batch_id":"b","results":' + b"[" * 15_000_000):
        with pytest.raises(OverLimit):
            read_results(b"results " + body)
    some = listing(*[b'{"step_id":1,"status":"completed"}'] * MAX_RESULTS)
    assert len(read_results(b"results " + some).results) == MAX_RESULTS
    unread = read_results(b"results " + some, lambda batch_id: batch_id != "b")
    assert (unread.results, unread.unread) == ((), MAX_RESULTS)


def test_what_is_said_back_of_unknown_tokens_is_bounded() -> None:
    hub = Hub()
    session = hub.hello(b"r", "w", None)
    hub.said(b"r")
    entries = [
        f'{{"step_id":"","status":"failed","metadata":{{"token":"{n}"}}}}'.encode() for n in range(MAX_RESULTS - 1)
    ]
    long = b'{"step_id":"","status":"failed","metadata":{"token":"' + b"x" * 1_000_000 + b'"}}'
    hub.protocol.receive(b"r", frames("results", session, listing(long, *entries)), 1.0)
    [error] = hub.said(b"r")
    assert (error.code, len(error.tokens)) == ("not_yours", MAX_REPLY_TOKENS - 1)
    hub.protocol.receive(b"r", pack(Start(tuple(map(str, range(50_000)))), session), 1.0)
    [started] = hub.said(b"r")
    assert len(started.denied) == MAX_REPLY_TOKENS
