"""``turnout prune``: deletes runs that ended long ago."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from turnout.cli.options import Database, Json, Yes


def prune(
    older_than: Annotated[str, typer.Option("--older-than", metavar="DURATION", help="As 30d, 12h or 1d12h.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many runs would go.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Delete runs that ended longer ago, in small steps.

    All that belongs to them goes too. On a terminal it asks first; --yes does not.

    \b
    turnout prune --older-than 30d --dry-run
    turnout prune --older-than 30d
    """
    from turnout.cli.database import open_store
    from turnout.cli.failure import Exit
    from turnout.cli.format import format_count
    from turnout.cli.output import confirmed, print_json, print_line
    from turnout.model.durations import seconds
    from turnout.model.states import RUN_TERMINAL
    from turnout.runner import Runner

    age = seconds(older_than, "--older-than")
    with open_store(database) as store:
        found = len(store.expired_runs(store.clock() - age, sorted(RUN_TERMINAL), MAX_COUNTED))
    many = f"{found:,} or more runs" if found == MAX_COUNTED else format_count(found, "run")
    if dry_run:
        if as_json:
            print_json({"runs": found, "deleted": False})
        else:
            print_line(f"{many} would be deleted")
        return Exit.OK
    if found and not confirmed(f"delete {many} that ended more than {older_than} ago?", yes=yes or as_json):
        print_line("nothing was deleted", to=sys.stderr)
        return Exit.FAILED
    with Runner(database, workflows=(), drives=False) as runner:
        gone = runner.prune(age)
    if as_json:
        print_json({"runs": gone.runs, "deleted": True, "rows": gone.rows, "workflows": gone.workflows})
    else:
        print_line(f"{format_count(gone.runs, 'run')} deleted, {format_count(gone.rows, 'row')} of theirs")
    return Exit.OK


MAX_COUNTED = 100_000
"""A dry run counts no further."""
