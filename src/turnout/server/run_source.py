"""Reads the events of one run from the store: moves of the run and its tasks, and log lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from turnout.contracts.store import Store
from turnout.errors import RunNotFound
from turnout.model.logs import LogLine
from turnout.model.rows import StoredMove
from turnout.model.states import RUN_TERMINAL, RunState
from turnout.orchestration.upkeep.log_writer import LogWriter
from turnout.runner.log_reader import LATE_LINES_TIMEOUT
from turnout.server.api.types.events import End
from turnout.server.api.types.tasks import move_of
from turnout.server.fan_out import Frame
from turnout.server.positions import START, RunPosition
from turnout.server.sse import encoded, frame, frame_of

PAGE_SIZE = 500
"""Moves, and log lines, of one read."""
PRESENCE_INTERVAL = 5.0
"""Seconds without an event after which the run may have been deleted."""
FLUSH_TIMEOUT = 1.0
"""Seconds that lines of this process have to be stored before a read; later ones are read later."""
MOVE, LOG, END = "move", "log", "end"


class RunFacts:
    """The parts that sources of runs use: the store, this process's own log lines, and the runs that it drives."""

    def __init__(self, store: Store, log_writer: LogWriter | None, seq_of: Callable[[str], int | None]) -> None:
        self.store = store
        self._log_writer = log_writer
        self.seq_of = seq_of
        """Returns the newest seq of a run that is driven here; None if it is not."""

    def flush(self, run_id: str) -> None:
        """Stores the lines of this process for a run that has ended."""
        if self._log_writer is not None:
            self._log_writer.flush(FLUSH_TIMEOUT, ended=run_id)


class RunSource:
    """The events of one run from a position on. ``begin`` and ``read`` block."""

    def __init__(self, facts: RunFacts, run_id: str, position: RunPosition = START) -> None:
        self._facts = facts
        self.run_id = run_id
        self.position = position
        self.over = False
        self._names: dict[int, str] = {}
        self._state: RunState | None = None
        self._ended_at: float | None = None
        """When the run was seen to have ended, by the monotonic clock."""
        self._last_event = time.monotonic()

    def begin(self) -> bool:
        """Looks the run up. Returns False, and begins at the start, if the position is not known any more."""
        store, position = self._facts.store, self.position
        run = store.run(self.run_id)
        if run is None:
            raise RunNotFound(f"there is no run {self.run_id}", run_id=self.run_id)
        self._state = run.row.state
        if run.row.state.terminal:
            self._facts.flush(self.run_id)
            age = time.time() - (run.row.finished_at or 0.0)
            self._ended_at = time.monotonic() - max(0.0, age)
        known = position.seq <= run.seq
        if known and position.log:
            line = store.logs(self.run_id, after=position.log - 1, limit=1)
            known = bool(line) and line[0].id == position.log
        if not known:
            self.position = START
        return known

    def skip_lines(self) -> None:
        """Continues behind the log lines that are stored."""
        newest = self._facts.store.last_line(self.run_id)
        self.position = msgspec.structs.replace(self.position, log=max(newest, self.position.log))

    def copy(self) -> RunSource:
        other = RunSource(self._facts, self.run_id, self.position)
        other._names, other._state, other._ended_at = dict(self._names), self._state, self._ended_at
        return other

    def includes(self, frame: Frame) -> bool:
        if frame.kind == MOVE:
            return frame.position <= (self.position.seq, self.position.part)
        return frame.kind == LOG and frame.position <= (self.position.log,)

    def read(self) -> list[Frame]:
        # Lines that were written before the run ended are readable when its last move is.
        since = self._ended_at
        moves = self._read_moves()
        lines = self._facts.store.logs(self.run_id, after=self.position.log, limit=PAGE_SIZE)
        frames = [*map(self._move_frame, moves), *map(self._log_frame, lines)]
        if frames:
            self._last_event = time.monotonic()
        elif since is not None and time.monotonic() - since >= LATE_LINES_TIMEOUT:
            frames = [self._end_frame()]
        elif time.monotonic() - self._last_event > PRESENCE_INTERVAL:
            self._last_event = time.monotonic()
            if self._facts.store.run(self.run_id) is None:
                self._state = None
                frames = [self._end_frame()]
        return frames

    def _read_moves(self) -> list[StoredMove]:
        position = self.position
        if self._facts.seq_of(self.run_id) == position.seq:
            return []
        moves = self._facts.store.moves(self.run_id, after=(position.seq, position.part), limit=PAGE_SIZE)
        if any(each.move.pos not in self._names for each in moves if each.move.pos >= 0):
            self._names = {row.pos: row.name for row in self._facts.store.tasks(self.run_id, outputs=False)}
        for each in moves:
            if each.move.pos < 0:
                self._state = RunState(each.move.new)
                if self._state in RUN_TERMINAL:
                    self._ended_at = time.monotonic()
                    self._facts.flush(self.run_id)
        return moves

    def _move_frame(self, stored: StoredMove) -> Frame:
        move = stored.move
        self.position = msgspec.structs.replace(self.position, seq=move.seq, part=stored.part)
        data = encoded(move_of(self.run_id, stored, self._names))
        at = self.position.text(self.run_id)
        content = frame_of("run" if move.pos < 0 else "task", data, at)
        return Frame(MOVE, (move.seq, stored.part), content, data=data, id=at)

    def _log_frame(self, line: LogLine) -> Frame:
        self.position = msgspec.structs.replace(self.position, log=line.id)
        return Frame(LOG, (line.id,), frame("log", line, self.position.text(self.run_id)), line_subject(line))

    def _end_frame(self) -> Frame:
        self.over = True
        return Frame(END, (1,), frame("end", End(self.run_id, self._state), self.position.text(self.run_id)))


def batched(frames: Sequence[Frame]) -> bytes:
    """Returns the events with all moves among them as one event ``moves``, which comes first."""
    moves = [each for each in frames if each.kind == MOVE]
    rest = b"".join([each.content for each in frames if each.kind != MOVE])
    if not moves:
        return rest
    data = b'{"moves":[' + b",".join([each.data for each in moves]) + b"]}"
    return frame_of("moves", data, moves[-1].id) + rest


def is_no_line(frame: Frame) -> bool:
    """True if the event is not a log line."""
    return frame.kind != LOG


def line_subject(line: LogLine) -> str:
    """Returns what followers of one task or attempt filter by."""
    return f"{line.task}\n{line.attempt}"


def is_line_of(frame: Frame, task: str | None, attempt: int | None) -> bool:
    """True if the event is a line of this task, of an item of it, or of this attempt, or the end of the run."""
    if frame.kind != LOG:
        return frame.kind == END
    name, _, number = frame.subject.partition("\n")
    of_task = task is None or name == task or name.startswith(f"{task}[")
    return of_task and (attempt is None or number == str(attempt))
