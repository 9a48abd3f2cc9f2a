"""``turnout top``: watch the orchestrators work."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.options import Database


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one picture and end, as in a pipe.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was seen once, as JSON.")] = False,
    database: Database = None,
) -> None:
    """Show runs, orchestrators, pools and executors, live.

    `q` or Ctrl-C leaves. Orchestrators say how they are with every heartbeat, so the picture is a few seconds old at
    most; what several of them do is summed up. `running` is how many attempts an executor or a worker runs, of
    how many it can run at once; `waiting` what it has in hand besides. In the names of pools "task" means run and
    "step" means task.

    \b
    turnout top
    turnout top --once                     one picture, also for a pipe
    turnout top --json                     every figure, once
    """
    import time

    from turnout.cli.dashboard import frame
    from turnout.cli.database import StatusReader
    from turnout.cli.output import is_terminal, plain, print_json, print_line, width_of

    source = StatusReader(database)
    found = source.snapshot()
    if not (once or as_json) and is_terminal():
        from turnout.cli.live import show_live

        show_live(source, found)
        return
    source.close()
    if as_json:
        print_json(
            [
                {**plain(one), "condition": one.status.condition, "troubles": plain(one.status.troubles)}
                for one in found.orchestrators
            ]
        )
        return
    for line in frame(found.orchestrators, time.time(), found.runs, width=width_of()):
        print_line(line)
