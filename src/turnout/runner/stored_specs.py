"""What did the workflow of a stored run look like? A run keeps the graph that it started with."""

from __future__ import annotations

from turnout.contracts.store import ReadStore
from turnout.model.spec import WorkflowSpec, decode_spec


def spec_of_version(store: ReadStore, version: str) -> WorkflowSpec:
    """The workflow as it was when the run was submitted."""
    text = store.workflow(version)
    assert text is not None, "a run's workflow version is stored before the run"
    return decode_spec(text)
