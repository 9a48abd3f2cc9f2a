"""Real processes to do harm to, and the file that tells which bodies really ran."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import turnout
from tests.faults.scale import PATIENCE, start_python

PROGRAM = Path(__file__).with_name("program.py")


class Execution(NamedTuple):
    """One start of one body."""

    key: str
    task: str
    attempt: int
    pid: int


class Executions:
    """The file that the bodies append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def __len__(self) -> int:
        return self.path.read_bytes().count(b"\n")

    def all(self) -> list[Execution]:
        lines = (line.split() for line in self.path.read_text().splitlines())
        return [Execution(key, task, int(attempt), int(pid)) for key, task, attempt, pid in lines]

    def by(self, pid: int) -> list[Execution]:
        return [each for each in self.all() if each.pid == pid]

    def release(self) -> None:
        """Lets bodies of ``held`` go on."""
        self.path.with_name(f"{self.path.name}.released").touch()

    def per_task(self) -> Counter[tuple[str, str]]:
        return Counter((each.key, each.task) for each in self.all())


class Child:
    """One process that runs ``program.py``. What it prints is read line by line; its log is kept beside the file."""

    def __init__(
        self,
        url: str,
        executions: Executions,
        number: int,
        mode: str,
        options: dict[str, Any],
        more: dict[str, str] | None = None,
    ) -> None:
        command = [str(PROGRAM), mode]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", json.dumps(value) if isinstance(value, dict) else str(value)]
        self.log = executions.path.with_name(f"child{number}.log")
        self._lines: list[str] = []
        self._changed = threading.Condition()
        environment = os.environ | {
            "TURNOUT_DATABASE": url,
            "TURNOUT_FAULTS_FILE": str(executions.path),
            "PYTHONPATH": str(Path(turnout.__file__).parents[1]),
            **(more or {}),
        }
        with self.log.open("wb") as log:
            self.process = start_python(command, env=environment, stdout=subprocess.PIPE, stderr=log)
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                with self._changed:
                    self._lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def said(self, word: str) -> list[str]:
        """What it has printed after this word so far."""
        with self._changed:
            return [line.removeprefix(word).strip() for line in self._lines if line.split(" ")[0] == word]

    def wait_for(self, word: str, timeout: float = PATIENCE) -> str:
        """The rest of the first line that begins with this word."""
        with self._changed:
            found = self._changed.wait_for(lambda: self.said_or_ended(word), timeout)
        answers = self.said(word)
        assert answers, f"{self} {'never said' if found else 'has not yet said'} {word!r}\n{self.tail()}"
        return answers[0]

    def said_or_ended(self, word: str) -> bool:
        return any(line.split(" ")[0] == word for line in self._lines) or not self._reader.is_alive()

    def finished(self, timeout: float = PATIENCE) -> dict[str, Any]:
        return json.loads(self.wait_for("finished", timeout))

    def has_finished(self) -> bool:
        """For a process that has ended: whether it said that it had finished. What it said may still be on its way."""
        self._reader.join(5)
        return bool(self.said("finished"))

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9; returns when the process is gone."""
        self.process.kill()
        self.process.wait()
        self._reader.join(5)

    def wait(self) -> int:
        return self.exit_code()

    def exit_code(self, timeout: float = 30) -> int:
        """Wait for the process to end by itself; if it does not, say where its threads are."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGUSR1)
            eventually("the stacks are written", lambda: "most recent call first" in self.tail(400), timeout=5)
            raise AssertionError(f"{self} has not ended after {timeout:g} s\n{self.tail(400)}") from None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def __repr__(self) -> str:
        return f"<child {self.pid}, {self.log.name}>"


class Children:
    """Starts processes on one database and ends all of them at the end, by their id."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.executions = Executions(folder / "executions")
        self.started: list[Child] = []

    def start(self, mode: str, *, environment: dict[str, str] | None = None, **options: Any) -> Child:
        child = Child(self.url, self.executions, len(self.started), mode, options, environment)
        self.started.append(child)
        return child

    def end(self) -> None:
        for child in self.started:
            if child.alive:
                child.process.send_signal(signal.SIGCONT)
            child.kill()


def eventually(what: str, condition: Callable[[], Any], timeout: float = PATIENCE, every: float = 0.02) -> Any:
    """Wait until the condition gives something true, and return that; fail with the sentence ``what`` otherwise."""
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}"
        time.sleep(every)
