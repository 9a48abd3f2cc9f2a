"""Confirmation before data is deleted: asked of a person at a terminal, never of a script."""

from __future__ import annotations

import sys

import typer

from turnout.cli.output import is_terminal
from turnout.model.printable import printable_line


def agreed(question: str, *, yes: bool) -> bool:
    """Whether to go on: it was said already, nobody is there to be asked, or the person says so."""
    if yes or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return True
    return typer.confirm(printable_line(question), err=True)
