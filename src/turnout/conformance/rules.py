"""Checks the rules that hold for every message of a worker, in every session."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.wire.messages import VERSION

_WORKER_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OUTCOMES: Mapping[str, frozenset[str | None]] = {
    "completed": frozenset({None}),
    "failed": frozenset({None, "timed_out", "cancelled", "deferred"}),
    "error": frozenset({None, "returned", "crashed", "lost", "handler_missing"}),
}
_TO_WORKERS = frozenset({"welcome", "steps", "started", "ack", "cancel", "logged", "drain"})


class Broken(Exception):
    """A rule that a worker has not kept."""


class _Given(msgspec.Struct, frozen=True):
    step_id: str
    batch_id: str
    attempt: int


class Rules:
    """Watches one program, over all its sessions with all hubs."""

    def __init__(self) -> None:
        self.lines: dict[str, dict[int, str]] = {}
        """What was logged: by token, by offset."""
        self._given: dict[str, _Given] = {}
        self._results: dict[str, tuple[str, Any]] = {}
        self._worker_id = ""
        self._earlier: set[str] = set()
        """The ids of processes that have ended."""
        self._seqs: dict[str, int] = {}

    def give(self, body: Mapping[str, Any]) -> None:
        """These steps were sent."""
        for step in body["steps"]:
            metadata = step["metadata"]
            given = _Given(step["step_id"], body["batch_id"], metadata.get("attempt", 0))
            self._given.setdefault(metadata["token"], given)

    def relaunched(self) -> None:
        """The program has ended and was started again: it knows nothing of what the process before it was given."""
        self._earlier.add(self._worker_id)
        self._worker_id = ""
        self._given.clear()

    def measure(self, kind: str, frames: Sequence[bytes], most: int) -> None:
        """Raises Broken if the message is larger than its hub takes."""
        size = sum(len(each) for each in frames)
        if size > most:
            raise Broken(f"{kind} has {size} bytes; max_message_bytes is {most}")

    def look(self, kind: str, session: str, body: Mapping[str, Any]) -> None:
        """Raises Broken if the message should not be."""
        match kind:
            case "hello":
                self._hello(body)
            case "heartbeat" | "credit":
                self._numbered(session, body["seq"])
                self._known([held["token"] for held in body.get("in_flight", ())], "in_flight")
            case "received" | "start":
                self._known(body["tokens"], kind)
            case "results":
                for result in body["results"]:
                    self._result(body, result)
            case "log":
                self._known([body["token"]], kind)
                self._log(body)
            case "progress":
                self._known([body["token"]], kind)
            case _ if kind in _TO_WORKERS:
                raise Broken(f"{kind} is not for a hub")
            case _:
                pass

    def text_of(self, token: str) -> list[str]:
        """The lines of a token so far, without gaps."""
        lines = self.lines.get(token, {})
        found: list[str] = []
        while len(found) in lines:
            found.append(lines[len(found)])
        return found

    def _hello(self, body: Mapping[str, Any]) -> None:
        if not _WORKER_ID.fullmatch(body["worker_id"]):
            raise Broken(f"worker_id {body['worker_id']!r} is not 1 to 64 of A-Z a-z 0-9 _ . -")
        if self._worker_id not in ("", body["worker_id"]):
            raise Broken(f"worker_id was {self._worker_id!r} and is {body['worker_id']!r} now")
        if body["worker_id"] in self._earlier:
            raise Broken(f"worker_id {body['worker_id']!r} is that of an earlier process; each chooses one at random")
        self._worker_id = body["worker_id"]
        if VERSION not in body["versions"] or "json" not in body["codecs"]:
            raise Broken("hello must offer version 1.0 and the codec json")
        self._known([held["token"] for held in body.get("in_flight", ())], "in_flight")

    def _numbered(self, session: str, seq: int) -> None:
        before = self._seqs.get(session, 0)
        if seq != before + 1:
            raise Broken(
                f"seq {seq} follows {before}; it begins with 1 and grows by one with each credit and heartbeat"
            )
        self._seqs[session] = seq

    def _known(self, tokens: list[str], where: str) -> None:
        for token in tokens:
            if token not in self._given:
                raise Broken(f"{where} names {token!r}, which was never given")

    def _result(self, body: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        metadata = result["metadata"]
        token, status = metadata["token"], result["status"]
        self._known([token], "results")
        given = self._given[token]
        came = _Given(result["step_id"], body["batch_id"], metadata.get("attempt", 0))
        if came != given:
            raise Broken(f"the result of {token} is for {came}, the step was {given}")
        if body["protocol_version"] != VERSION:
            raise Broken(f"protocol_version {body['protocol_version']!r} instead of {VERSION!r}")
        error = result.get("error")
        if status != "completed" and not (isinstance(error, Mapping) and error.get("message")):
            raise Broken(f"the result of {token} is {status} and has no error with a message")
        if metadata.get("outcome") not in _OUTCOMES[status]:
            raise Broken(f"the result of {token} is {status} with outcome {metadata.get('outcome')!r}")
        outcome = (status, result.get("output"))
        if self._results.setdefault(token, outcome) != outcome:
            raise Broken(f"the result of {token} was {self._results[token]} and is {outcome} now")

    def _log(self, body: Mapping[str, Any]) -> None:
        lines = self.lines.setdefault(body["token"], {})
        for offset, line in enumerate(body["lines"], body["offset"]):
            if line["stream"] not in ("stdout", "stderr", "log"):
                raise Broken(f"there is no stream {line['stream']!r}")
            if lines.setdefault(offset, line["text"]) != line["text"]:
                raise Broken(f"line {offset} of {body['token']} was {lines[offset]!r} and is {line['text']!r} now")
