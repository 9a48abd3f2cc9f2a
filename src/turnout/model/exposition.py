"""Writes the declared figures of statuses in the text format of Prometheus, with units in the names.

The label ``orchestrator`` is the id of the session; ``turnout_orchestrator_info`` has its host and process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from turnout.model.figures import Figure, Part, declarations
from turnout.model.health import Orchestrator
from turnout.model.texts import printable

Labels: TypeAlias = tuple[tuple[str, str], ...]
Sample: TypeAlias = tuple[str, Labels, float]


def families(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Returns the metrics of a status and of its parts, each with its meaning."""
    found: dict[str, str] = {}
    for declared in declarations(kind).values():
        if isinstance(declared, Part):
            found |= families(declared.kind)
        elif declared.metric:
            found[declared.metric] = found.get(declared.metric) or declared.help
    return found


FAMILIES: Mapping[str, str] = {
    "turnout_orchestrators": "Orchestrators that are alive.",
    "turnout_orchestrator_info": "Where an orchestrator runs; always 1.",
    **families(Orchestrator),
}


def exposition(orchestrators: Sequence[Orchestrator], *, in_open_metrics: bool = False) -> str:
    """Returns the metrics of these orchestrators."""
    return exposed(FAMILIES, all_samples(orchestrators), in_open_metrics=in_open_metrics)


def all_samples(orchestrators: Sequence[Orchestrator]) -> Iterator[Sample]:
    """Yields the samples of these orchestrators, and how many there are."""
    yield "turnout_orchestrators", (), len(orchestrators)
    for one in orchestrators:
        of = (("orchestrator", one.id),)
        yield "turnout_orchestrator_info", (*of, ("host", one.host), ("pid", str(one.pid))), 1
        yield from samples(one, of)


def samples(status: msgspec.Struct, labels: Labels = ()) -> Iterator[Sample]:
    """Yields the samples of a status and of its parts."""
    for name, declared in declarations(type(status)).items():
        value = getattr(status, name)
        if isinstance(declared, Part):
            for own, part in declared.entries(value):
                yield from samples(part, (*labels, *own))
        elif declared.metric and value is not None and (not declared.requires or getattr(status, declared.requires)):
            for own, number in _values(declared, value):
                yield declared.metric, (*labels, *own), number


def _values(figure: Figure, value: float | str | Mapping[str, float]) -> Iterator[tuple[Labels, float]]:
    if isinstance(value, str):
        yield from (((((figure.label, str(state)),)), state == value) for state in figure.states)
    elif isinstance(value, Mapping):
        yield from ((((figure.label, key),), each) for key, each in sorted(value.items()))
    elif figure.label:
        label, _, text = figure.label.partition("=")
        yield ((label, text),), value
    else:
        yield (), value


def is_counter(metric: str) -> bool:
    return metric.endswith("_total")


def family_lines(metric: str, meaning: str, kind: str, in_open_metrics: bool) -> tuple[str, str]:
    """Returns the lines in front of the samples of a metric. In OpenMetrics the name of a counter's family has no
    ``_total``."""
    name = metric.removesuffix("_total") if in_open_metrics and kind == "counter" else metric
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"


def exposed(meanings: Mapping[str, str], values: Iterable[Sample], *, in_open_metrics: bool = False) -> str:
    """Returns the samples in the order of the metrics; a metric without samples is left out."""
    found: dict[str, list[str]] = {name: [] for name in meanings}
    for name, labels, value in values:
        found[name].append(f"{name}{label_text(labels)} {_number(value)}")
    lines: list[str] = []
    for name, meaning in meanings.items():
        if found[name]:
            kind = "counter" if is_counter(name) else "gauge"
            lines += [*family_lines(name, meaning, kind, in_open_metrics), *found[name]]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    if math.isnan(value):
        return "NaN"
    return repr(float(value)) if math.isfinite(value) else ("+Inf" if value > 0 else "-Inf")


def label_text(labels: Labels) -> str:
    """Returns labels as they stand behind a metric's name."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return printable(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
