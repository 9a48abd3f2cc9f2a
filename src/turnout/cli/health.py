"""``turnout health`` and ``turnout metrics``: the condition and the figures of the orchestrators."""

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
    from turnout.cli.database import StatusReader
    from turnout.cli.failure import Exit
    from turnout.cli.format import MARKS, format_count, format_duration
    from turnout.cli.health_tables import database_lines, pool_lines, trouble_lines
    from turnout.cli.output import print_json, print_line, width_of
    from turnout.model.driver import NOT_DRIVEN
    from turnout.runner.live_sessions import health as report

    source = StatusReader(database)
    try:
        found, counts = source.orchestrators(), source.run_counts()
    finally:
        source.close()
    document, not_driven = report(found, counts), counts.not_driven
    condition = document["status"]
    if as_json:
        print_json(document)
    else:
        mark, style = MARKS[condition]
        up = format_duration(document["coordinator"]["uptime_seconds"])
        count = format_count(len(found), "orchestrator")
        summary = f"{count}, up {up}" if found else "no orchestrator is alive"
        print_line([(f"{mark} {condition}", style), (f"  {summary}", "dim")])
        if not_driven:
            print_line([(f"  {format_count(not_driven, 'unfinished run')} {NOT_DRIVEN}", "yellow")])
        if found:
            width = width_of()
            for section in (trouble_lines, pool_lines, database_lines):
                lines = section(found, width)
                for line in [[], *lines] if lines else []:
                    print_line(line)
    return Exit.OK if condition == "healthy" else Exit.FAILED


def metrics(database: Database = None) -> None:
    """Print the figures of all orchestrators for Prometheus.

    \b
    turnout metrics
    turnout metrics > /var/lib/node_exporter/turnout.prom
    """
    from turnout.cli.database import StatusReader
    from turnout.cli.output import print_line
    from turnout.model.exposition import exposition

    source = StatusReader(database)
    try:
        found = source.orchestrators()
    finally:
        source.close()
    print_line(exposition(found).rstrip("\n"))
