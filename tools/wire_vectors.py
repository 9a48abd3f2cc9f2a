"""Writes the frames of ``src/turnout/wire/vectors/messages.json`` anew, from the kinds, sessions and bodies in it.

Add a message by hand, without ``frames``, and run this. The frames are computed without ``turnout.wire``, so that the
test that reads them with it compares two things.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).parents[1] / "src/turnout/wire/vectors/messages.json"


def frames(kind: str, session: str, body: bytes) -> list[bytes]:
    parts = [kind.encode(), session.encode(), body]
    return [*parts, f"{zlib.crc32(b''.join(parts)):08x}".encode()]


def written(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns the entry with its frames."""
    kept = {key: value for key, value in entry.items() if key not in ("frames", "frames_hex")}
    if entry["codec"] == "msgpack":
        body = msgspec.msgpack.encode(entry["body"])
        return {**kept, "frames_hex": [each.hex() for each in frames(entry["kind"], entry["session"], body)]}
    body = json.dumps(entry["body"], ensure_ascii=False, separators=(",", ":")).encode()
    return {**kept, "frames": [each.decode() for each in frames(entry["kind"], entry["session"], body)]}


def main() -> None:
    document = json.loads(FILE.read_text())
    document["messages"] = [written(each) for each in document["messages"]]
    lists = {key: ",\n".join(f"    {line(each)}" for each in document[key]) for key in ("messages", "unreadable")}
    FILE.write_text(
        f'{{\n  "protocol_version": "{document["protocol_version"]}",\n'
        f'  "messages": [\n{lists["messages"]}\n  ],\n  "unreadable": [\n{lists["unreadable"]}\n  ]\n}}\n'
    )


def line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
