"""Keys for tests: a hub's files in a folder, and workers' pairs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import zmq

from turnout.executors.workers.settings import HubSettings
from turnout.wire.keys import KeyPair, pair_text
from turnout.worker.settings import CurveKeys


def new_pair() -> KeyPair:
    public, secret = zmq.curve_keypair()
    return KeyPair(public.decode(), secret.decode())


class HubKeys:
    """The files of one hub."""

    def __init__(self, folder: Path) -> None:
        self.pair = new_pair()
        self.key_file, self.workers_file = folder / "hub.key", folder / "workers.toml"
        self.key_file.touch(mode=0o600)
        self.key_file.write_text(pair_text(self.pair))
        self.allow()

    def allow(self, **workers: tuple[KeyPair, str]) -> None:
        """From now on these and no others: a pair, and further lines of its entry, by name."""
        entries = [
            f'[[worker]]\nname = "{name}"\nkey = "{pair.public}"\n{more}\n' for name, (pair, more) in workers.items()
        ]
        self.write("\n".join(entries))

    def write(self, text: str) -> None:
        fresh = self.workers_file.with_suffix(".fresh")
        fresh.write_text(text)
        os.replace(fresh, self.workers_file)

    def of(self, pair: KeyPair) -> CurveKeys:
        """What a worker with this pair is told."""
        return CurveKeys(self.pair.public, pair.public, pair.secret)

    def settings(self, **options: Any) -> HubSettings:
        settings = HubSettings(
            address="tcp://127.0.0.1:0",
            key_file=str(self.key_file),
            workers_file=str(self.workers_file),
            heartbeat=0.2,
            lease=20.0,
            resend=0.2,
        )
        return msgspec.structs.replace(settings, **options)
