"""A command at a terminal: a pseudo-terminal whose output is read, and whose keys can be pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

PATIENCE = 150.0
CTRL_C = b"\x03"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A process that believes that it talks to a person."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str], *, columns: int = 110) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self._modes = termios.tcgetattr(slave)
        # The terminal says how large it is; whoever runs the tests may have said otherwise.
        kept = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "turnout", *arguments],
            cwd=folder,
            env={**kept, "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - the test has no other threads
        )
        os.close(slave)
        self._seen = b""
        self.restored = False
        """Whether it was left as it was found, once the command has ended."""

    @property
    def raw(self) -> str:
        return self._seen.decode(errors="replace")

    @property
    def text(self) -> str:
        return _text(self.raw)

    @property
    def frames(self) -> list[str]:
        """What was drawn from the upper left corner on, each time."""
        return [_text(drawn) for drawn in self.raw.split("\x1b[H")[1:]]

    @property
    def screen(self) -> list[str]:
        """What a person sees in the end, lines that have scrolled away included."""
        return Screen().write(self.raw).lines

    @property
    def cursor_shown(self) -> bool:
        return self.raw.rfind("\x1b[?25h") >= self.raw.rfind("\x1b[?25l")

    def until(self, words: str) -> None:
        """Wait until the words have appeared."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.text:
            assert time.monotonic() < deadline, f"{words!r} did not appear:\n{self.text}"
            assert self._read(), f"the command ended without {words!r}:\n{self.text}"

    def more(self) -> None:
        """Wait until something more has appeared."""
        assert self._read(), f"the command ended:\n{self.text}"

    def press(self, key: bytes) -> None:
        os.write(self._master, key)

    def end(self) -> int:
        """Read on to the end; the exit code."""
        while self._read():
            pass
        self.restored = termios.tcgetattr(self._master) == self._modes
        os.close(self._master)
        return self._process.wait(PATIENCE)

    def terminate(self) -> None:
        self._process.terminate()

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        assert ready, f"nothing was written for {PATIENCE:g} s:\n{self.text}"
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the last one to have it open is gone
            return False
        self._seen += data
        return bool(data)


class Screen:
    """As much of a terminal as a display that is drawn in place uses: lines, going up, and erasing a line."""

    def __init__(self) -> None:
        self._lines = [""]
        self._row = self._column = 0

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._lines]

    def write(self, raw: str) -> Screen:
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|.", raw, re.DOTALL):
            if part == "\n":
                self._row += 1
                self._lines += [""] * (self._row + 1 - len(self._lines))
            elif part == "\r":
                self._column = 0
            elif part.endswith("A") and len(part) > 1:
                self._row = max(0, self._row - int(part[2:-1] or 1))
            elif part == "\x1b[2K":
                self._lines[self._row] = ""
            elif len(part) == 1:
                line = self._lines[self._row].ljust(self._column)
                self._lines[self._row] = line[: self._column] + part + line[self._column + 1 :]
                self._column += 1
        return self


def _text(raw: str) -> str:
    return _CONTROL.sub("", raw).replace("\r\n", "\n")


def _take_terminal() -> None:
    """Be the terminal's foreground process, so that Ctrl-C arrives."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
