"""The messages that other languages test themselves with are the messages that travel here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import turnout.wire
from turnout.model.events import ExecutionStatus, TaskReadyEvent
from turnout.wire.documents import StepResults
from turnout.wire.frames import Malformed, UnknownKind, check_of, pack, unpack
from turnout.wire.messages import ALWAYS_JSON, KINDS, VERSION
from turnout.wire.result_codec import result_of

EVENT = TaskReadyEvent(run_id="r", task_id="r.1", task_name="t", attempt=1, max_attempts=1)
VECTORS = json.loads((Path(turnout.wire.__file__).parent / "vectors" / "messages.json").read_text())


def frames_of(entry: dict[str, Any]) -> list[bytes]:
    if "frames_hex" in entry:
        return [bytes.fromhex(each) for each in entry["frames_hex"]]
    return [each.encode() for each in entry["frames"]]


def named(entry: dict[str, Any]) -> str:
    return str(entry["name"])


@pytest.mark.parametrize("entry", VECTORS["messages"], ids=named)
def test_the_frames_of_a_message_are_read_as_its_kind_session_and_body(entry: dict[str, Any]) -> None:
    unpacked = unpack(frames_of(entry), entry["codec"])
    assert (unpacked.kind, unpacked.session) == (entry["kind"], entry["session"])
    assert unpacked.message == msgspec.convert(entry["body"], KINDS[entry["kind"]])


@pytest.mark.parametrize("entry", VECTORS["messages"], ids=named)
def test_a_message_that_is_written_is_read_as_the_same(entry: dict[str, Any]) -> None:
    unpacked = unpack(frames_of(entry), entry["codec"])
    frames = pack(unpacked.message, entry["session"], entry["codec"])
    assert unpack(frames, entry["codec"]) == unpacked
    assert frames[3] == check_of(frames[:3])


@pytest.mark.parametrize("entry", [each for each in VECTORS["messages"] if "ignored" in each], ids=named)
def test_what_is_said_to_be_ignored_is(entry: dict[str, Any]) -> None:
    body = json.loads(json.dumps(entry["body"]))
    for path in entry["ignored"]:
        *way, last = path.replace("[", ".").replace("]", "").split(".")
        place = body
        for part in way:
            place = place[int(part)] if part.isdigit() else place[part]
        del place[last]
    without = msgspec.convert(body, KINDS[entry["kind"]])
    assert unpack(frames_of(entry), entry["codec"]).message == without


@pytest.mark.parametrize("entry", VECTORS["unreadable"], ids=named)
def test_what_is_no_message_is_told_apart(entry: dict[str, Any]) -> None:
    expected = {"malformed": Malformed, "unknown_message": UnknownKind}.get(entry["answer"])
    if entry["answer"] == "unreadable_result":
        message = unpack(frames_of(entry), entry["codec"]).message
        assert isinstance(message, StepResults)
        assert result_of(EVENT, message.results[0]).status is ExecutionStatus.FAILED
    elif expected is None:
        assert unpack(frames_of(entry), entry["codec"]).session != "s1"
    else:
        with pytest.raises(expected):
            unpack(frames_of(entry), entry["codec"])


def test_every_kind_is_there_and_in_both_codecs_where_it_may_be() -> None:
    found = {(each["kind"], each["codec"]) for each in VECTORS["messages"]}
    assert {kind for kind, _ in found} == set(KINDS)
    assert {kind for kind, codec in found if codec == "msgpack"} == set(KINDS) - ALWAYS_JSON
    assert VECTORS["protocol_version"] == VERSION


def test_names_are_used_once() -> None:
    names = [each["name"] for each in (*VECTORS["messages"], *VECTORS["unreadable"])]
    assert len(names) == len(set(names))
