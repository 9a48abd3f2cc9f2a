"""Workflow files of the kinds that teams write, each with its input, the end of its run and its result.

A file of the corpus holds several: a line ``=== NAME {input} -> END {result}`` begins each. The end ``validates`` means
that a run needs what a test machine does not have.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from turnout import task

FOLDER = Path(__file__).parents[1] / "yaml_corpus"
_HEAD = re.compile(r"^=== (\S+)(?: (\{.*\}))? -> (completed|failed|validates)(?: (.*))?$", re.MULTILINE)


class CorpusFile(NamedTuple):
    name: str
    text: str
    input: dict[str, Any]
    end: str
    result: Any
    """None: it is not compared."""


def corpus() -> list[CorpusFile]:
    found: list[CorpusFile] = []
    for path in sorted(FOLDER.glob("*.yamls")):
        text = path.read_text(encoding="utf-8")
        heads = list(_HEAD.finditer(text))
        assert len(heads) == text.count("\n=== ") + text.startswith("=== "), f"a head in {path.name} cannot be read"
        ends = [*(head.start() for head in heads[1:]), len(text)]
        for head, end in zip(heads, ends, strict=True):
            name, given, state, result = head.groups()
            body = text[head.end() + 1 : end].rstrip("\n") + "\n"
            found.append(CorpusFile(name, body, json.loads(given or "{}"), state, json.loads(result or "null")))
    return found


@task
def double(number: int) -> int:
    return 2 * number


TASKS = {f"{double.ref}": double}
"""The tasks that ``python:`` may name in the corpus."""
