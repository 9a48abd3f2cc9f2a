"""Workers in other languages, to do harm to, and the file that tells which attempts really began in them."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.guarantees import Ledger, query
from tests.faults.languages import Program
from tests.faults.scale import start_python


class Noted(NamedTuple):
    """One line of a handler: an attempt has begun, or is about to end."""

    what: str
    token: str
    attempt: int
    language: str
    pid: int


class Notes:
    """The file that handlers append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def all(self, what: str = "begin") -> list[Noted]:
        lines = (line.split() for line in self.path.read_text().splitlines())
        found = (Noted(word, token, int(attempt), *who, int(pid)) for word, token, attempt, *who, pid in lines)
        return [each for each in found if each.what == what]

    def __len__(self) -> int:
        return self.path.read_bytes().count(b"begin ")


class WorkerProcess:
    """One process of one language. It can be killed, stopped, let go on and told to leave; never twice the same."""

    def __init__(self, program: Program, hubs: list[str], notes: Notes, number: int, concurrency: int = 8) -> None:
        self.language = program.language
        self.log = notes.path.with_name(f"worker{number}-{program.language}.log")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TURNOUT_")}
        environment |= program.environment | {
            "TURNOUT_CONNECT": ",".join(hubs),
            "TURNOUT_WORKER_NAME": f"{program.language}{number}",
            "TURNOUT_WORKER_CONCURRENCY": str(concurrency),
            "TURNOUT_FAULTS_FILE": str(notes.path),
        }
        with self.log.open("wb") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self.process = (
                start_python(program.command[1:], env=environment, **streams)
                if program.language == "python"
                else subprocess.Popen(program.command, env=environment, text=True, **streams)
            )
        self.pid = self.process.pid

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def wait(self) -> int:
        return self.process.wait(60)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


class Workers:
    """Starts workers on some hubs, and ends all of them at the end, by their id."""

    def __init__(self, programs: dict[str, Program], hubs: list[str], notes: Notes) -> None:
        self.programs, self.hubs, self.notes = programs, hubs, notes
        self.started: list[WorkerProcess] = []

    def start(self, language: str = "python", **options: int) -> WorkerProcess:
        worker = WorkerProcess(self.programs[language], self.hubs, self.notes, len(self.started), **options)
        self.started.append(worker)
        return worker

    def end(self) -> None:
        for worker in self.started:
            if worker.alive:
                worker.kill()


def free_addresses(count: int) -> list[str]:
    """Addresses for hubs that are started again and again. Not among the ports that the system gives to whoever asks
    for any: one of those might be given away while its hub is down."""
    found: list[str] = []
    while len(found) < count:
        port = random.SystemRandom().randint(20_000, 30_000)
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
        if (address := f"tcp://127.0.0.1:{port}") not in found:
            found.append(address)
    return found


def check_notes(notes: Notes, ledger: Ledger) -> Counter[str]:
    """The handlers' own word against the database's; returns how often each task began."""
    begun = notes.all()
    twice = [token for token, times in Counter(each.token for each in begun).items() if times > 1]
    assert not twice, f"attempts that began twice: {twice[:5]}"
    tasks = {f"{task.run_id}.{task.pos}": task for task in ledger.tasks.values()}
    named = [(each.token.rpartition(":")[0], int(each.token.rpartition(":")[2])) for each in begun]
    late = [(task, attempt) for task, attempt in named if attempt > tasks[task].attempt]
    assert not late, f"attempts that began and nobody had started: {late[:5]}"
    completed = {(name, task.attempt) for name, task in tasks.items() if task.state == "completed"}
    unseen = completed - set(named)
    assert not unseen, f"results that no handler made: {list(unseen)[:5]}"
    unended = completed - {
        (each.token.rpartition(":")[0], int(each.token.rpartition(":")[2])) for each in notes.all("end")
    }
    assert not unended, f"results of handlers that had not finished: {list(unended)[:5]}"
    return Counter(task for task, _ in named)


def check_across(url: str, ledger: Ledger, runs: int, names: Sequence[str]) -> None:
    """Every run of the workflow ``across`` has completed, and each of its tasks has said what it had to."""
    by_key = {key: run for key, run in ledger.by_key().items() if key.startswith("r")}
    assert set(by_key) == {f"r{number}" for number in range(runs)}
    assert {run.state for run in by_key.values()} == {"completed"}
    rows = query(url, "select run.key, task.name, task.output from task join run on run.id = task.run_id")
    found = {(key, name): json.loads(output) for key, name, output in rows if key in by_key}
    expected = {(key, name): ">".join((key, *names[: at + 1])) for key in by_key for at, name in enumerate(names)}
    assert found == expected


def failures(url: str) -> list[tuple[Any, ...]]:
    """What went wrong, for people."""
    return query(
        url,
        "select run.key, task.name, task.attempt, task.holder, task.state, task.reason, task.error "
        "from task join run on run.id = task.run_id where run.state = 'failed' and task.state <> 'completed'",
    )
