"""Bounds the size of the result of a run by the stored sizes of what it is made from, without reading any of it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from turnout.contracts.store import Store
from turnout.model.bindings import tasks_in
from turnout.model.graph import Graph
from turnout.model.rows import StoredRun
from turnout.model.spec import DictOf, FromParam, FromTask, ListOf, Literally, Template
from turnout.model.states import RunState

NULL_BYTES = len("null")


def result_bytes(store: Store, run: StoredRun, graph: Graph) -> int | None:
    """Returns how many bytes the result of a completed run has at most; exactly, if it is the output of one task. None
    if there is no result, or if its size is not known cheaply: of lists of mapped tasks, and in Context style. Blocks.
    """
    spec = graph.spec
    if run.row.state is not RunState.COMPLETED or spec.context_style:
        return None
    if spec.result is None:
        return NULL_BYTES
    positions = {name: graph.position[name] for name in tasks_in(spec.result)}
    if any(pos in graph.mapped for pos in positions.values()):
        return None
    sizes = store.output_sizes(run.new.run_id, list(positions.values())) if positions else {}
    outputs = {name: sizes.get(pos, NULL_BYTES) for name, pos in positions.items()}
    return _bound(spec.result, outputs, len(run.new.input.encode()))


def plain_result(graph: Graph) -> int | None:
    """Returns the position of the task whose output, as it is stored, is the result of the run; None if it is made of
    something else."""
    result = graph.spec.result
    if graph.spec.context_style or not isinstance(result, FromTask) or result.path:
        return None
    pos = graph.position[result.name]
    return None if pos in graph.mapped else pos


def _bound(template: Template, outputs: Mapping[str, int], input_bytes: int) -> int:
    match template:
        case FromTask(name):
            return outputs[name]
        case FromParam():
            return input_bytes
        case Literally(value):
            return len(msgspec.json.encode(value))
        case ListOf(items):
            return 2 + sum(1 + _bound(each, outputs, input_bytes) for each in items)
        case DictOf(items):
            keys = sum(len(msgspec.json.encode(key)) + 2 for key in items)
            return 2 + keys + sum(_bound(each, outputs, input_bytes) for each in items.values())
