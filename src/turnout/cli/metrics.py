"""``turnout metrics``: the figures of all live orchestrators, for Prometheus."""

from __future__ import annotations

from turnout.cli.options import Database


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
