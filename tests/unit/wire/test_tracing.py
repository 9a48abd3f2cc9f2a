"""Messages as people see them: what they are about, never what is in them."""

from __future__ import annotations

import msgspec
from unit.wire.network import done, step

from turnout.wire.documents import StepBatch, StepError, StepResults
from turnout.wire.frames import pack
from turnout.wire.messages import Ack, Line, Log
from turnout.wire.tracing import shown


def test_tokens_are_shown_and_payloads_are_not() -> None:
    given = step("a.1", args={"card": "hush"}, saved="hush")
    given = msgspec.structs.replace(given, task_context={"card": "hush"}, handler_config={"key": "hush"})
    for codec in ("json", "msgpack"):
        said = shown(pack(StepBatch(batch_id="b", protocol_version="1.0", steps=(given,)), "s1", codec), codec)
        assert said.startswith("steps s1 ") and "a.1" in said and "hush" not in said


def test_outputs_errors_and_lines_are_masked() -> None:
    failed = msgspec.structs.replace(done(step("a.1")), output="hush", error=StepError("hush", "E", ("hush",)))
    for message in (
        StepResults(batch_id="b", protocol_version="1.0", results=(failed,)),
        Log("a.1", 0, (Line("stdout", "hush"),)),
    ):
        said = shown(pack(message, "s1"))
        assert "a.1" in said and "hush" not in said


def test_what_is_no_message_is_shown_too() -> None:
    assert shown([b"x"]) == "1 frames that are no message (1 bytes)"
    assert shown([b"ack", b"s", b"\xff", b""]) == "ack s that cannot be read (1 bytes)"
    assert shown(pack(Ack(("a.1",)), "s1")) == 'ack s1 {"tokens":["a.1"]} (18 bytes)'
