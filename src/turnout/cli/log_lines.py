"""Lines and progress of tasks: queued for display, and formatted."""

from __future__ import annotations

from collections import deque

import msgspec

from turnout.cli.output import Line
from turnout.model.info import Progress
from turnout.model.logs import Stream
from turnout.orchestration.settings import EngineSettings

_STYLES = {Stream.STDERR: "yellow", Stream.PROGRESS: "cyan"}


class LineQueue:
    """Queues lines from the thread that stores them to the one that displays them."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque()
        self._progress: dict[tuple[str, str], tuple[int, str]] = {}

    def put(self, run_id: str, task: str, attempt: int, stream: str, text: str) -> None:
        """Adds a line; called by the Runner."""
        if stream == Stream.PROGRESS:
            self._progress[run_id, task] = attempt, text
        else:
            self._lines.append(format_line(task, stream, text, attempt=attempt))

    def progress(self, run_id: str, task: str, attempt: int) -> str | None:
        """Returns the latest progress of this attempt as JSON, or None."""
        latest = self._progress.get((run_id, task))
        return latest[1] if latest is not None and latest[0] == attempt else None

    def take(self) -> list[Line]:
        """Removes and returns all lines."""
        return [self._lines.popleft() for _ in range(len(self._lines))]


def format_line(task: str, stream: str, text: str, *, attempt: int = 1) -> Line:
    """Returns ``charge │ the card was declined``; from the second attempt on ``charge#2 │ …``."""
    source = task if attempt == 1 else f"{task}#{attempt}"
    text = format_progress(text) if stream == Stream.PROGRESS else text
    return [(f"{source} │ ", "dim"), (text, _STYLES.get(Stream(stream), ""))]


def format_progress(text: str) -> str:
    """Returns progress as ``3 of 10, three files``."""
    try:
        progress = msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return text
    done = f"{progress.done:g}" if progress.total is None else f"{progress.done:g} of {progress.total:g}"
    return f"{done}, {progress.message}" if progress.message else done


def progress_fraction(text: str) -> float | None:
    """Returns the share that is done, from 0 to 1; None if the progress has no total."""
    try:
        progress = msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return None
    return min(max(progress.done / progress.total, 0.0), 1.0) if progress.total else None


def without_echo(settings: EngineSettings) -> EngineSettings:
    """Returns the settings with the echo of task output off: the display shows it."""
    logs = msgspec.structs.replace(settings.logs, echo=False)
    return msgspec.structs.replace(settings, logs=logs)
