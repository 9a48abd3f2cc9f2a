"""A real Ray cluster of one node with token authentication and a resource of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.sites import ROOT, SITES, RaySite

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(SITES["ray"].missing() is not None, reason="the package ray is not installed"),
]
PROGRAM = """
import asyncio, json, sys
from pathlib import Path

import tests.executor_flows as flows
from tests.kit.waiting import until
from turnout import Runner
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import InvalidSetting
from turnout.executors.ray.executor import RayBackend, RayExecutor

address, token, folder = sys.argv[1:]
said = {}


def refused(*options):
    try:
        asyncio.run(RayBackend(*options).open())
    except InvalidSetting as error:
        return error.message


def main():
    executor = RayExecutor(address, token_file=token, heartbeat=1.0, lease=30.0)
    routing = RoutingConfig("default", rules=(
        RoutingRule("**::held_with", "ray", resources={"gpu": 0, "license": 2}),
        RoutingRule("**::greet", "ray", resources={"cpu": 0.00001}),
        RoutingRule("**", "ray"),
    ))
    notes, go = Path(folder) / "notes", Path(folder) / "go"
    with Runner(
        f"sqlite:///{folder}/runs.db", workflows=flows.FLOWS, executors={"ray": executor}, routing=routing, config=False
    ) as runner:
        run = runner.submit(flows.equipped, path=str(notes), go=str(go))
        until(notes.exists, "the body has not begun")
        until(lambda: executor.figures["free"].get("license", 0) == 0, "the resource is not taken")
        said["total"] = executor.figures["total"]["license"]
        until(lambda: any(line.stream == "progress" for line in run.logs()), "its progress has not come")
        go.touch()
        said["pid"] = run.result(120)
        import ray

        others = ray.remote(flows.hold).options(num_cpus=1).remote(f"{folder}/others", f"{folder}/stop")
        until(lambda: executor.metrics().capacity == 1, "what others use is offered")
        Path(folder, "stop").touch()
        ray.get(others)
        until(lambda: executor.metrics().capacity == 2, "what others gave back is not offered")
        tiny = runner.submit(flows.success, "Ada")
        tiny.wait(120)
        said["tiny"] = [tiny.status().state.value, len(tiny.attempts()), tiny.attempts()[0].error]
        said["other address"] = refused("127.0.0.1:1", "default", None, {}, None)
        said["runtime_env"] = refused(address, "default", None, {"env_vars": {"A": "b"}}, None)
        said["token"] = refused(address, "default", "/another/file", {}, None)
        said["same"] = refused(address, "default", token, {}, None)


main()
print(json.dumps(said))
"""
CHECK = """
import asyncio, json, sys
from turnout.executors.ray.executor import RayExecutor

address, token = sys.argv[1:]
print(json.dumps(asyncio.run(RayExecutor(address, token_file=token or None).check())), flush=True)
"""


class TokenRay(RaySite):
    workers = 0
    head_options = ("--num-cpus", "2", "--resources", '{"license": 2}')

    def environment(self) -> dict[str, str]:
        self.token = self.folder / "token"
        self.token.write_text("a" * 40)
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenRay]:
    site = TokenRay(tmp_path_factory.mktemp("ray"))
    try:
        site.start()
        yield site
    finally:
        site.close()


def said_by(program: str, *arguments: str) -> Any:
    """Returns what a program says: Ray keeps the token that a process has used."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_run_completes_with_the_token_and_the_resources_of_its_rule_and_the_connection_is_not_misused(
    site: TokenRay, tmp_path: Path
) -> None:
    said = said_by(PROGRAM, site.address, str(site.token), str(tmp_path))
    assert said["total"] == 2 and said["pid"]
    state, attempts, error = said["tiny"]
    assert (state, attempts) == ("failed", 1) and "the cluster does not take it" in error, "Ray counts in 0.0001"
    assert "'127.0.0.1:1', and this process is connected to the Ray cluster at" in said["other address"]
    assert "runtime_env belongs to the connection" in said["runtime_env"]
    assert "token_file belongs to the connection" in said["token"]
    assert said["same"] is None


def test_a_check_says_that_the_cluster_is_reached_with_the_right_token(site: TokenRay) -> None:
    assert said_by(CHECK, site.address, str(site.token)) is None


def test_a_check_with_another_token_says_so(site: TokenRay, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("b" * 40)
    said = said_by(CHECK, site.address, str(wrong))
    assert said.startswith(f"{site.address}: ") and f"{wrong} has another token" in said


def test_a_check_of_a_port_where_nothing_listens_says_so() -> None:
    assert said_by(CHECK, "127.0.0.1:1", "") == "127.0.0.1:1: Connection refused"
