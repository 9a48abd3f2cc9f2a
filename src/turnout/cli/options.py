"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A configured workflow's name, or module:workflow, file.py:workflow; without :workflow if there is one.",
    ),
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or `last`.")]
Database = Annotated[
    str | None,
    typer.Option("--database", "-d", metavar="URL", help="sqlite:///path or postgresql://…; else as configured."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="KEY=VALUE", help="A parameter of the workflow; may be repeated."),
]
Code = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="TARGET", help="Where the workflow's code is, if it is not configured."),
]
LogLevel = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help="From which level on records of loggers are kept with their tasks and shown here; warning unless said.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Only store the run, for another orchestrator, and print its id.")
]
