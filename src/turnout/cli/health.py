"""``turnout health``: is all well, and if not, why?"""

from __future__ import annotations

from turnout.cli.options import Database, Json


def health(as_json: Json = False, database: Database = None) -> int:
    """Say how the orchestrators on the database are.

    It can be asked from any process. Exit code 0 if all are healthy, 1 otherwise.

    In the names of pools "task" means run and "step" means task.

    \b
    turnout health
    turnout health --json                  as GET /health/orchestration answers it
    turnout health --database postgresql://db.example/turnout
    """
    from turnout.cli.database import Source
    from turnout.cli.failure import Exit
    from turnout.cli.format import MARKS, lasting
    from turnout.cli.health_tables import database_lines, pool_lines, trouble_lines
    from turnout.cli.output import say, say_json, width_of
    from turnout.model.driver import NOT_DRIVEN
    from turnout.runner.orchestrators import health as report

    source = Source(database)
    try:
        found, counts = source.look(), source.counts()
    finally:
        source.close()
    said, left = report(found, counts), counts.not_driven
    condition = said["status"]
    if as_json:
        say_json(said)
    else:
        mark, style = MARKS[condition]
        up = lasting(said["coordinator"]["uptime_seconds"])
        who = f"{len(found)} orchestrator{'' if len(found) == 1 else 's'}, up {up}" if found else "nobody drives runs"
        say([(f"{mark} {condition}", style), (f"  {who}", "dim")])
        if left:
            say([(f"  {left:,} unfinished run{'' if left == 1 else 's'} {NOT_DRIVEN}", "yellow")])
        if found:
            width = width_of()
            for section in (trouble_lines, pool_lines, database_lines):
                lines = section(found, width)
                for line in [[], *lines] if lines else []:
                    say(line)
    return Exit.OK if condition == "healthy" else Exit.FAILED
