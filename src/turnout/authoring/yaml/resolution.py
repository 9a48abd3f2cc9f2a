"""Resolves the steps of a workflow: their names, the defaults, and what each depends on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal

from turnout.authoring.yaml.document import Handlers, StepDefaults, StepDocument
from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.step_forms import RawStep
from turnout.model.names import is_hook, is_identifier, suggest

Groups = tuple[tuple[RawStep, ...], ...]

_FOREIGN = re.compile(r"[^A-Za-z0-9_.-]+")


def identifier(name: str) -> str:
    """Returns the name with what no identifier may have replaced by ``_``."""
    made = _FOREIGN.sub("_", name.strip())[:128]
    return made if is_identifier(made) else f"_{made}"[:128]


def resolved_type(groups: Groups, written: str | None, reading: Reading) -> Literal["chain", "graph"]:
    """Returns the type of the workflow; if it is not written, a note says which was taken."""
    if written is not None:
        return "chain" if written == "chain" else "graph"
    first = next((step for group in groups for step in group if "depends" in step.fields), None)
    mark = _place(first, "depends", reading) if first else reading.places.get("steps", Mark(1, 1))
    if first is not None:
        why = f"`type` is not written: graph was taken, since {first.where} has `depends`"
    else:
        why = "`type` is not written: chain was taken, since no step has `depends`"
    reading.report("note", "assumed_type", why, mark, "type")
    return "graph" if first else "chain"


def resolve_steps(
    groups: Groups, kind: Literal["chain", "graph"], defaults: StepDefaults, reading: Reading
) -> tuple[StepDocument, ...]:
    """Returns the steps in the order of the file, with every problem of their names and dependencies reported."""
    steps = {step.where: step for group in groups for step in group}
    names = _names(list(steps.values()), reading)
    known = _known(steps, names)
    depends: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    for group in groups:
        for step in group:
            own = _own_dependencies(step, known, reading)
            depends[step.where] = own if own is not None else before if kind == "chain" else ()
        before = tuple(step.where for step in group)
    _report_cycles(steps, names, depends, reading)
    return tuple(
        _document(step, names[where], tuple(names[each] for each in depends[where]), defaults)
        for where, step in steps.items()
    )


def resolve_handlers(handlers: Handlers, reading: Reading) -> Handlers:
    """Returns the handlers with their names; one without a name is named by its event."""
    found: dict[str, Any] = {}
    for event in handlers.__struct_fields__:
        step: Any = getattr(handlers, event)
        if isinstance(step, RawStep):
            if "depends" in step.fields:
                why = f"{step.where} has `depends`: a handler runs at the end of the run"
                reading.report("error", "bad_value", why, _place(step, "depends", reading), f"{step.where}.depends")
            name = step.fields.get("name") or step.fields.get("id") or event
            found[event] = _document(step, identifier(name), (), StepDefaults())
    return Handlers(**found)


def _names(steps: list[RawStep], reading: Reading) -> dict[str, str]:
    """Returns the name of every step by its path."""
    taken: dict[str, RawStep] = {}
    for step in steps:
        for key in ("name", "id"):
            name = identifier(step.fields[key]) if step.fields.get(key) else ""
            other = taken.setdefault(name, step) if name else step
            if other is not step:
                why = f"{step.where}.{key} is {step.fields[key]!r}, as {other.where} is called already"
                reading.report("error", "duplicate_step", why, _place(step, key, reading), f"{step.where}.{key}")
            if is_hook(name):
                why = f"{step.where}.{key} is {name!r}: names that begin with `on_success.` and the like are for hooks"
                reading.report("error", "bad_name", why, _place(step, key, reading), f"{step.where}.{key}")
    names: dict[str, str] = {}
    for number, step in enumerate(steps, 1):
        given = step.fields.get("name") or step.fields.get("id")
        names[step.where] = identifier(given) if given else _free(f"step_{number}", taken)
        taken.setdefault(names[step.where], step)
    return names


def _free(name: str, taken: Mapping[str, RawStep]) -> str:
    while name in taken:
        name = f"{name}_"
    return name


def _known(steps: Mapping[str, RawStep], names: Mapping[str, str]) -> dict[str, str]:
    """Returns the paths of the steps by all that they can be called: name, name as it was written, id."""
    found: dict[str, str] = {}
    for where, step in steps.items():
        for called in (names[where], step.fields.get("name"), step.fields.get("id")):
            if called:
                found.setdefault(called, where)
    return found


def _own_dependencies(step: RawStep, known: Mapping[str, str], reading: Reading) -> tuple[str, ...] | None:
    """Returns the paths of the steps that a step depends on; None if it says nothing about it."""
    written: Iterable[str] | None = step.fields.get("depends")
    if written is None:
        return None
    found: list[str] = []
    path = f"{step.where}.depends"
    for number, called in enumerate(written):
        if called in known:
            found.append(known[called])
        else:
            mark = reading.places.get(f"{path}[{number}]") or _place(step, "depends", reading)
            why = f"{path} has {called[:60]!r}, which is no step{suggest(called, known)}"
            reading.report("error", "unknown_dependency", why, mark, path)
    return tuple(dict.fromkeys(found))


def _report_cycles(
    steps: Mapping[str, RawStep], names: Mapping[str, str], depends: Mapping[str, tuple[str, ...]], reading: Reading
) -> None:
    for around in cycles_in(depends):
        step = next(steps[each] for each in around if "depends" in steps[each].fields)
        why = f"the steps depend on one another: {' → '.join(names[each] for each in reversed(around))}"
        reading.report("error", "cycle", why, _place(step, "depends", reading), f"{step.where}.depends")


def cycles_in(graph: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Yields a cycle of each knot of the graph, from each node to one that it is before; no node is in two of them.

    >>> [sorted(set(each)) for each in cycles_in({"a": ["a"], "b": ["d"], "d": ["b"], "e": ["a"]})]
    [['a'], ['b', 'd']]
    """
    rest = {node: list(before) for node, before in graph.items()}
    while True:
        try:
            TopologicalSorter(rest).prepare()
        except CycleError as error:
            around: list[str] = error.args[1]
            yield around
            rest = {
                node: [each for each in before if each not in around]
                for node, before in rest.items()
                if node not in around
            }
        else:
            return


def _document(step: RawStep, name: str, depends: tuple[str, ...], defaults: StepDefaults) -> StepDocument:
    written = step.fields.get("name", "")
    fields: dict[str, Any] = {
        **dict(_defaults(step.fields, defaults)),
        "name": name,
        "title": written if written != name else "",
        "depends": depends,
        "where": step.where,
    }
    return StepDocument(**fields)


def _defaults(fields: Mapping[str, Any], defaults: StepDefaults) -> Iterator[tuple[str, Any]]:
    """Yields the fields of a step, with the defaults for those that it does not have."""
    yield from fields.items()
    for name in defaults.__struct_fields__:
        value = getattr(defaults, name)
        if name in ("env", "preconditions"):
            yield name, (*value, *fields.get(name, ()))
        elif name not in fields and value is not None:
            yield name, value


def _place(step: RawStep, key: str, reading: Reading) -> Mark:
    return reading.places.get(f"{step.where}.{key}", step.mark)
