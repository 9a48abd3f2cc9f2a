"""A server with a hub, a worker, and a workflow file whose steps print numbered lines, here and elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

import turnout
from tests.faults.children import eventually
from tests.faults.scale import PATIENCE, start_python
from tests.faults.workers import free_addresses

LOCAL_LINES, REMOTE_LINES = 25, 60
LINES = {"spoken": LOCAL_LINES, "counted": LOCAL_LINES, "elsewhere": REMOTE_LINES}
"""Numbered lines of each step, from 0. Shell and Python steps run in the server."""

STEPS = f"""
type: graph
steps:
  - name: spoken
    script: |
      n=0
      while [ $n -lt {LOCAL_LINES} ]; do
        echo "$TURNOUT_RUN_ID spoken $TURNOUT_ATTEMPT $n $(date +%s.%N)" >> "$NUMBERED_FILE"
        echo "line $n"
        n=$((n + 1))
        sleep 0.03
      done
  - name: counted
    python: counting:count
  - name: elsewhere
    handler: counting.elsewhere
  - name: last
    depends: [spoken, counted, elsewhere]
    command: echo done
"""

TASKS = f'''
"""Bodies that print numbered lines, and keep a list of what they have printed."""

import os
import time

from turnout import TaskInfo, injected, task, workflow
from turnout.worker import handler


def print_lines(info: TaskInfo, name: str, count: int, pause: float) -> int:
    for number in range(count):
        with open(os.environ["NUMBERED_FILE"], "a") as file:
            file.write(f"{{info.run_id}} {{name}} {{info.attempt}} {{number}} {{time.time()}}\\n")
        print("line", number)
        time.sleep(pause)
    return count


@task
def count(info: TaskInfo = injected()) -> int:
    return print_lines(info, "counted", {LOCAL_LINES}, 0.03)


@workflow
def counting() -> int:
    return count()


@handler("counting.elsewhere")
def elsewhere(info: TaskInfo = injected()) -> int:
    return print_lines(info, "elsewhere", {REMOTE_LINES}, 0.05)
'''

CONFIG = """
workflows = ["counting.py", "numbered.yaml"]

[hub]
address = "{hub}"
heartbeat = 0.5
resend = 0.5
"""


class Printed(NamedTuple):
    """One line that a body was about to print."""

    run_id: str
    task: str
    attempt: int
    number: int
    at: float


class ServerSite:
    """One folder with a server that can be killed and started again at the same addresses, and a worker."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.hub, api = free_addresses(2)
        self.api = api.replace("tcp://", "http://")
        self._printed = folder / "printed"
        self._printed.touch()
        (folder / "numbered.yaml").write_text(STEPS)
        (folder / "counting.py").write_text(TASKS)
        (folder / "turnout.toml").write_text(CONFIG.format(hub=self.hub))
        self._started: list[subprocess.Popen[str]] = []
        self.server = self.start_server()
        self.worker = self._start("worker", "--connect", self.hub, "--import", "counting", "--concurrency", "64")

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TURNOUT_")}
        environment |= {
            "PYTHONPATH": f"{Path(turnout.__file__).parents[1]}:{self.folder}",
            "NUMBERED_FILE": str(self._printed),
        }
        with (self.folder / f"{arguments[0]}{len(self._started)}.log").open("wb") as log:
            process = start_python(
                ["-m", "turnout", *arguments],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._started.append(process)
        return process

    def start_server(self) -> subprocess.Popen[str]:
        """Starts it at once after the one before was killed; ``until_ready`` waits for it."""
        port = self.api.rpartition(":")[2]
        self.server = self._start("server", "--insecure-local", "--port", port, "--database", self.url)
        return self.server

    def kill_server(self) -> None:
        self.server.kill()
        self.server.wait()

    def until_ready(self) -> None:
        def ready() -> bool:
            assert self.server.poll() is None, f"the server has ended\n{self.tail()}"
            try:
                return httpx.get(f"{self.api}/readyz", timeout=5).status_code == 200
            except httpx.TransportError:
                return False

        eventually("the server is ready", ready)

    def until_joined(self) -> None:
        """Waits until the worker has a session with this server."""
        eventually("the worker is there", lambda: self.get("/workers")["workers"])

    def submit(self) -> str:
        answer = httpx.post(f"{self.api}/api/v1/runs", json={"workflow": "numbered"}, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        return answer.json()["run"]["id"]

    def get(self, path: str) -> Any:
        answer = httpx.get(f"{self.api}/api/v1{path}", timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def texts(self, run_id: str, task: str, attempt: int) -> list[str]:
        return [line["text"] for line in self.get(f"/runs/{run_id}/tasks/{task}/attempts/{attempt}/logs")["lines"]]

    def printed(self) -> Iterator[Printed]:
        for line in self._printed.read_text().splitlines():
            run_id, task, attempt, number, at = line.split()
            yield Printed(run_id, task, int(attempt), int(number), float(at))

    def tail(self) -> str:
        logs = sorted(self.folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2_000:]}" for path in logs[-3:])

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()


def shown(run: Any) -> str:
    return json.dumps(run, indent=1)[:4_000]
