"""Messages as people see them: what they are about, never what is in them."""

from __future__ import annotations

from typing import Any

import msgspec
import msgspec.inspect
import pytest
from unit.wire.network import done, step

from turnout.wire.documents import StepBatch, StepError, StepResults
from turnout.wire.frames import check_of, pack
from turnout.wire.messages import KINDS, Ack, Line, Log
from turnout.wire.wire_log import PAYLOAD, shown


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


def framed(kind: bytes, body: bytes, session: bytes = b"s1") -> list[bytes]:
    parts = [kind, session, body]
    return [*parts, check_of(parts)]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (b"results", b'{"batch_id":"b","results":[{"step_id":"1","Output":"hush","metadata":{"token":"a.1"}}]}'),
        (b"results", b'{"batch_id":"b","results":[{"step_id":"1","error":"hush","metadata":{"token":"a.1"}}]}'),
        (b"results", b'{"batch_id":"b","results":[{"step_id":"1","metadata":{"token":"a.1","note":"hush"}}]}'),
        (b"results", b'{"batch_id":"b","results":["hush"]}'),
        (b"log", b'{"token":"a.1","offset":0,"lines":["hush"]}'),
        (b"log", b'{"token":"a.1","offset":0,"lines":[],"more":"hush"}'),
        (b"progress", b'{"token":"a.1","done":1,"data":{"message":"hush"}}'),
        (b"ack", b'"hush"'),
        (b"no such kind", b'{"say":"hush"}'),
    ],
)
def test_what_a_worker_says_in_its_own_way_is_not_shown_either(kind: bytes, body: bytes) -> None:
    said = shown(framed(kind, body))
    assert said.startswith(kind.decode()) and "hush" not in said


def test_every_field_that_may_hold_anything_is_masked() -> None:
    """A field that is added to a message is one of these, or it is masked."""
    structs, fields = [*KINDS.values()], set[str]()
    for struct in structs:
        for field in msgspec.structs.fields(struct):
            kinds = msgspec.inspect.multi_type_info([field.type])
            structs += [each for each in inner(kinds[0]) if each not in structs]
            if any(isinstance(part, msgspec.inspect.AnyType | msgspec.inspect.DictType) for part in parts(kinds[0])):
                fields.add(field.name)
    assert fields - PAYLOAD == {"labels"}


def parts(kind: Any) -> list[Any]:
    return [kind, *(each for part in getattr(kind, "types", ()) for each in parts(part))]


def inner(kind: Any) -> list[Any]:
    """The structs that a field of this type holds."""
    found = [part.cls for part in parts(kind) if isinstance(part, msgspec.inspect.StructType)]
    held = [part.item_type for part in parts(kind) if isinstance(part, msgspec.inspect.VarTupleType)]
    return found + [each for item in held for each in inner(item)]


def test_what_is_no_message_is_shown_too_and_forges_no_line() -> None:
    assert shown([b"x"]) == "1 frames that are no message (1 bytes)"
    assert shown([b"ack", b"s", b"\xff", b""]) == "ack s that cannot be read: the check does not fit (1 bytes)"
    assert shown(framed(b"ack", b"[]")).startswith("ack s1 that cannot be read: ack: Expected `object`")
    forged = shown(framed(b"x\nERROR all is lost\x1b", b"{}", b"s\n" * 100))
    assert forged.isprintable() and len(forged) < 300
    assert shown(pack(Ack(("a.1",)), "s1")) == 'ack s1 {"tokens":["a.1"]} (18 bytes)'
