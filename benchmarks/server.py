"""Measures ``turnout server`` as it is installed: start, runs of workflow files over the API, followers, and idleness.

python benchmarks/server.py [start] [queue] [latency] [followers] [idle]

One JSON line per workload, with what must hold as ``bar``. The server is a process of its own, with its defaults, on
SQLite; start and idleness are measured on PostgreSQL too, whose log names the statements of an idle server. Python may
store bytecode, as it may where Turnout is installed, and the first start of all is not counted.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import psycopg
from command_line import run_named
from cpu import of_processes

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.postgres import NoPostgres, OwnServer  # noqa: E402

STARTS, ROUNDS = 5, 3
QUEUED = 50
SINGLE_RUNS = 200
FOLLOWERS = 100
IDLE_SECONDS, IDLE_WINDOWS = 20.0, 3
STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): ")

FILES = {
    "three.yaml": "steps:\n  - echo one\n  - echo two\n  - echo three\n",
    "single.yaml": "steps:\n  - echo one\n",
    "talk.py": """
import time
from pathlib import Path

from turnout import task, workflow


@task
def talk(lines: int, pause: float, go: str) -> int:
    while not Path(go).exists():
        time.sleep(0.01)
    for number in range(lines):
        print("line", number, "with some text, as lines of programs have it")
        if pause:
            time.sleep(pause)
    return lines


@workflow
def talking(lines: int, pause: float, go: str) -> int:
    return talk(lines, pause, go)
""",
}


class Server:
    """A server in a folder of its own that is ready, and a client of it."""

    def __init__(self, folder: Path, *arguments: str, token: bool) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turnout", "server", *FILES, "--port", "0", "--json", "--quiet", *arguments],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        url = json.loads(self.process.stdout.readline())["url"]
        self.host, port = re.fullmatch(r"http://(.*):(\d+)", url).groups()  # pyright: ignore[reportOptionalMemberAccess]
        self.port = int(port)
        # httpx reads certificates before its first request, which would count as part of the start.
        probe = HTTPConnection(self.host, self.port)
        probe.request("GET", "/readyz")
        assert probe.getresponse().status == 200
        self.start_seconds = time.perf_counter() - began
        cpu = of_processes([self.process.pid])
        assert cpu is not None, "there is no /proc here"
        self.cpu: Callable[[], float] = cpu
        self.start_cpu = cpu()
        probe.close()
        files = list(folder.glob("**/turnout-admin-token"))
        assert len(files) == token, "a server makes a token on a new database"
        self.headers = {"Authorization": f"Bearer {files[0].read_text().strip()}"} if files else {}
        self.client = httpx.Client(base_url=f"{url}/api/v1", headers=self.headers, timeout=60)

    def post(self, path: str, **body: Any) -> Any:
        answer = self.client.post(path, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def end(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(30)


@contextmanager
def serving(*arguments: str, token: bool = True) -> Iterator[Server]:
    """Yields a server in a new folder. One on a database that another had before makes no ``token``."""
    with tempfile.TemporaryDirectory(prefix="turnout-server-") as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        server = Server(folder, *arguments, token=token)
        try:
            yield server
        finally:
            server.end()


def report(workload: str, **figures: Any) -> None:
    print(json.dumps({"workload": workload, **figures}), flush=True)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


# -- workloads ------------------------------------------------------------------------------------------------------
def start() -> None:
    """Seconds from the start of the process until it is ready, and of its CPU, on a new database."""
    with serving():
        pass
    _report_start("start", serving)
    with postgres() as server:
        if server is None:
            return

        @contextmanager
        def on_postgres() -> Iterator[Server]:
            with server.database(empty=True) as url, serving("--database", url) as started:
                yield started

        _report_start("start, postgresql", on_postgres)


def _report_start(workload: str, started: Callable[[], AbstractContextManager[Server]]) -> None:
    seconds: list[float] = []
    cpu: list[float] = []
    for _ in range(STARTS):
        with started() as server:
            seconds.append(server.start_seconds)
            cpu.append(server.start_cpu)
    median, worst = round(statistics.median(seconds), 2), round(max(seconds), 2)
    report(workload, seconds=median, worst=worst, cpu_seconds=round(statistics.median(cpu), 2), bar=1.5)


@contextmanager
def postgres() -> Iterator[OwnServer | None]:
    """Yields a PostgreSQL of its own; None where there is none."""
    try:
        server = OwnServer()
    except NoPostgres as error:
        print(error, file=sys.stderr)
        yield None
        return
    try:
        yield server
    finally:
        server.destroy()


def queue() -> None:
    """Seconds from the first of 50 enqueued runs of three shell steps until all have ended."""
    seconds: list[float] = []
    with serving() as server:
        for round_ in range(1, ROUNDS + 1):
            began = time.perf_counter()
            for _ in range(QUEUED):
                server.post("/runs/enqueue", workflow="three")
            while _completed(server) < round_ * QUEUED:
                time.sleep(0.02)
            seconds.append(time.perf_counter() - began)
    report("queue", runs=QUEUED, steps=3, seconds=[round(each, 2) for each in seconds], bar=3.0)


def _completed(server: Server) -> int:
    answer = server.client.get("/runs", params={"workflow": "three", "state": "completed", "limit": 1_000})
    return len(answer.json()["runs"])


def latency() -> None:
    """Milliseconds from the request to start a run of one shell step until its answer says that it has ended."""
    taken: list[float] = []
    with serving() as server:
        for _ in range(SINGLE_RUNS):
            began = time.perf_counter()
            answer = server.post("/runs?wait=30", workflow="single")
            taken.append(1_000 * (time.perf_counter() - began))
            assert answer["run"]["state"] == "completed", answer
    p50, p99 = (round(percentile(taken, share), 1) for share in (0.5, 0.99))
    report("latency", runs=SINGLE_RUNS, p50_ms=p50, p99_ms=p99, bar=60)


def followers() -> None:
    """Milliseconds of the server's CPU per event and follower of one run: lines one by one, and all at once."""
    with serving() as server, tempfile.TemporaryDirectory(prefix="turnout-go-") as folder:
        for name, lines, pause in (("one by one", 250, 0.02), ("at once", 2_000, 0.0)):
            go = Path(folder) / name
            started = server.post("/runs", workflow="talking", input={"lines": lines, "pause": pause, "go": str(go)})
            crowd = Crowd(server, started["run"]["id"])
            crowd.listen(until=lambda crowd=crowd: crowd.connected == FOLLOWERS)
            before, began = server.cpu(), time.perf_counter()
            go.touch()
            crowd.listen(until=lambda crowd=crowd: crowd.ended == FOLLOWERS)
            spent, took = server.cpu() - before, time.perf_counter() - began
            assert crowd.lines == lines * FOLLOWERS, f"{crowd.lines} of {lines * FOLLOWERS} lines came"
            each = round(1_000 * spent / crowd.lines, 4)
            report(f"followers, {name}", followers=FOLLOWERS, lines=lines, seconds=round(took, 1), cpu_ms=each, bar=0.1)


class Crowd:
    """Many clients of one run's stream. They only count, so that the machine is the server's."""

    def __init__(self, server: Server, run_id: str) -> None:
        self.lines = self.connected = self.ended = 0
        self._selector = selectors.DefaultSelector()
        headers = {"Host": f"{server.host}:{server.port}", **server.headers}
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        request = f"GET /api/v1/runs/{run_id}/events HTTP/1.1\r\n{fields}\r\n".encode()
        for _ in range(FOLLOWERS):
            client = socket.create_connection((server.host, server.port))
            client.sendall(request)
            client.setblocking(False)
            self._selector.register(client, selectors.EVENT_READ, data=b"")

    def listen(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not until():
            assert time.monotonic() < deadline, "the streams have not ended"
            for key, _ in self._selector.select(0.1):
                client = key.fileobj
                assert isinstance(client, socket.socket)
                text = key.data + client.recv(1 << 20)
                # An event may come in parts.
                whole, separator, rest = text.rpartition(b"\n\n")
                self._selector.modify(client, selectors.EVENT_READ, data=rest)
                self.connected += b"HTTP/1.1 200" in whole
                self.lines += (whole + separator).count(b"event: log\n")
                if b"event: end\n" in whole:
                    self.ended += 1
                    self._selector.unregister(client)
                    client.close()


def idle() -> None:
    """The share of a core that a server without work takes, bare and with a hub, and the statements that it makes."""
    for workload, more in (("idle", ()), ("idle, hub", ("--hub", "tcp://127.0.0.1:0"))):
        with serving(*more) as server:
            _report_idle(workload, server)
    with postgres() as database:
        if database is None:
            return
        with database.database() as url:
            with serving("--database", url) as server:
                _report_idle("idle, postgresql", server)
            with psycopg.connect(database.dsn, autocommit=True) as connection:
                connection.execute(f"alter database {url.rpartition('/')[2]} set log_statement = 'all'".encode())
            with serving("--database", url, token=False):
                time.sleep(2)
                made = len(STATEMENT.findall(database.log.read_text(errors="replace")))
                time.sleep(IDLE_SECONDS)
                made = len(STATEMENT.findall(database.log.read_text(errors="replace"))) - made
    report("idle statements", per_second=round(made / IDLE_SECONDS, 2), bar=5.0)


def _report_idle(workload: str, server: Server) -> None:
    server.post("/runs?wait=30", workflow="single")
    time.sleep(2)
    shares: list[float] = []
    for _ in range(IDLE_WINDOWS):
        before = server.cpu()
        time.sleep(IDLE_SECONDS)
        shares.append(round(100 * (server.cpu() - before) / IDLE_SECONDS, 2))
    report(workload, percent_of_a_core=statistics.median(shares), worst=max(shares), bar=1.0)


if __name__ == "__main__":
    run_named(__doc__, (start, queue, latency, followers, idle))
