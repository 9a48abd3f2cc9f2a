"""How do the lines that bodies print reach the person who watches the run?"""

from __future__ import annotations

from collections import deque

import msgspec

from turnout.cli.output import Line
from turnout.model.info import Progress
from turnout.model.logs import Stream
from turnout.orchestration.settings import EngineSettings

_STYLES = {Stream.STDERR: "yellow", Stream.PROGRESS: "cyan"}


class Heard:
    """Lines that wait to be shown: put in by the thread that keeps them, taken out by the one that shows them."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque()
        self._progress: dict[tuple[str, str], tuple[int, str]] = {}

    def put(self, run_id: str, task: str, attempt: int, stream: str, text: str) -> None:
        """What a Runner calls with every line."""
        if stream == Stream.PROGRESS:
            self._progress[run_id, task] = attempt, text
        else:
            self._lines.append(spoken(task, stream, text, attempt=attempt))

    def progress(self, run_id: str, task: str, attempt: int) -> str | None:
        """How far this attempt has said that it is, as it is kept; None if it has said nothing."""
        said = self._progress.get((run_id, task))
        return said[1] if said is not None and said[0] == attempt else None

    def take(self) -> list[Line]:
        """All lines since the last time."""
        return [self._lines.popleft() for _ in range(len(self._lines))]


def spoken(task: str, stream: str, text: str, *, attempt: int = 1) -> Line:
    """``charge │ the card was declined``; from the second attempt on it is named too."""
    who = task if attempt == 1 else f"{task}#{attempt}"
    shown = how_far(text) if stream == Stream.PROGRESS else text
    return [(f"{who} │ ", "dim"), (shown, _STYLES.get(Stream(stream), ""))]


def how_far(text: str) -> str:
    """Progress as people say it: ``3 of 10, three files``."""
    try:
        said = msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return text
    done = f"{said.done:g}" if said.total is None else f"{said.done:g} of {said.total:g}"
    return f"{done}, {said.message}" if said.message else done


def share_of(text: str) -> float | None:
    """How much of the whole that is, from 0 to 1; None if no whole was said."""
    try:
        said = msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return None
    return min(max(said.done / said.total, 0.0), 1.0) if said.total else None


def heard_only(settings: EngineSettings) -> EngineSettings:
    """The settings, with what bodies print shown by whoever watches instead of appearing by itself."""
    logs = msgspec.structs.replace(settings.logs, echo=False)
    return msgspec.structs.replace(settings, logs=logs)
