"""Workflow files of the kinds that teams write, each with its input, the end of its run and its result.

A file of the corpus holds several: ``=== name``, the text, and lines that begin with ``-->``. The end ``validates``
means that a run needs what a test machine does not have.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from turnout import task

FOLDER = Path(__file__).parents[1] / "yaml_corpus"


class CorpusFile(NamedTuple):
    name: str
    text: str
    input: dict[str, Any]
    end: str
    """``completed``, ``failed`` or ``validates``."""
    result: Any
    """Some of the outputs; None: they are not compared."""


def corpus() -> list[CorpusFile]:
    parts = [part for path in sorted(FOLDER.glob("*.txt")) for part in path.read_text("utf-8").split("=== ")[1:]]
    return [_file(part) for part in parts]


def _file(part: str) -> CorpusFile:
    name, *lines = part.rstrip("\n").split("\n")
    marks = dict(line.removeprefix("--> ").partition(" ")[::2] for line in lines if line.startswith("--> "))
    text = "".join(f"{line}\n" for line in lines if not line.startswith("--> "))
    [end] = marks.keys() & {"completed", "failed", "validates"}
    return CorpusFile(name, text, json.loads(marks.get("input", "{}")), end, json.loads(marks[end] or "null"))


@task
def double(number: int) -> int:
    return 2 * number


TASKS = {double.ref: double}
"""The tasks that ``python:`` may name in the corpus."""
