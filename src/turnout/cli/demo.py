"""``turnout demo``: see it work, in a few seconds and without a project."""

from __future__ import annotations

from turnout.cli.options import Json


def demo(as_json: Json = False) -> int:
    """Run an example order: its graph, where each task goes and why, the live tree, the result.

    It uses a database of its own in a temporary folder.
    """
    from turnout.cli.demonstration import demonstrate

    return demonstrate(as_json=as_json)
