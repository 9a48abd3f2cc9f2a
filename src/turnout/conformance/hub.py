"""Plays one hub of a session without a socket: keeps what arrives, and sends the automatic answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.conformance.forms import Form, exact, written
from turnout.conformance.rules import Broken, Rules
from turnout.wire.frames import JSON, MSGPACK, Malformed, UnknownKind, check_of, pack, unpack
from turnout.wire.messages import ALWAYS_JSON, VERSION

SETTINGS: Mapping[str, Any] = {
    "protocol_version": VERSION,
    "codec": JSON,
    "heartbeat_ms": 250,
    "lease_ms": 30_000,
    "resend_ms": 400,
    "max_message_bytes": 16 * 1024 * 1024,
    "hubs": [],
    "release": [],
}
"""Short, so that sessions are; but a lease that a busy machine does not miss."""

LEASE_MARGIN = 0.5
"""The share of the lease for which this machine may be held up."""

ANSWERS: Mapping[str, bool] = {
    "hello": False,
    "heartbeat": True,
    "log": True,
    "bye": True,
    "strangers": True,
}
"""What a hub answers by itself; ``strangers``: ``no_session`` to messages of a session that is over."""


class ReceivedMessage(msgspec.Struct, frozen=True):
    """A message of the worker."""

    number: int
    route: bytes
    kind: str
    body: dict[str, Any]


class ScriptedHub:
    """Keeps what came and was not expected yet; ``post(route, frames)`` sends."""

    def __init__(
        self,
        number: int,
        settings: Mapping[str, Any],
        rules: Rules,
        post: Callable[[ScriptedHub, bytes, list[bytes]], None],
        form: Form = "hub",
    ) -> None:
        self.number = number
        self.credits = 0
        """What the worker takes at once."""
        self.answers = dict(ANSWERS)
        self.mailbox: list[ReceivedMessage] = []
        self.session = ""
        self._settings = {**SETTINGS, "hub_id": f"hub-{number}", **settings}
        self._rules = rules
        self._post = post
        self._route = b""
        self._codec = JSON
        self._form: Form = form
        self._hello: Mapping[str, Any] = {}
        self._hubs: Sequence[str] = ()
        """The list of hubs as last sent: every heartbeat repeats it."""
        self._lease_ms = self._heartbeat_ms = 0
        self._most = 0
        """Bytes that a message of the worker may have."""
        self._welcomed: tuple[bytes, int, list[bytes]] | None = None
        self._given: set[str] = set()

    # -- what the script does ---------------------------------------------------------------------------------------
    def take(self, came: ReceivedMessage) -> None:
        """The script has expected this one; a hello begins a session on its connection."""
        self.mailbox.remove(came)
        if came.kind == "hello":
            self._begin(came.route, came.body)

    def _begin(self, route: bytes, hello: Mapping[str, Any]) -> None:
        self._route, self._hello, self.session, self._codec = route, hello, "", JSON
        self.credits = hello["credits"]
        self.mailbox = [each for each in self.mailbox if each.kind == "hello" and each.body["seq"] > hello["seq"]]

    def forget_connections(self) -> None:
        self._route, self.session, self._codec, self._welcomed = b"", "", JSON, None
        self.mailbox.clear()

    def welcome(self, changes: Mapping[str, Any]) -> None:
        """Answer the hello; with another ``seq`` than its own it is no welcome for it."""
        session = f"s{self.number}-{len(self._given) + 1}"
        body: dict[str, Any] = {**self._settings, "session": session, "seq": self._hello["seq"], **changes}
        frames = self._frames("welcome", body["session"], body)
        if body["seq"] == self._hello["seq"]:
            self.session, self._codec = body["session"], body["codec"]
            self._hubs, self._most = body["hubs"], body["max_message_bytes"]
            self._lease_ms, self._heartbeat_ms = body["lease_ms"], body["heartbeat_ms"]
            self._given.add(self.session)
            self._welcomed = (self._route, body["seq"], frames)
        self._post(self, self._route, frames)

    def send(self, kind: str, body: Any, session: str | None = None) -> None:
        if kind == "heartbeat" and isinstance(body, Mapping):
            self._hubs = body.get("hubs", self._hubs)
        frames = self._frames(kind, self.session if session is None else session, body, self._codec)
        self._post(self, self._route, frames)

    def send_frames(self, frames: list[bytes]) -> None:
        self._post(self, self._route, frames)

    def _frames(self, kind: str, session: str, body: Any, codec: str = JSON) -> list[bytes]:
        if self._form == "hub" and (message := exact(kind, body)) is not None:
            return pack(message, session, codec)
        return frames_of(kind, session, written(kind, body, self._form), codec)

    def outlasts(self, gap: float) -> bool:
        """True if a worker whose heartbeats are answered so many seconds late keeps its session, with a margin."""
        answers = self.session and self.answers["heartbeat"]
        return not answers or gap < self._lease_ms / 1000 * LEASE_MARGIN

    def heartbeats_in(self, ms: int) -> int:
        """Heartbeats that the worker sends in this time while they are answered; 0 if there is no such session."""
        return ms // self._heartbeat_ms if self.session and self.answers["heartbeat"] else 0

    # -- what comes -------------------------------------------------------------------------------------------------
    def receive(self, number: int, route: bytes, frames: Sequence[bytes]) -> ReceivedMessage:
        """Receives a message; raises Broken if it breaks a rule."""
        codec = self._codec if route == self._route else JSON
        try:
            unpacked = unpack(frames, codec)
        except Malformed as error:
            raise Broken(f"a malformed message: {error}") from error
        except UnknownKind as error:
            raise Broken(str(error)) from error
        kind, session = unpacked.kind, unpacked.session
        body = _decode(frames[2], JSON if kind in ALWAYS_JSON else codec)
        came = ReceivedMessage(number, route, kind, body)
        if kind == "hello":
            if session:
                raise Broken(f"hello has the session {session!r}; it must be empty")
            self._rules.look(kind, session, body)
            self._greeted(came)
        elif self._is_ours(route, kind, session):
            self._rules.measure(kind, frames, self._most)
            self._rules.look(kind, session, body)
            self.credits = body.get("credits", self.credits)
            self.mailbox.append(came)
            self._answer(kind, body)
        return came

    def _is_ours(self, route: bytes, kind: str, session: str) -> bool:
        if route == self._route and (session == self.session or (kind == "error" and not session)):
            return True
        if session not in self._given:
            raise Broken(f"{kind} in the session {session!r}, which was never given")
        if self.answers["strangers"] and kind not in ("error", "bye"):
            body = {"code": "no_session", "message": "say hello", "retry": True}
            self._post(self, route, self._frames("error", session, body))
        return False

    def _greeted(self, came: ReceivedMessage) -> None:
        if self._welcomed is not None and self._welcomed[:2] == (came.route, came.body["seq"]):
            self._post(self, came.route, self._welcomed[2])
        elif self._came_late(came.body):
            pass
        elif self.answers["hello"]:
            self._begin(came.route, came.body)
            self.welcome({})
        else:
            self.mailbox.append(came)

    def _came_late(self, hello: Mapping[str, Any]) -> bool:
        known = self._hello
        return bool(known) and hello["worker_id"] == known["worker_id"] and hello["seq"] < known["seq"]

    def _answer(self, kind: str, body: Mapping[str, Any]) -> None:
        if not self.answers.get(kind, False):
            return
        match kind:
            case "heartbeat":
                self.send("heartbeat", {"seq": body["seq"], "hubs": self._hubs})
            case "log":
                self.send("logged", {"token": body["token"], "next": len(self._rules.text_of(body["token"]))})
            case _:
                self.send("bye", {"reason": "bye"})


def frames_of(kind: str, session: str, body: Any, codec: str = JSON) -> list[bytes]:
    """The frames of any message, also of one that does not exist."""
    encode = msgspec.msgpack.encode if codec == MSGPACK and kind not in ALWAYS_JSON else msgspec.json.encode
    parts = [kind.encode(), session.encode(), encode(body)]
    return [*parts, check_of(parts)]


def _decode(body: bytes, codec: str) -> dict[str, Any]:
    found: Any = msgspec.msgpack.decode(body) if codec == MSGPACK else msgspec.json.decode(body)
    return found
