"""A hub with keys for a worker program in any language, told its own by the variables that all of them know."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from curve_keys import HubKeys, new_pair

from turnout import Runner, remote, workflow
from turnout.wire.keys import KeyPair, pair_text

PATIENCE = 120.0


def address() -> str:
    """Of version 6, where this machine has it."""
    with socket.socket(socket.AF_INET6) as trial:
        try:
            trial.bind(("::1", 0))
        except OSError:
            return "tcp://127.0.0.1:0"
    return "tcp://[::1]:0"


echo = remote("echo", handler="conformance.echo")


@workflow
def echoing(word: str) -> Any:
    return echo(word=word)


def as_variables(pair: KeyPair, folder: Path) -> dict[str, str]:
    """The worker's own pair, said by itself."""
    return {"TURNOUT_CURVE_PUBLIC_KEY": pair.public, "TURNOUT_CURVE_SECRET_KEY": pair.secret}


def as_file(pair: KeyPair, folder: Path) -> dict[str, str]:
    """The worker's own pair in a file that, by mistake, others can read."""
    file = folder / "worker.key"
    file.write_text(pair_text(pair))
    file.chmod(0o644)
    return {"TURNOUT_CURVE_KEY_FILE": str(file)}


WAYS = pytest.mark.parametrize("keys", [as_variables, as_file])
"""The ways in which a worker is told its own pair."""


def encrypted_round(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    own: Callable[[KeyPair, Path], dict[str, str]],
    cwd: Path | None = None,
) -> None:
    """The program does a step for a hub with keys; then its key is taken away, and it ends with an error."""
    keys, mine = HubKeys(folder), new_pair()
    keys.allow(mine=(mine, 'labels = { zone = "a" }'))
    options = {"workflows": [echoing], "config": False, "handle_sigterm": False}
    with Runner(f"sqlite:///{folder}/keys.db", hub=keys.settings(address=address()), **options) as runner:
        said = {
            "TURNOUT_CONNECT": str(runner.hub),
            "TURNOUT_WORKER_LABELS": "zone=a",
            "TURNOUT_CURVE_SERVER_KEY": keys.pair.public,
            **own(mine, folder),
        }
        with (folder / "worker.log").open("w+") as log:
            program = subprocess.Popen(
                command,
                cwd=cwd,
                env={**environment, **said},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                handle = runner.submit(echoing, "hello")
                deadline = time.monotonic() + PATIENCE
                while not handle.status().state.terminal:
                    assert program.poll() is None and time.monotonic() < deadline, (folder / "worker.log").read_text()
                    time.sleep(0.05)
                assert handle.result()["args"] == {"word": "hello"}
                keys.allow()
                assert program.wait(PATIENCE) != 0, "a worker that no hub wants any more ends with an error"
            finally:
                program.kill()
                program.wait()
        text = (folder / "worker.log").read_text()
        assert "key_refused" in text and mine.secret not in text, text
        assert ("others on this machine can read" in text) == (own is as_file), text


def refused_round(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], *, cwd: Path | None = None
) -> None:
    """The program has a key that is not listed: it ends with an error, and says why."""
    keys, mine = HubKeys(folder), new_pair()
    keys.allow()
    options = {"workflows": [echoing], "config": False, "handle_sigterm": False}
    with Runner(f"sqlite:///{folder}/refused.db", hub=keys.settings(), **options) as runner:
        said = {
            "TURNOUT_CONNECT": str(runner.hub),
            "TURNOUT_CURVE_SERVER_KEY": keys.pair.public,
            "TURNOUT_CURVE_PUBLIC_KEY": mine.public,
            "TURNOUT_CURVE_SECRET_KEY": mine.secret,
        }
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**environment, **said},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 1 and "key_refused" in done.stderr and mine.secret not in done.stderr, done.stderr
