"""Handles the output of a step: masks secrets, logs lines, keeps the end, and writes it to files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import BinaryIO

from turnout.contracts.executor import Work
from turnout.errors import CommandFailed
from turnout.model.masking import Masker
from turnout.model.shell import Captured
from turnout.runtime.capture import relay
from turnout.runtime.supervised_process import LineSplitter

STREAMS = ("stdout", "stderr")


class StepStreams:
    """The two streams of a step, over all of its commands."""

    def __init__(self, work: Work, new_masker: Callable[[], Masker], limit: int, files: Mapping[str, str]) -> None:
        self._maskers = {stream: new_masker() for stream in STREAMS}
        self._captured = {stream: Captured(limit) for stream in STREAMS}
        self._lines = {stream: LineSplitter(_relay_to(work, stream)) for stream in STREAMS}
        self._files: dict[str, BinaryIO] = {}
        for stream, path in files.items():
            try:
                self._files[stream] = open(path, "ab")  # noqa: SIM115 - closed with the streams
            except OSError as error:
                self.close()
                raise CommandFailed(
                    f"the file {path!r} for {stream} cannot be written: {error.strerror}", code="bad_output_file"
                ) from error

    def feed(self, stream: str, data: bytes) -> None:
        """Takes output of a command."""
        self._take(stream, self._maskers[stream].feed(data))

    def end_command(self) -> None:
        """Called between two commands: what a stream held back is output."""
        for stream, masker in self._maskers.items():
            self._take(stream, masker.flush())

    def _take(self, stream: str, data: bytes) -> None:
        if data:
            self._captured[stream].feed(data)
            self._lines[stream].feed(data)
            if stream in self._files:
                self._files[stream].write(data)

    def close(self) -> tuple[Captured, Captured]:
        """Returns the ends of both streams. May be called again."""
        self.end_command()
        for lines in self._lines.values():
            lines.flush()
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        self._files = {}
        return self._captured["stdout"].close(), self._captured["stderr"].close()


def _relay_to(work: Work, stream: str) -> Callable[[str], None]:
    return lambda line: relay(work.output, work.event, stream, line + "\n")
