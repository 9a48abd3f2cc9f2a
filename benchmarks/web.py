"""Measures the web interface in Debian's Chromium against real servers, with what must hold as ``bar``.

python benchmarks/web.py [size] [run] [live] [runs] [cost]        # ``make uibench``; the interface has to be built

One JSON line per workload. The pages are those that a server serves, on SQLite; ``runs`` also on PostgreSQL.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from command_line import run_named
from cpu import of_processes

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from stored_runs import fill  # noqa: E402

from tests.postgres import NoPostgres, OwnServer  # noqa: E402

UI = ROOT / "ui"
ITEMS, STORED, ROUNDS = 10_000, 100_000, 5
IDLE_SECONDS = 15.0
TASKS = "/runs/{}?tab=tasks"
FIRST_TASK = '[role=table][aria-label="Tasks"] [role=row] button'
FIRST_RUN = 'table[aria-label="Runs"] tbody tr, [role=table][aria-label="Runs"] [role=row]:nth-child(2)'
FLOWS = """
import time
from pathlib import Path

from turnout import task, workflow


@task
def numbers(count: int, go: str) -> list[int]:
    while go and not Path(go).exists():
        time.sleep(0.01)
    return list(range(count))


@task
def double(number: int) -> int:
    return 2 * number


@task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@workflow
def many(count: int, go: str = "") -> int:
    return total(double.map(numbers(count, go)))
"""


class Server:
    """A server in a folder of its own, and a client of it."""

    def __init__(self, folder: Path, database: str, *, workflows: bool = True) -> None:
        (folder / "flows.py").write_text(FLOWS)
        command = [
            sys.executable,
            "-m",
            "turnout",
            "server",
            "--port",
            "0",
            "--json",
            "--quiet",
            "--database",
            database,
        ]
        self.process = subprocess.Popen(
            [*command, *(["flows.py"] if workflows else [])],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.url: str = json.loads(self.process.stdout.readline())["url"]
        cpu = of_processes([self.process.pid])
        assert cpu is not None, "there is no /proc here"
        self.cpu = cpu
        # It is beside the file of the database; without one, in the folder of the process.
        places = (folder, Path(database.removeprefix("sqlite:///")).parent)
        token = next(each for place in places if (each := place / "turnout-admin-token").exists())
        self.token = token.read_text().strip()
        headers = {"Authorization": f"Bearer {self.token}"}
        self.client = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60)

    def start(self, **input: Any) -> str:
        answer = self.client.post("/runs", json={"workflow": "many", "input": input})
        assert answer.status_code == 201, answer.text
        return answer.json()["run"]["id"]

    def wait(self, run: str) -> None:
        while self.client.get(f"/runs/{run}").json()["state"] in ("pending", "running"):
            time.sleep(0.2)

    def end(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(30)


@contextmanager
def serving(database: str | None = None) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="turnout-web-") as name:
        server = Server(Path(name), database or f"sqlite:///{name}/turnout.db")
        try:
            yield server
        finally:
            server.end()


@contextmanager
def serving_apart() -> Iterator[tuple[Server, Server]]:
    """Yields a server that runs tasks, and one on the same database that has no workflows and only answers."""
    with tempfile.TemporaryDirectory(prefix="turnout-web-") as name:
        database = f"sqlite:///{name}/turnout.db"
        runs = Server(Path(name), database)
        try:
            answers = Server(Path(name), database, workflows=False)
            try:
                yield runs, answers
            finally:
                answers.end()
        finally:
            runs.end()


class Browser:
    """A run of ui/scripts/measure.mjs on one page."""

    def __init__(self, server: Server, kind: str, path: str, **asked: Any) -> None:
        given = json.dumps({"kind": kind, "url": server.url, "token": server.token, "path": path, **asked})
        node = shutil.which("node")
        assert node is not None, "there is no node on the PATH"
        self._process = subprocess.Popen(
            [node, "scripts/measure.mjs", given], cwd=UI, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        text = self._process.stdout.readline()
        assert text, "the browser ended without an answer"
        return json.loads(text)

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def report(workload: str, **figures: Any) -> None:
    print(json.dumps({"workload": workload, **figures, "load": round(os.getloadavg()[0], 1)}), flush=True)


def spread(values: list[float]) -> dict[str, int]:
    return {"ms": round(statistics.median(values)), "best": round(min(values)), "worst": round(max(values))}


# -- workloads ------------------------------------------------------------------------------------------------------
def size() -> None:
    """Bytes of gzipped script that the first page loads."""
    found = subprocess.run(["node", "scripts/size.mjs"], cwd=UI, capture_output=True, text=True, check=False)
    report("first load", gzip_bytes=json.loads(found.stdout)["first_load_gzip_bytes"], bar=250_000)


def run() -> None:
    """Milliseconds from the navigation to the page of a run of 10,000 items until its tasks can be chosen, with an
    empty cache; the CPU that the main thread of the page and the server took for it."""
    with serving() as server:
        wanted = server.start(count=ITEMS)
        server.wait(wanted)
        pages = {"tasks": FIRST_TASK, "graph": ".react-flow__node button", "timeline": 'ul[aria-label="Timeline"] li'}
        for tab, ready in pages.items():
            path = f"/runs/{wanted}?tab={tab}"
            found = _loaded(server, path, ready)
            report(f"run page, {tab}", tasks=ITEMS, **found, bar=1_500)
        for name, path in (
            ("detail", ""),
            ("graph", "/graph"),
            ("tasks", "/tasks?limit=1000"),
            ("timeline", "/timeline"),
            ("timeline of items", "/timeline?group=double&limit=200"),
        ):
            report(f"answer, {name}", tasks=ITEMS, **_asked(server, f"/runs/{wanted}{path}"))


def _loaded(server: Server, path: str, ready: str) -> dict[str, Any]:
    before = server.cpu()
    browser = Browser(server, "load", path, ready=ready, rounds=ROUNDS)
    found = browser.line()
    browser.end()
    cpu = round(statistics.median(found["cpu_ms"]))
    return {**spread(found["ms"]), "page_cpu_ms": cpu, "server_cpu_ms": round(1_000 * (server.cpu() - before) / ROUNDS)}


def _asked(server: Server, path: str, times: int = 10) -> dict[str, Any]:
    """Milliseconds of an answer, and of the server's CPU for it."""
    taken: list[float] = []
    before = server.cpu()
    for _ in range(times):
        began = time.perf_counter()
        answer = server.client.get(path)
        taken.append(1_000 * (time.perf_counter() - began))
        assert answer.status_code == 200, answer.text
    return {**spread(taken), "cpu_ms": round(1_000 * (server.cpu() - before) / times, 1), "bytes": len(answer.content)}


def live() -> None:
    """A run of 10,000 items that is followed by its page. ``ms``: CPU of the page per update, which has the moves of
    one reading of the server; ``longest_task_ms``: the longest time for which it did not answer, by the clock.
    ``cpu_ms``: the whole CPU, per move, of a server that does nothing but answer the page: the tasks run in another."""
    with serving_apart() as (executing, answering), tempfile.TemporaryDirectory(prefix="turnout-go-") as folder:
        go = Path(folder) / "go"
        run_id = executing.start(count=ITEMS, go=str(go))
        ended = 'h1:has-text("completed")'
        browser = Browser(answering, "live", TASKS.format(run_id), ready=FIRST_TASK, until=ended)
        browser.line()
        before = answering.cpu()
        go.touch()
        seen = browser.line()
        cpu = answering.cpu() - before
        browser.end()
    report(
        "live updates",
        tasks=ITEMS,
        updates=seen["updates"],
        moves=seen["moves"],
        ms=round(seen["cpu_ms"] / seen["updates"], 1),
        longest_task_ms=round(seen["longest"]),
        bar=100,
    )
    report("live updates, server", moves=seen["moves"], cpu_ms=round(1_000 * cpu / seen["moves"], 3), bar=0.3)


def runs() -> None:
    """Milliseconds from a click on Runs until the first page of 100,000 runs is shown."""
    _stored("sqlite", None)
    try:
        own = OwnServer()
    except NoPostgres as error:
        print(error, file=sys.stderr)
        return
    try:
        with own.database() as url:
            _stored("postgresql", url)
    finally:
        own.destroy()


def _stored(store: str, url: str | None) -> None:
    with tempfile.TemporaryDirectory(prefix="turnout-runs-") as folder:
        database = url or f"sqlite:///{folder}/turnout.db"
        fill(database, STORED)
        with serving(database) as server:
            link = 'nav a[href$="/runs"]'
            browser = Browser(server, "click", "/settings?tab=versions", link=link, ready=FIRST_RUN, rounds=ROUNDS)
            report(f"list of runs, {store}", runs=STORED, **spread(browser.line()["ms"]), bar=300)
            browser.end()
            for name, path in (("runs", "/runs?limit=50"), ("failed runs", "/runs?limit=50&state=failed")):
                report(f"answer, {name}, {store}", runs=STORED, **_asked(server, path))
            report(f"answer, stats, {store}", runs=STORED, **_asked(server, "/stats"))


def cost() -> None:
    """The share of a core that a server takes for each open page while nothing happens."""
    with serving() as server:
        done = server.start(count=100)
        server.wait(done)
        time.sleep(2)
        idle = _share(server)
        for name, path, ready in (
            ("home", "/", "h1"),
            ("runs", "/runs", "h1"),
            ("run", f"/runs/{done}", ".react-flow__node button"),
        ):
            browser = Browser(server, "open", path, ready=ready)
            browser.line()
            share = _share(server) - idle
            browser.end()
            report(f"open page, {name}", percent_of_a_core=round(share, 2), without_pages=round(idle, 2), bar=1.0)


def _share(server: Server) -> float:
    before = server.cpu()
    time.sleep(IDLE_SECONDS)
    return 100 * (server.cpu() - before) / IDLE_SECONDS


if __name__ == "__main__":
    run_named(__doc__, (size, run, live, runs, cost))
