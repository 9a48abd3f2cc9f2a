"""Ends a child process with everything that it has started: a process between the orchestrator and the child.

It is run as a program, by its path, and imports nothing of Turnout: it costs little and starts quickly. On Linux it is
the reaper of all its descendants, so none escapes it, whatever sessions and groups they make. It ends them when it is
asked to, when the child itself has ended, and when the orchestrator is gone, however that died.

    python supervisor.py CONTROL GRACE exec BY COMMAND [ARGUMENT …]   the child is a command; not begun after BY
    python supervisor.py CONTROL GRACE python DATA FOLDER MODULE      the child calls MODULE.main(DATA)

It sends, one line each on the socket CONTROL: ``started PID``, ``failed ERRNO`` (no such command), ``late`` (not
begun), ``ended STATUS`` (as waitpid gives it) and ``gone`` (nothing is left). It takes ``stop SECONDS [SIGNAL]``: the
signal, SIGTERM unless it is given by its number, now; SIGKILL after that time.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KILL_TIMEOUT = 10.0
"""Seconds after which what even SIGKILL did not end (it belongs to another user, or hangs in the kernel) is left."""
KILL_INTERVAL, POLL_INTERVAL = 0.02, 0.1
"""Seconds between two rounds of SIGKILL (a new fork may have escaped the first), and two checks of a group."""


def main(arguments: list[str]) -> None:
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    parent = os.getppid()
    wake = _wake_on(signal.SIGCHLD, signal.SIGTERM)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    # Nothing may come between: the child that is forked here must know its parent.
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        _become_child(supervisor, control, arguments[2], arguments[3:])
        return
    for stream in (1, 2):
        # The child's output ends when the last process that has it does; the supervisor must not be that one.
        os.dup2(0, stream)
    Supervisor(control, wake, child, float(arguments[1])).run()
    os._exit(0)  # at once: the orchestrator waits for it


class Supervisor:
    """Waits for the child and for commands, and leaves no process behind."""

    def __init__(self, control: socket.socket, wake: int, child: int, grace: float) -> None:
        self._control = control
        self._wake = wake
        self._child = child
        self._grace = grace
        self._kill_at: float | None = None
        self._received = b""
        self._orphaned = False

    def run(self) -> None:
        self._send(f"started {self._child}")
        while self._any_left():
            now = time.monotonic()
            if self._kill_at is not None and now >= self._kill_at:
                if now > self._kill_at + KILL_TIMEOUT:
                    break
                self._signal(signal.SIGKILL)
            self._listen(self._wait(now))
        self._send("gone")

    def _wait(self, now: float) -> float | None:
        if self._kill_at is None:
            return None
        left = max(self._kill_at - now, KILL_INTERVAL)
        return left if REAPER else min(left, POLL_INTERVAL)  # no signal tells of the end of a group

    def _listen(self, timeout: float | None) -> None:
        sources = [self._wake] if self._orphaned else [self._wake, self._control.fileno()]
        ready = select.select(sources, [], [], timeout)[0]
        if self._wake in ready and signal.SIGTERM in os.read(self._wake, 4096):
            self._orphan()  # sent by the kernel because the orchestrator died, or by an operator
        elif self._control.fileno() in ready:
            try:
                more = self._control.recv(4096)
            except ConnectionError:
                more = b""
            if not more:
                self._orphan()
            *lines, self._received = (self._received + more).split(b"\n")
            for line in lines:
                _, seconds, *number = line.split()
                self._stop(float(seconds), int(number[0]) if number else signal.SIGTERM)

    def _orphan(self) -> None:
        """Called when nothing waits for the child any more: its attempt may be started elsewhere at once."""
        self._orphaned = True
        self._kill_at = time.monotonic()

    def _stop(self, grace: float, number: int = signal.SIGTERM) -> None:
        until = time.monotonic() + grace
        if self._kill_at is None:
            self._signal(number)
            self._kill_at = until
        else:
            self._kill_at = min(self._kill_at, until)

    def _any_left(self) -> bool:
        """Reaps processes that have ended. True if any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not REAPER and _group_lives(self._child)
            if pid == 0:
                return True
            if pid == self._child:
                self._send(f"ended {status}")
                if self._kill_at is None:
                    self._stop(self._grace)

    def _signal(self, number: int) -> None:
        if not REAPER:
            with contextlib.suppress(OSError):
                os.killpg(self._child, number)
            return
        for pid in descendants(os.getpid(), processes()):
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def _send(self, line: str) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(line.encode() + b"\n")


REAPER = sys.platform == "linux"
"""Whether orphans among the descendants come to the supervisor. Elsewhere the child's process group has to do."""


def processes() -> dict[int, tuple[int, int]]:
    """Returns every process of this machine with its parent and its resident memory in pages, as far as it can be
    read."""
    found: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name may hold anything, brackets and blanks too; what follows it does not.
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            found[int(name)] = (int(fields[1]), int(fields[21]))
    return found


def descendants(pid: int, table: dict[int, tuple[int, int]]) -> list[int]:
    """Returns the processes below this one, the nearest first."""
    children: dict[int, list[int]] = {}
    for each, (parent, _) in table.items():
        children.setdefault(parent, []).append(each)
    found = list(children.get(pid, ()))
    for each in found:
        found.extend(children.get(each, ()))
    return found


def _become_child(supervisor: int, control: socket.socket, kind: str, rest: list[str]) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    if kind == "exec":
        # Python ignores these two, and an ignored signal stays so in the command.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        try:
            if rest[0] != "-" and _boot_time() > float(rest[0]):
                control.sendall(b"late\n")
                os._exit(0)
            os.execvp(rest[1], rest[1:])
        except OSError as error:
            control.sendall(f"failed {error.errno}\n".encode())
            os._exit(127)
    control.close()
    data, folder, module = rest
    sys.path.insert(0, folder)
    __import__(module)
    sys.modules[module].main(int(data))


def _boot_time() -> float:
    """Returns what ``turnout.contracts.clock.boot_time`` does, which is not imported here."""
    clock = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def _wake_on(*signals: int) -> int:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in signals:
        signal.signal(number, lambda *_: None)
    return reader


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def _prctl(option: int, value: int) -> None:
    if REAPER:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
