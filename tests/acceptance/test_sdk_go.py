"""The Go worker keeps its own tests, and the protocol: every session of the vectors, played by the scripted hub."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.keyed_hub import WAYS, encrypted_round, refused_round
from turnout.conformance.sockets import has_ipv6

ROOT = Path(__file__).parents[2]
SDK = ROOT / "sdk/go"
PATIENCE = 280
LEFT_OUT = {"msgpack"}
"""Sessions about what the protocol leaves to a worker and this one does not have."""


@pytest.fixture(scope="module")
def go() -> str:
    found = shutil.which("go")
    if found is None:
        pytest.skip("there is no go on this machine (Debian: golang-go)")
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc on this machine: libzmq is called through cgo (Debian: gcc libc6-dev)")
    asked = subprocess.run(
        ["gcc", "-E", "-"], input="#include <zmq.h>", capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if asked.returncode != 0:
        pytest.skip(f"the headers of libzmq are not here (Debian: libzmq3-dev): {asked.stderr[-200:]}")
    return found


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNOUT_")}
    own = {"PYTHONPATH": str(ROOT / "src"), "GOFLAGS": "-buildvcs=false", "GOPROXY": "off", "CGO_ENABLED": "1"}
    return {"HOME": "/tmp", **kept, **own}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=ROOT / "sdk/go", env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.fixture(scope="module")
def program(go: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The worker, built once for all tests here."""
    file = str(tmp_path_factory.mktemp("go") / "worker")
    built = run(go, "build", "-o", file, "./conformance")
    assert built.returncode == 0, built.stderr
    return file


def test_the_go_worker_keeps_its_own_tests(go: str) -> None:
    vetted = run(go, "vet", "./...")
    assert vetted.returncode == 0, vetted.stderr
    done = run(go, "test", "-count=1", "-p=1", "./...")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_elsewhere_fetches_the_module_and_builds_with_it(go: str, tmp_path: Path) -> None:
    """From a proxy of modules in a folder, as from any other."""
    module = (SDK / "go.mod").read_text().split()[1]
    versions = tmp_path / "proxy" / module / "@v"
    versions.mkdir(parents=True)
    (versions / "list").write_text("v0.1.0\n")
    (versions / "v0.1.0.info").write_text('{"Version": "v0.1.0"}')
    shutil.copy(SDK / "go.mod", versions / "v0.1.0.mod")
    with zipfile.ZipFile(versions / "v0.1.0.zip", "w") as archive:
        for file in (each for each in SDK.rglob("*") if each.is_file()):
            archive.write(file, f"{module}@v0.1.0/{file.relative_to(SDK)}")
    program = tmp_path / "program"
    program.mkdir()
    (program / "go.mod").write_text("module example.com/shipping\n\ngo 1.19\n")
    text = 'package main\n\nimport worker "MODULE"\n\nfunc main() { _ = worker.Options{} }\n'
    (program / "main.go").write_text(text.replace("MODULE", module))
    fetching = {
        **environment(),
        "GOPROXY": (tmp_path / "proxy").as_uri(),
        "GONOSUMDB": "*",
        "GOFLAGS": "-mod=mod -modcacherw",
        "GOMODCACHE": str(tmp_path / "modules"),
    }
    for words in (["get", f"{module}@v0.1.0"], ["build", "./..."]):
        done = subprocess.run(
            [go, *words], cwd=program, env=fetching, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "modules" / f"{module}@v0.1.0" / "LICENSE").is_file()


def test_the_go_worker_keeps_the_protocol_in_every_session(program: str) -> None:
    done = run(
        sys.executable,
        "-m",
        "turnout",
        "conformance",
        "--cmd",
        program,
        "--patience",
        "4",
        "--jobs",
        "6",
        "--json",
    )
    played = json.loads(done.stdout)
    broken = [each for each in played["sessions"] if each["verdict"] == "failed"]
    assert not broken, json.dumps(broken, indent=1, ensure_ascii=False)
    skipped = {each["session"] for each in played["sessions"] if each["verdict"] == "skipped"}
    assert skipped <= LEFT_OUT | (set() if has_ipv6() else {"ipv6"})
    assert done.returncode == 0


@WAYS
def test_the_go_worker_works_for_a_hub_with_keys_until_its_key_is_revoked(
    program: str, tmp_path: Path, keys: Any
) -> None:
    encrypted_round([program], tmp_path, environment(), own=keys)


def test_a_go_worker_with_a_key_that_is_not_listed_ends_and_says_why(program: str, tmp_path: Path) -> None:
    refused_round([program], tmp_path, environment())
