"""Standard output and logging of processes that run under a supervisor."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterable

from turnout.errors import InvalidSetting
from turnout.model.texts import printable

LEVELS = ("debug", "info", "warning", "error", "critical")
DEFAULT_LEVEL = "warning"


class PrintableFormatter(logging.Formatter):
    """Formats records with control characters escaped: they may quote names of workers and runs."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def configure_logging(level: str | None, info_loggers: Iterable[str]) -> None:
    """Sets up stdout and logging. ``info_loggers`` report on the service itself, from info on."""
    # In a pipe or a file, Python would buffer some thousand characters.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    number = _number(DEFAULT_LEVEL if level is None else level)
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=number, handlers=[handler])
    for name in info_loggers:
        logging.getLogger(name).setLevel(min(number, logging.INFO))


def _number(level: str) -> int:
    if level.lower() not in LEVELS:
        raise InvalidSetting(
            f"--log-level is {level!r}: write {', '.join(LEVELS[:-1])} or {LEVELS[-1]}", field="log_level", value=level
        )
    return logging.getLevelNamesMapping()[level.upper()]
