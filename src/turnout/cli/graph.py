"""``turnout graph``: what does a workflow, or a run of it, look like?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from turnout.cli.options import Database, Json


class Format(StrEnum):
    ascii = "ascii"
    mermaid = "mermaid"
    dot = "dot"
    svg = "svg"


def graph(
    subject: Annotated[
        str, typer.Argument(metavar="TARGET|RUN", help="A workflow, or a run to see it with its states.")
    ],
    format: Annotated[Format, typer.Option("--format", "-f", help="How to draw it.")] = Format.ascii,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")] = None,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Draw a workflow's graph; of a run, with its states.

    \b
    turnout graph flows.py
    turnout graph last --format svg --output run.svg
    """
    from turnout.cli.output import plain_text, say, say_json
    from turnout.cli.picturing import drawn, subject_of
    from turnout.rendering.diagrams import edges

    spec, states = subject_of(subject, database)
    if as_json:
        tasks = [{"name": task.name, "state": (states or {}).get(task.name)} for task in spec.tasks]
        say_json({"workflow": spec.full_name, "tasks": tasks, "edges": edges(spec)})
        return
    lines = drawn(spec, states, format.value)
    if output is None:
        for line in lines:
            say(line)
    else:
        output.write_text("".join(f"{plain_text(line)}\n" for line in lines), encoding="utf-8")
        say(f"wrote {output}")
