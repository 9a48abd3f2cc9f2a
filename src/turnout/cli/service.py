"""What does a process that runs under a supervisor write, and when? Each line at once, records from a level on."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterable

from turnout.errors import InvalidSetting
from turnout.model.printable import printable

LEVELS = ("debug", "info", "warning", "error", "critical")
USUAL_LEVEL = "warning"


class PrintableFormatter(logging.Formatter):
    """Formats records so that nothing in them steers the terminal: they may quote what workers and runs are called."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def write_as_a_service(level: str | None, spoken: Iterable[str]) -> None:
    """Set up stdout and logging. The loggers that are ``spoken`` of say how the service itself is, from info on."""
    # In a pipe or a file, Python would hold lines back until there are some thousand characters of them.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    number = _number(USUAL_LEVEL if level is None else level)
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=number, handlers=[handler])
    for name in spoken:
        logging.getLogger(name).setLevel(min(number, logging.INFO))


def _number(level: str) -> int:
    if level.lower() not in LEVELS:
        raise InvalidSetting(
            f"--log-level is {level!r}: write {', '.join(LEVELS[:-1])} or {LEVELS[-1]}", field="log_level", value=level
        )
    return logging.getLevelNamesMapping()[level.upper()]
