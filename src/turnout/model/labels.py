"""Resolves the labels that a run asks for: parameters of its input, and the worker that it is pinned to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.model.spec import Labels, WorkerSelector

WORKER_LABEL = "turnout.worker"
"""The label that only the worker with this id has. Steps of a run that stays on one worker ask for it."""

_PARAMETER = re.compile(r"\$\{(?:params\.)?([A-Za-z_]\w*)\}")


def has_parameters(selector: WorkerSelector) -> bool:
    """True if a label takes a value from the run's input, as in ``{"zone": "${zone}"}``."""
    return isinstance(selector, dict) and any("${" in value and _PARAMETER.search(value) for value in selector.values())


def with_parameters(labels: Labels, input: Mapping[str, Any]) -> Labels:
    """Returns the labels with the values of the run's input. A name that the input does not have stays as it is, so
    that the reason for which the task waits shows it.

    >>> with_parameters({"zone": "${zone}-${params.number}", "gpu": "${gpu}"}, {"zone": "eu", "number": 2, "gpu": True})
    {'zone': 'eu-2', 'gpu': 'true'}
    """
    return {name: _PARAMETER.sub(lambda found: _value(found, input), value) for name, value in labels.items()}


def _value(found: re.Match[str], input: Mapping[str, Any]) -> str:
    value = input.get(found[1])
    if value is None:
        return found[0]
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def pinned(labels: Mapping[str, str] | None, worker: str) -> Labels:
    """Returns the labels that only this worker has all of."""
    return {**(labels or {}), WORKER_LABEL: worker}


def unpinned(labels: Labels | None) -> Labels | None:
    """Returns the labels without the worker's own."""
    if labels is None or WORKER_LABEL not in labels:
        return labels
    return {name: value for name, value in labels.items() if name != WORKER_LABEL}
