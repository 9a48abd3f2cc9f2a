"""The Node worker keeps its own tests, and the protocol: every session of the vectors, played by the scripted hub."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.keyed_hub import WAYS, encrypted_round, refused_round
from turnout.conformance.session_runner import NO_IPV6

ROOT = Path(__file__).parents[2]
SDK = ROOT / "sdk/node"
VECTORS = ROOT / "src/turnout/wire/vectors"
PATIENCE = 280
PATIENCE_WITH_NPM = 100
OLDEST = 18
NOT_SPOKEN = {"msgpack"}
"""Sessions about what a worker may do, and this one does not."""


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNOUT_", "NODE_"))}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "LANG": "C.UTF-8"}


def run(*command: str, cwd: Path = ROOT, patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=patience, check=False
    )


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("there is no node on this machine")
    version = run(found, "--version").stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST:
        pytest.skip(f"node is {version}; the worker needs {OLDEST}")
    return found


@pytest.fixture(scope="module")
def sdk(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the SDK with what it depends on, where it finds the vectors as it does in the repository."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm on this machine")
    home = tmp_path_factory.mktemp("node")
    copy = home / "sdk/node"
    shutil.copytree(SDK, copy, ignore=shutil.ignore_patterns("node_modules"))
    (home / VECTORS.relative_to(ROOT)).mkdir(parents=True)
    for file in VECTORS.glob("*.json"):
        shutil.copy(file, home / VECTORS.relative_to(ROOT))
    try:
        # The package brings its binaries: no script has to run.
        installed = run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=copy, patience=PATIENCE_WITH_NPM)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not answer")
    if installed.returncode != 0:
        pytest.skip(f"npm cannot install zeromq: {installed.stderr[-200:]}")
    loaded = run(node, "--input-type=module", "--eval", "import 'zeromq'", cwd=copy)
    if loaded.returncode != 0:
        pytest.skip(f"zeromq has no binary for this machine: {loaded.stderr[-200:]}")
    return copy


def test_the_node_worker_keeps_its_own_tests(node: str, sdk: Path) -> None:
    files = sorted(str(path) for path in (sdk / "test").glob("*.test.js"))
    done = run(node, "--test", "--test-reporter=tap", *files, cwd=sdk)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# fail 0\n" in done.stdout
    assert "\n# skipped 0\n" in done.stdout


def test_the_node_worker_keeps_the_protocol_in_every_session(node: str, sdk: Path) -> None:
    program = f"{node} {sdk / 'conformance/worker.mjs'}"
    done = run(
        sys.executable, "-m", "turnout", "conformance", "--cmd", program, "--patience", "4", "--jobs", "12", "--json"
    )
    played = json.loads(done.stdout)
    broken = [
        each
        for each in played["sessions"]
        if each["verdict"] != ("skipped" if each["session"] in NOT_SPOKEN else "passed") and each["reason"] != NO_IPV6
    ]
    assert not broken, json.dumps(broken, indent=1, ensure_ascii=False)
    assert done.returncode == 0


@WAYS
def test_the_node_worker_works_for_a_hub_with_keys_until_its_key_is_revoked(
    node: str, sdk: Path, tmp_path: Path, keys: Any
) -> None:
    encrypted_round([node, str(sdk / "conformance/worker.mjs")], tmp_path, environment(), own=keys, cwd=sdk)


def test_a_node_worker_with_a_key_that_is_not_listed_ends_and_says_why(node: str, sdk: Path, tmp_path: Path) -> None:
    refused_round([node, str(sdk / "conformance/worker.mjs")], tmp_path, environment(), cwd=sdk)
