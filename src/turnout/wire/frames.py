"""Encodes messages as four frames (kind, session, body, check), and decodes them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.wire.lenient_results import salvage_json, salvage_msgpack
from turnout.wire.limits import check_lists
from turnout.wire.messages import ALWAYS_JSON, KIND_OF, KINDS, Malformed, Message
from turnout.wire.received import JsonResults, MsgpackResults

JSON, MSGPACK = "json", "msgpack"
CODECS = (MSGPACK, JSON)
"""In order of liking."""
MAX_KIND_LENGTH, MAX_SESSION_LENGTH = 32, 64


class UnknownKind(ValueError):
    """A sound message of a kind that does not exist here."""

    def __init__(self, kind: str, session: str) -> None:
        super().__init__(f"there is no message {kind!r}")
        self.kind = kind
        self.session = session


class Unpacked(msgspec.Struct, frozen=True):
    """A message as it came."""

    kind: str
    session: str
    message: Message


_ENCODE: Mapping[str, Callable[[Any], bytes]] = {
    JSON: msgspec.json.Encoder().encode,
    MSGPACK: msgspec.msgpack.Encoder().encode,
}
_DECODE: Mapping[str, Mapping[str, Callable[[bytes], Any]]] = {
    JSON: {kind: msgspec.json.Decoder(message).decode for kind, message in KINDS.items()},
    MSGPACK: {kind: msgspec.msgpack.Decoder(message).decode for kind, message in KINDS.items()},
}
_RECEIVE: Mapping[str, Callable[[bytes], Any]] = {
    JSON: msgspec.json.Decoder(JsonResults).decode,
    MSGPACK: msgspec.msgpack.Decoder(MsgpackResults).decode,
}
_SALVAGE = {JSON: salvage_json, MSGPACK: salvage_msgpack}


def pack(message: Message, session: str, codec: str = JSON) -> list[bytes]:
    """The frames of a message.

    >>> from turnout.wire.messages import Drain
    >>> pack(Drain("deploy"), "s1")
    [b'drain', b's1', b'{"reason":"deploy"}', b'17b87713']
    """
    kind = KIND_OF[type(message)]
    body = _ENCODE[JSON if kind in ALWAYS_JSON else codec](message)
    parts = [kind.encode(), session.encode(), body]
    return [*parts, check_of(parts)]


def unpack(frames: Sequence[bytes], codec: str = JSON) -> Unpacked:
    """The message of these frames; raises Malformed (or OverLimit, which is one) or UnknownKind, never anything
    else."""
    kind, session = envelope(frames)
    return Unpacked(kind, session, read(kind, session, frames[2], codec))


def read(kind: str, session: str, body: bytes, codec: str, *, lazily: bool = False) -> Message:
    """The message in this envelope; raises as ``unpack`` does. A result that cannot be read comes out as the failure
    that it is. ``lazily``: the outputs of results stay as they came, until ``decoded`` is called."""
    decode = _DECODE[JSON if kind in ALWAYS_JSON else codec].get(kind)
    if decode is None:
        raise UnknownKind(kind, session)
    if lazily and kind == "results":
        decode = _RECEIVE[codec]
    try:
        message: Message = decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        saved = _SALVAGE[codec](body) if kind == "results" else None
        if saved is None:
            raise Malformed(f"{kind}: {error}") from error
        return saved
    check_lists(kind, message)
    return message


def envelope(frames: Sequence[bytes]) -> tuple[str, str]:
    """Kind and session, once the check has been found right."""
    if len(frames) != 4:
        raise Malformed(f"{len(frames)} frames instead of 4")
    if bytes(frames[3]) != check_of(frames[:3]):
        raise Malformed("the check does not fit")
    kind, session = frames[0], frames[1]
    if not 0 < len(kind) <= MAX_KIND_LENGTH or len(session) > MAX_SESSION_LENGTH:
        raise Malformed("kind or session is empty or too long")
    try:
        return kind.decode("ascii"), session.decode("ascii")
    except UnicodeDecodeError as error:
        raise Malformed("kind and session are ASCII") from error


def check_of(parts: Sequence[bytes]) -> bytes:
    """Bytes that were changed on their way are not taken for a message."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return f"{value:08x}".encode()
