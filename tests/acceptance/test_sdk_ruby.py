"""The Ruby worker keeps its own tests, and the protocol: every session of the vectors, played by the scripted hub."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.keyed_hub import WAYS, encrypted_round, refused_round
from turnout.conformance.session_runner import NO_IPV6

ROOT = Path(__file__).parents[2]
PATIENCE = 280
NEEDED = 'require "ffi-rzmq"; require "minitest"'
WITHOUT_SOCKETS = ["test/frames_test.rb", "test/worker_session_test.rb", "test/job_test.rb"]
HOMEPAGE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
LEFT_OUT = {NO_IPV6, "it does not offer msgpack"}
"""What a machine may lack: IPv6, and the gem for MessagePack."""


@pytest.fixture(scope="module")
def ruby() -> str:
    found = shutil.which("ruby")
    if found is None:
        pytest.skip("there is no ruby on this machine")
    asked = subprocess.run([found, "-e", NEEDED], capture_output=True, text=True, timeout=PATIENCE, check=False)
    if asked.returncode != 0:
        pytest.skip(f"ruby lacks ffi-rzmq or minitest (Debian: ruby-ffi-rzmq ruby-minitest): {asked.stderr[-200:]}")
    return found


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNOUT_", "RUBY"))}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "LANG": "C.UTF-8"}


def test_the_ruby_worker_keeps_its_own_tests(ruby: str) -> None:
    done = subprocess.run(
        [ruby, "-w", str(ROOT / "sdk/ruby/bin/test")],
        cwd=ROOT / "sdk/ruby",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures, 0 errors, 0 skips" in done.stdout
    assert "sdk/ruby" not in done.stderr, "Ruby warns about this code"


def test_the_ruby_worker_keeps_its_own_tests_without_messagepack(ruby: str, tmp_path: Path) -> None:
    (tmp_path / "msgpack.rb").write_text('raise LoadError, "cannot load such file -- msgpack"')
    hidden = {**environment(), "RUBYLIB": str(tmp_path)}
    named = "puts Turnout::Wire::Codec::NAMES.inspect"
    for words in (["-I", "lib", "-r", "turnout/wire/codec", "-e", named], ["bin/test", *WITHOUT_SOCKETS]):
        done = subprocess.run(
            [ruby, *words],
            cwd=ROOT / "sdk/ruby",
            env=hidden,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert '["json"]\n' in done.stdout or "0 failures, 0 errors, 0 skips" in done.stdout


def test_the_gem_has_its_licence_and_says_where_it_comes_from(ruby: str) -> None:
    script = "spec = Gem::Specification.load(ARGV[0]); puts spec.homepage, spec.license, spec.files"
    done = subprocess.run(
        [ruby, "-e", script, "turnout-worker.gemspec"],
        cwd=ROOT / "sdk/ruby",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    homepage, licence, *files = done.stdout.splitlines()
    assert homepage == HOMEPAGE and licence == "Apache-2.0" and {"LICENSE", "README.md"} <= set(files)


def test_the_ruby_worker_keeps_the_protocol_in_every_session(ruby: str) -> None:
    program = f"{ruby} {ROOT / 'sdk/ruby/conformance/worker.rb'}"
    done = subprocess.run(
        [sys.executable, "-m", "turnout", "conformance", "--cmd", program, "--patience", "4", "--jobs", "12", "--json"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    played = json.loads(done.stdout)
    broken = [each for each in played["sessions"] if each["verdict"] != "passed" and each["reason"] not in LEFT_OUT]
    assert not broken, json.dumps(broken, indent=1, ensure_ascii=False)
    assert done.returncode == 0


@WAYS
def test_the_ruby_worker_works_for_a_hub_with_keys_until_its_key_is_revoked(
    ruby: str, tmp_path: Path, keys: Any
) -> None:
    encrypted_round([ruby, str(ROOT / "sdk/ruby/conformance/worker.rb")], tmp_path, environment(), own=keys)


def test_a_ruby_worker_with_a_key_that_is_not_listed_ends_and_says_why(ruby: str, tmp_path: Path) -> None:
    refused_round([ruby, str(ROOT / "sdk/ruby/conformance/worker.rb")], tmp_path, environment())
