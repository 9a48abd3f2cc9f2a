"""Knows the types of the arguments of a step that calls Python or a workflow, and checks the constant ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnout.authoring.annotations import types_of
from turnout.authoring.invocation import open_signature
from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.bodies import Reporter
from turnout.authoring.yaml.document import StepDocument
from turnout.errors import InvalidInput
from turnout.model.annotations import ConversionError, TypeAdapter, schema_of
from turnout.model.interpolation import as_text
from turnout.model.step import ITEM_NAME, Constant, Value
from turnout.model.step_values import constant, is_constant, references_of, value_of
from turnout.model.text_values import Schema, read_value, shown_value

AnyTask = Task[..., Any]
AnyWorkflow = Workflow[..., Any]


class ArgumentTypes:
    """The types of the arguments of one step, by name. What has no annotation takes every value."""

    def __init__(self, step: StepDocument, task: AnyTask, child: AnyWorkflow | None, reporter: Reporter) -> None:
        self._step = step
        self._reporter = reporter
        if child is not None:
            self._types: Mapping[str, TypeAdapter] = child.source.types
            self._others: TypeAdapter | None = None
        else:
            types = types_of(task.function) if step.python is not None else {}
            parameters = open_signature(task.function).parameters.values() if types else ()
            rest = next((each.name for each in parameters if each.kind is each.VAR_KEYWORD), "")
            self._types = {each.name: types[each.name] for each in parameters if each.name in types}
            self._others = types.get(rest)

    def schemas(self, names: Mapping[str, Any]) -> dict[str, Schema]:
        """Returns the schemas by which texts are read where the arguments are evaluated. A workflow file that is called
        reads texts itself."""
        found = {name: self._schema(name) for name in names}
        return {name: schema for name, schema in found.items() if schema}

    def checked(self, name: str, value: Value) -> Value:
        """Returns the argument; a constant one in its type. One that does not fit is reported."""
        where = f"{self._step.where}.params.{name}"
        if is_constant(value):
            given = constant(value)
            made = self._read(name, given, where)
            return value if made is given else Constant(made)
        if references_of(value) == {ITEM_NAME}:
            self._check_items(name, value)
        return value

    def _check_items(self, name: str, value: Value) -> None:
        """Reports the constant items of a parallel step that the argument cannot be made of."""
        parallel = self._step.parallel
        for number, item in enumerate(parallel.items or () if parallel is not None else ()):
            where = f"{self._step.where}.parallel.items[{number}]"
            if "$" in as_text(item):
                continue
            try:
                self._read(name, value_of(value, {ITEM_NAME: item}), where)
            except InvalidInput as error:
                self._reporter.report("error", "bad_arguments", error.message, where)

    def _type(self, name: str) -> TypeAdapter | None:
        return self._types.get(name, self._others)

    def _schema(self, name: str) -> Schema:
        known = self._type(name)
        return {} if known is None or known.reads_text else schema_of(known.annotation)

    def _read(self, name: str, value: Any, where: str) -> Any:
        known, schema = self._type(name), self._schema(name)
        if known is None or known.convert is None:
            return value
        try:
            # A number has lost how it was written: 1.10 is 1.1.
            if schema.get("type") == "string" and isinstance(value, int | float):
                raise ConversionError("it in quotes")
            made = read_value(value, schema)
        except ConversionError as error:
            self._report(name, value, where, known, f"write {error}")
            return value
        try:
            known.convert(made)
        except ConversionError as error:
            self._report(name, value, where, known, str(error))
            return value
        return made

    def _report(self, name: str, value: Any, where: str, known: TypeAdapter, fault: str) -> None:
        step = self._step
        what = f"{step.where}.params.{name} is {shown_value(value)}"
        why = f"{what}, and {step.call or step.python!r} takes {known.text} there: {fault}"
        self._reporter.report("error", "bad_arguments", why, where)
