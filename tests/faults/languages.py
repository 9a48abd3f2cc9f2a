"""In which languages can workers be started here? The command of a worker with the tests' handler, for each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

import turnout

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("elsewhere")
PATIENCE_WITH_NPM = 100
PATIENCE_WITH_GO = 280


class Missing(Exception):
    """Why a language is left out."""


class Program(msgspec.Struct, frozen=True):
    """How a worker of one language is started."""

    language: str
    command: tuple[str, ...]
    environment: dict[str, str]


def programs(folder: Path) -> dict[str, Program]:
    """By language; those that cannot be started on this machine are left out, and it is said why."""
    makers: dict[str, Callable[[Path], Program]] = {"ruby": _ruby, "go": _go, "node": _node}
    found = {"python": python()}
    for language, make in makers.items():
        try:
            found[language] = make(folder)
        except Missing as why:
            print(f"without {language}: {why}")
    return found


def python() -> Program:
    path = f"{Path(turnout.__file__).parents[1]}{os.pathsep}{PROGRAMS}"
    return Program("python", (sys.executable, "-m", "turnout", "worker", "--import", "handlers"), {"PYTHONPATH": path})


def _ruby(folder: Path) -> Program:
    ruby = _which("ruby")
    _asked(ruby, "-e", "require 'ffi-rzmq'", what="ruby cannot load ffi-rzmq")
    return Program("ruby", (ruby, str(PROGRAMS / "worker.rb")), {"TURNOUT_FAULTS_SDK": str(ROOT / "sdk/ruby")})


def _go(folder: Path) -> Program:
    go, program = _which("go"), folder / "elsewhere"
    _which("gcc")
    made = {"GOFLAGS": "-buildvcs=false", "GOPROXY": "off", "CGO_ENABLED": "1"}
    build = (go, "build", "-o", str(program), ".")
    _asked(*build, what="go cannot build it", where=PROGRAMS / "go", patience=PATIENCE_WITH_GO, **made)
    return Program("go", (str(program),), {})


def _node(folder: Path) -> Program:
    node, npm, sdk = _which("node"), _which("npm"), folder / "node"
    shutil.copytree(ROOT / "sdk/node", sdk, ignore=shutil.ignore_patterns("node_modules"))
    # The package brings its binaries: no script has to run.
    install = (npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    _asked(*install, what="npm cannot install zeromq", where=sdk, patience=PATIENCE_WITH_NPM)
    _asked(node, "--input-type=module", "--eval", "import 'zeromq'", what="zeromq does not load", where=sdk)
    return Program("node", (node, str(PROGRAMS / "worker.mjs")), {"TURNOUT_FAULTS_SDK": str(sdk)})


def _which(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"there is no {name} on this machine")
    return found


def _asked(*command: str, what: str, where: Path = ROOT, patience: float = 60, **environment: str) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=where,
            env={"HOME": "/tmp", **os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{what}: no answer in {patience:g} s") from error
    if done.returncode != 0:
        raise Missing(f"{what}: {done.stderr[-300:]}")
