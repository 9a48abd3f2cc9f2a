"""``turnout logs``: the stored lines of a run's tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.options import Database, Run


def logs(
    run: Run,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="Only of this task.")] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only of this attempt.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object in each line.")] = False,
    database: Database = None,
) -> None:
    """Print what a run's tasks printed and logged.

    \b
    turnout logs last
    turnout logs last charge --attempt 1
    turnout logs last --follow
    """
    from turnout.cli.database import open_store
    from turnout.cli.log_lines import format_line
    from turnout.cli.output import plain, print_line
    from turnout.model.texts import json_text
    from turnout.runner.log_reader import LogReader, lines_of
    from turnout.runner.run_reader import find_run

    with open_store(database) as store:
        reader = LogReader(store, None, find_run(store, run).new.run_id, follow=follow)
        for line in lines_of(reader.begin(task, attempt)):
            if as_json:
                print_line(json_text(plain(line)))
            else:
                print_line(format_line(line.task, line.stream, line.text, attempt=line.attempt))
