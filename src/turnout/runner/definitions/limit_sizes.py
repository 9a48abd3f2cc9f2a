"""Warns of limits and queues of definitions that have no size in the configuration of this process (pure)."""

from __future__ import annotations

from collections.abc import Mapping

from turnout.authoring.yaml.findings import Finding
from turnout.authoring.yaml.marks import Marks
from turnout.model.limit_declarations import without_size
from turnout.model.limits import LimitSize
from turnout.model.spec import WorkflowSpec

NO_MARKS = Marks({})


def size_warnings(spec: WorkflowSpec, marks: Marks, configured: Mapping[str, LimitSize]) -> list[Finding]:
    """Returns a warning for each limit and queue without a size: until the configuration has one, runs of the workflow
    are refused here, and due times of its schedules skipped."""
    found: list[Finding] = []
    for error in without_size(spec, configured):
        where = "queue" if error.code == "unknown_queue" else "limits"
        found.append(Finding("warning", error.code, error.message, *marks.at(where), where))
    return list(dict.fromkeys(found))
