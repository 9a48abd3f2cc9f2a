"""``turnout demo``: see it work, in a few seconds and without a project."""

from __future__ import annotations

from turnout.cli.options import Json


def demo(as_json: Json = False) -> int:
    """Run an example order and show what Turnout does with it.

    The graph, where each task goes and why, the live tree, the result. Its database is in a temporary folder.
    """
    from turnout.cli.demonstration import demonstrate

    return demonstrate(as_json=as_json)
