"""``turnout prune``: delete runs that ended long ago."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.options import Database, Json


def prune(
    older_than: Annotated[str, typer.Option("--older-than", metavar="DURATION", help="As 30d, 12h or 1d12h.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many runs would go.")] = False,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Delete runs that ended longer ago, with all that belongs to them, in small steps.

    \b
    turnout prune --older-than 30d --dry-run
    turnout prune --older-than 30d
    """
    from turnout.cli.opening import open_store
    from turnout.cli.output import say, say_json
    from turnout.model.durations import seconds
    from turnout.model.states import RUN_TERMINAL
    from turnout.runner import Runner

    age = seconds(older_than, "--older-than")
    with open_store(database) as store:
        if dry_run:
            found = store.expired_runs(store.clock() - age, sorted(RUN_TERMINAL), _MANY)
            if as_json:
                say_json({"runs": len(found), "deleted": False})
            else:
                more = " or more" if len(found) == _MANY else ""
                say(f"{len(found):,}{more} runs would be deleted")
            return
    with Runner(database, workflows=(), drives=False) as runner:
        gone = runner.prune(age)
    if as_json:
        say_json({"runs": gone.runs, "deleted": True, "rows": gone.rows, "workflows": gone.workflows})
    else:
        say(f"{gone.runs:,} runs deleted, {gone.rows:,} rows of theirs")


_MANY = 100_000
"""A dry run counts no further."""
