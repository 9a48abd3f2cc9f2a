"""``turnout metrics``: the figures of all live orchestrators, for Prometheus."""

from __future__ import annotations

from turnout.cli.options import Database


def metrics(database: Database = None) -> None:
    """Print the figures of all orchestrators for Prometheus.

    \b
    turnout metrics
    turnout metrics > /var/lib/node_exporter/turnout.prom
    """
    from turnout.cli.database import Source
    from turnout.cli.output import say
    from turnout.model.exposition import exposition

    source = Source(database)
    try:
        found = source.look()
    finally:
        source.close()
    say(exposition(found).rstrip("\n"))
