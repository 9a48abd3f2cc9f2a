"""A server on this machine: starts it on a folder with a YAML workflow, runs the workflow over the API, and stops it.

Run it with ``python examples/server/run.py``. Its database is in a folder of its own, which is removed at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

WORKFLOWS = Path(__file__).resolve().parent / "workflows"
WAIT = 60
"""Seconds that the API waits for the end of the run."""


class Api:
    """The API of a server, with a token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Returns the body of the answer."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        with urlopen(Request(f"{self._url}/api/v1{path}", content, headers, method=method)) as answer:
            return json.load(answer)


@contextmanager
def server(folder: Path) -> Iterator[Api]:
    """Runs a server while the block runs. It hands over and ends by SIGTERM."""
    command = [sys.executable, "-m", "turnout", "server", str(WORKFLOWS), "--port", "0", "--json", "--quiet"]
    process = subprocess.Popen(
        [*command, "--database", f"sqlite:///{folder}/turnout.db"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        ready = process.stdout.readline()
        if not ready:
            raise SystemExit(process.stderr.read())
        yield Api(json.loads(ready)["url"], (folder / "turnout-admin-token").read_text().strip())
    finally:
        process.terminate()
        process.wait(30)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="turnout-server-") as name, server(Path(name)) as api:
        print("the server has:", *(each["name"] for each in api.call("GET", "/workflows")["workflows"]))
        print("where its steps go:")
        for each in api.call("GET", "/workflows/report/dispatch")["tasks"]:
            print(f"  {each['task_name'].rpartition('::')[2]}: {each['decision']['reason']}")
        started = api.call("POST", f"/runs?wait={WAIT}", {"workflow": "report"})
        run = started["run"]["id"]
        print(f"run {run}: {started['run']['state']}, result {started['result']}")
        for each in api.call("GET", f"/runs/{run}/tasks")["tasks"]:
            print(f"  {each['name']}: {each['state']}, {each.get('decision', 'once for each of its items')}")


if __name__ == "__main__":
    main()
