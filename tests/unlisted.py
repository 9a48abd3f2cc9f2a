"""Workflows of a test module that Runners of other tests, which take all that are defined, could not run."""

from __future__ import annotations

from typing import Any, TypeVar

from turnout import Workflow
from turnout.authoring.workflow import _defined

W = TypeVar("W", bound=Workflow[..., Any])


def unlisted(workflow: W) -> W:
    """Only who is given it knows it."""
    _defined.discard(workflow)
    return workflow
