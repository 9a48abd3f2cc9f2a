"""Prepares and starts a worker in each language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SDK = HERE.parents[1] / "sdk"
PATIENCE = 100


class Missing(Exception):
    """Raised when this machine cannot run workers in a language; the message says what to install."""


class Language(NamedTuple):
    """A worker program."""

    name: str
    labels: str
    command: Sequence[str]
    missing: str = ""
    """Why Python stands in for it, if it does."""

    def start(self, hub: str, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Its output goes to a file. In a session of its own: Ctrl-C is for the program that started it."""
        own = {
            "TURNOUT_CONNECT": hub,
            "TURNOUT_WORKER_NAME": self.name,
            "TURNOUT_WORKER_LABELS": self.labels,
            "TURNOUT_WORKER_CONCURRENCY": "2",
        }
        with log.open("wb") as written:
            return subprocess.Popen(
                self.command,
                cwd=HERE,
                env={**os.environ, **environment, **own},
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                start_new_session=True,
            )


def python(*modules: str) -> list[str]:
    return [sys.executable, "-m", "turnout", "worker", *(word for each in modules for word in ("--import", each))]


def ruby() -> list[str]:
    program = tool("ruby", "Debian: ruby ruby-ffi-rzmq")
    succeed([program, "-e", 'require "ffi-rzmq"'], "ruby lacks ffi-rzmq (Debian: ruby-ffi-rzmq)")
    return [program, str(SDK / "ruby/exe/turnout-worker"), "-r", "./ruby/handlers.rb"]


def go() -> list[str]:
    program = tool("go", "Debian: golang-go gcc libc6-dev libzmq3-dev")
    tool("gcc", "Debian: gcc libc6-dev")
    succeed(
        [program, "build", "-buildvcs=false", "-o", "labels", "."],
        "go cannot build it (Debian: gcc libc6-dev libzmq3-dev)",
        HERE / "go",
    )
    return [str(HERE / "go/labels")]


def node() -> list[str]:
    program, npm = tool("node", "Debian: nodejs npm"), tool("npm", "Debian: npm")
    # The packages bring their binaries: no script has to run.
    quietly = ["--ignore-scripts", "--no-audit", "--no-fund"]
    if not (SDK / "node/node_modules/zeromq").is_dir():
        succeed([npm, "ci", *quietly], "npm cannot install zeromq", SDK / "node")
    succeed([npm, "install", *quietly], "npm cannot link the SDK", HERE / "node")
    loads = [program, "--input-type=module", "--eval", "import 'turnout-worker'"]
    succeed(loads, "zeromq has no binary for this machine", HERE / "node")
    return [program, "./node/worker.mjs"]


OTHERS = (
    ("ruby", "language=ruby", ruby, "./stand_ins/process_payment.py"),
    ("go", "language=go,gpu=true", go, "./stand_ins/draw_label.py"),
    ("node", "language=node", node, "./stand_ins/send_notification.py"),
)


def languages(without: Sequence[str] = ()) -> list[Language]:
    """Returns all four, prepared. Python with the same handlers replaces one that is missing or not wanted."""
    found = [Language("python", "language=python", python("orders", "./python/ship_order.py"))]
    for name, labels, prepare, stand_in in OTHERS:
        try:
            if name in without:
                raise Missing(f"--without {name}")
            found.append(Language(name, labels, prepare()))
        except Missing as reason:
            found.append(Language(name, labels, python(stand_in), str(reason)))
    return found


def tool(name: str, packages: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"there is no {name} on this machine ({packages})")
    return found


def succeed(command: Sequence[str], otherwise: str, folder: Path = HERE) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise Missing(f"{otherwise}: no answer in {PATIENCE} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it did not say why"]
        raise Missing(f"{otherwise}: {said[-1]}")
