"""Reads and writes the positions in streams of events: what a client sends back as ``Last-Event-ID``."""

from __future__ import annotations

import re

import msgspec

from turnout.errors import RequestError
from turnout.model.rows import StoredRun

_RUN = re.compile(r"([0-9a-f-]{36}):(\d{1,9})\.([01])\.(\d{1,18})")
_CHANGE = re.compile(r"\d{1,18}")


class RunPosition(msgspec.Struct, frozen=True, kw_only=True):
    """A position in the events of one run: its last move and its last log line."""

    seq: int = 0
    part: int = 0
    log: int = 0

    def text(self, run_id: str) -> str:
        """Returns the position as it is sent.

        >>> RunPosition(seq=4, log=17).text("0198c3f0-0000-7000-8000-000000000000")
        '0198c3f0-0000-7000-8000-000000000000:4.0.17'
        """
        return f"{run_id}:{self.seq}.{self.part}.{self.log}"


START = RunPosition()


def position_behind(run: StoredRun) -> str:
    """Returns the position behind every move that this reading of the run knows of, and before all log lines."""
    return RunPosition(seq=run.seq).text(run.new.run_id)


def run_position(text: str, run_id: str) -> RunPosition:
    """Returns the position in the events of this run. Raises RequestError if the text is none of them."""
    found = _RUN.fullmatch(text)
    if found is None:
        raise _invalid(text, "the id of an event of this run")
    if found[1] != run_id:
        raise RequestError(
            f"Last-Event-ID is a position in the events of run {found[1]}, not of {run_id}",
            code="foreign_position",
            field="Last-Event-ID",
        )
    return RunPosition(seq=int(found[2]), part=int(found[3]), log=int(found[4]))


def change_position(text: str) -> int:
    """Returns the position in the changes of all runs. Raises RequestError if the text is none."""
    if _CHANGE.fullmatch(text) is None:
        raise _invalid(text, "the id of an event of this stream")
    return int(text)


def _invalid(text: str, expected: str) -> RequestError:
    return RequestError(
        f"Last-Event-ID is {text[:80]!a}; it must be {expected}", code="invalid_position", field="Last-Event-ID"
    )
