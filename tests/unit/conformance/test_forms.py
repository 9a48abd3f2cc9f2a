"""What the scripted hub sends: exactly what a hub sends, unless a session asks for another form of the same."""

from __future__ import annotations

import msgspec
import pytest

from turnout.conformance.forms import written
from turnout.conformance.hub import ScriptedHub
from turnout.conformance.rules import Rules
from turnout.conformance.step_shorthand import batch
from turnout.contracts.executor import Work
from turnout.model.events import TaskReadyEvent
from turnout.model.spec import Body, TaskSpec
from turnout.wire.documents import Step, StepBatch, StepMetadata
from turnout.wire.frames import JSON, MSGPACK, pack
from turnout.wire.handshake import HubFacts
from turnout.wire.messages import KIND_OF, Ack, Bye, Cancel, Drain, Error, Heartbeat, Logged, Message, Started
from turnout.wire.step_codec import step_of

STEP = Step(step_id="7", task_id="r", step_name="s", handler_class="h", metadata=StepMetadata(token="7.1"))
SENT: list[Message] = [
    HubFacts(hub_id="h", hubs=("tcp://127.0.0.1:1",)).welcome("s1", 3, JSON, ()),
    StepBatch(batch_id="b", protocol_version="1.0", steps=(STEP,)),
    Started(granted=("1.1",)),
    Ack(tokens=("1.1",)),
    Heartbeat(seq=4, hubs=("tcp://127.0.0.1:1",)),
    Cancel(tokens=("1.1",)),
    Logged(token="1.1", next=2),
    Drain(),
    Bye("the end"),
    Error("no_session", "say hello"),
]


@pytest.mark.parametrize("codec", [JSON, MSGPACK])
@pytest.mark.parametrize("message", SENT, ids=lambda each: type(each).__name__)
def test_the_scripted_hub_sends_the_bytes_that_a_hub_sends(message: Message, codec: str) -> None:
    posted: list[list[bytes]] = []
    hub = ScriptedHub(1, {}, Rules(), lambda _, __, frames: posted.append(frames))
    hub._codec, hub.session = codec, "s1"
    kind = KIND_OF[type(message)]
    hub.send(kind, written(kind, msgspec.to_builtins(message), "sparse"))
    assert posted == [pack(message, "s1", codec)]


def test_a_step_in_short_has_the_fields_of_a_first_attempt_as_a_hub_says_it() -> None:
    event = TaskReadyEvent(run_id="r", task_id="r.1", task_name="a::b::c::d", attempt=1, max_attempts=1)
    task = TaskSpec(name="d", body=Body("handler", "conformance.echo"))
    said = msgspec.to_builtins(step_of(Work(event=event, task=task, body=None), token="7.1"))
    plain = {"attempt": 0, "retry_limit": 0, "task_name": "a::b::c::d"}
    short = {"token": "7.1", "handler": "conformance.echo", "metadata": {**EMPTY, **plain}}
    (made,) = written("steps", batch("b", [short]))["steps"]
    assert set(made) == set(said) and made["metadata"] == said["metadata"]
    assert "attempt" not in made["metadata"], "what has its default is left out"


EMPTY = {
    "timeout_ms": None,
    "deadline_ms": None,
    "idempotency_key": "",
    "workflow": "",
    "labels": {},
    "index": None,
    "saved": None,
}


def test_in_full_every_field_is_there_and_in_sparse_none_that_has_its_default() -> None:
    step = {"step_id": "7", "task_id": "r", "step_name": "s", "handler_class": "h", "metadata": {"token": "7.1"}}
    body = {"batch_id": "b", "protocol_version": "1.0", "steps": [step]}
    (full,) = written("steps", body, "full")["steps"]
    assert set(full) == set(Step.__struct_fields__) and set(full["metadata"]) == set(StepMetadata.__struct_fields__)
    assert written("steps", written("steps", body, "full"), "sparse") == body
    assert written("heartbeat", {"seq": 1}, "full") == {"seq": 1, "credits": 0, "in_flight": [], "keep": [], "hubs": []}
    assert written("error", {"code": "stopping", "retry": True}, "sparse") == {"code": "stopping"}


def test_what_is_no_message_is_sent_as_the_script_says_it() -> None:
    assert written("tomorrow", {"x": 1}) == {"x": 1}
    assert written("ack", {"tokens": 7}) == {"tokens": 7}
    assert written("ack", {"tokens": ["1.1"], "at": "noon"}) == {"tokens": ["1.1"], "at": "noon"}


def test_what_a_script_leaves_open_varies_from_step_to_step_and_stays_the_same_for_a_token() -> None:
    steps = [{"token": f"{number}.1", "handler": "conformance.echo"} for number in range(40)]
    made = batch("b", steps, "echo")["steps"]
    assert made == batch("b", steps, "echo")["steps"] != batch("b", steps, "another")["steps"]
    attempts = {each["metadata"]["attempt"] for each in made}
    assert len(attempts) > 1 and 0 in attempts
    assert {"attempt" in each["metadata"] for each in written("steps", batch("b", steps, "echo"))["steps"]} == {
        True,
        False,
    }
