"""Messages that nobody should send: random bytes, sound messages with wounds, odd values, and what others said."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import turnout.wire
from turnout.wire.frames import check_of
from turnout.wire.messages import KINDS

VECTORS = json.loads((Path(turnout.wire.__file__).parent / "vectors" / "messages.json").read_text())
ODD: tuple[Callable[[], str], ...] = (
    lambda: "1e999",
    lambda: "-0",
    lambda: "1" * 400,
    lambda: "NaN",
    lambda: r'"\ud800"',
    lambda: r'"a\u0000b"',
    lambda: '"' + "x" * 20_000 + '"',
    lambda: "[" * 3_000 + "]" * 3_000,
    lambda: '{"a":' * 500 + "1" + "}" * 500,
    lambda: "[" + ",".join(["{}"] * 2_000) + "]",
    lambda: "null",
    lambda: "[]",
    lambda: "{}",
    lambda: "true",
    lambda: '""',
    lambda: "-1",
    lambda: "9223372036854775808",
)
FIELDS = sorted({field for message in KINDS.values() for field in message.__struct_fields__})


def frames_of(entry: dict[str, Any]) -> list[bytes]:
    if "frames_hex" in entry:
        return [bytes.fromhex(each) for each in entry["frames_hex"]]
    return [each.encode() for each in entry["frames"]]


class Fuzzer:
    """Makes messages by a seed. ``stolen`` gives sessions and tokens of others, as somebody who listens might know."""

    def __init__(self, seed: int, stolen: Callable[[], tuple[Sequence[str], Sequence[str]]]) -> None:
        self._chance = random.Random(seed)
        self._stolen = stolen
        self._sound = [frames_of(entry) for entry in (*VECTORS["messages"], *VECTORS["unreadable"])]

    def message(self, session: str) -> list[bytes]:
        """The next one; ``session`` is the sender's own."""
        makers = (self._noise, self._wounded, self._odd, self._replayed, self._greeting)
        frames = self._chance.choice(makers)(session)
        # Whoever comes with a sound hello is a worker, and would be given work if it has the handler.
        return frames if frames and frames[0] != b"hello" else self._greeting(session)

    def _noise(self, session: str) -> list[bytes]:
        count = self._chance.choice((1, 2, 3, 4, 4, 4, 5, 7))
        return [self._chance.randbytes(self._chance.choice((0, 1, 8, 300))) for _ in range(count)]

    def _wounded(self, session: str) -> list[bytes]:
        frames = list(self._chance.choice(self._sound))
        where = self._chance.randrange(len(frames))
        match self._chance.randrange(5):
            case 0:
                del frames[where]
            case 1:
                frames.insert(where, frames[where])
            case 2:
                frames[where] = frames[where][: len(frames[where]) // 2]
            case 3 if frames[where]:
                at = self._chance.randrange(len(frames[where]))
                changed = bytes([frames[where][at] ^ (1 << self._chance.randrange(8))])
                frames[where] = frames[where][:at] + changed + frames[where][at + 1 :]
            case _:
                frames[1:2] = [session.encode()]
        return frames

    def _odd(self, session: str) -> list[bytes]:
        fields = self._chance.sample(FIELDS, self._chance.randint(1, 8))
        body = ",".join(f'"{field}":{self._chance.choice(ODD)()}' for field in fields)
        return self._sealed(self._chance.choice((*KINDS, "tomorrow")), session, f"{{{body}}}".encode())

    def _replayed(self, session: str) -> list[bytes]:
        """In the name of somebody else, or about what somebody else was given."""
        sessions, tokens = self._stolen()
        named = [self._chance.choice(tokens)] if tokens else ["9.9:1"]
        result = {"step_id": "1", "status": "completed", "output": "stolen", "metadata": {"token": named[0]}}
        listed = [{"token": token, "state": self._chance.choice(("waiting", "running", "done"))} for token in named]
        kind, body = self._chance.choice(
            (
                ("results", {"batch_id": "b", "protocol_version": "1.0", "results": [result]}),
                ("heartbeat", {"seq": self._chance.randint(1, 1 << 40), "credits": 0, "in_flight": listed}),
                ("credit", {"seq": self._chance.randint(1, 1 << 40), "credits": 0}),
                ("received", {"tokens": named}),
                ("start", {"tokens": named}),
                ("log", {"token": named[0], "offset": 0, "lines": [{"stream": "stdout", "text": "stolen"}]}),
                ("progress", {"token": named[0], "done": 1}),
                ("bye", {"reason": "stolen"}),
                ("error", {"code": "malformed", "message": "stolen"}),
            )
        )
        said = self._chance.choice((session, *sessions))
        if said == session and kind == "bye":
            kind, body = "drain", {}
        return self._sealed(kind, said, json.dumps(body).encode())

    def _greeting(self, session: str) -> list[bytes]:
        hello: dict[str, Any] = {
            "versions": ["1.0"],
            "worker_id": f"fuzz-{self._chance.randrange(1 << 30)}",
            "seq": self._chance.choice((0, 1, -1, 1 << 70)),
            "codecs": ["json"],
            "credits": self._chance.choice((1, 0, -5, 10**9)),
            "handlers": ["fuzz"],
            "in_flight": [{"token": token, "state": "done"} for token in self._stolen()[1][:3]],
        }
        odd = self._chance.choice(
            ("name", "host", "language", "pid", "boot_id", "labels", "process_started", "in_flight")
        )
        body = json.dumps(hello)[:-1] + f', "{odd}": {self._chance.choice(ODD)()}}}'
        return self._sealed("hello", "", body.encode())

    @staticmethod
    def _sealed(kind: str, session: str, body: bytes) -> list[bytes]:
        parts = [kind.encode(), session.encode(), body]
        return [*parts, check_of(parts)]
