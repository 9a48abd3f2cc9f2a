"""Finds what the body of a step takes from its run: parameters, outputs of the steps before, and their results."""

from __future__ import annotations

from typing import Any, Literal

from turnout.authoring.yaml.bodies import BodyBuilder, Reporter
from turnout.authoring.yaml.document import StepDocument, WorkflowDocument
from turnout.authoring.yaml.inputs import input_name
from turnout.authoring.yaml.scopes import Scopes
from turnout.model.spec import DictOf, FromParam, FromTask, Template
from turnout.model.step import OUTPUTS, PARAMS, STEPS

STREAMS: tuple[Literal["stdout", "stderr"], ...] = ("stdout", "stderr")


class TaskInputs:
    """The inputs of the tasks of one document, and the streams that steps keep for one another."""

    def __init__(self, document: WorkflowDocument, scopes: Scopes, reporter: Reporter) -> None:
        self._document = document
        self._scopes = scopes
        self._reporter = reporter
        self._kept: dict[str, set[str]] = {}

    def arguments(self, step: StepDocument | None, results: set[str]) -> dict[str, Template]:
        """Returns the arguments of a body: parameters, outputs of the steps before, and these results by id."""
        params = {each.name: FromParam(input_name(each)) for each in self._document.params}
        outputs = {name: output_of(each) for name, each in self._scopes.outputs(step).items()}
        steps = {called: self._result_of(called, step) for called in sorted(results)}
        found: dict[str, dict[str, Any]] = {PARAMS: params, OUTPUTS: outputs, STEPS: steps}
        return {name: DictOf(items) for name, items in found.items() if items}

    def results(self, builder: BodyBuilder, step: StepDocument) -> set[str]:
        """Returns the steps whose results the texts refer to, and notes the streams that those have to keep."""
        for called, field in sorted(builder.expressions.results):
            of = self._scopes.step_of(called, step)
            if of is None:
                continue
            if not _has_result(of) and field != "output":
                why = f"${{{called}.{field}}}: {called!r} runs no command of its own, so it has `output` only"
                self._reporter.report("error", "unknown_reference", why, step.where)
            if field in STREAMS:
                self._kept.setdefault(of.name, set()).add(field)
        return {called for called, _ in builder.expressions.results}

    def kept_streams(self, step: str) -> tuple[Literal["stdout", "stderr"], ...]:
        """Returns the streams of the step that others refer to."""
        return tuple(stream for stream in STREAMS if stream in self._kept.get(step, ()))

    def _result_of(self, called: str, step: StepDocument | None) -> Template:
        of = self._scopes.step_of(called, step)
        assert of is not None, "only steps before this one are known"
        return FromTask(of.name) if _has_result(of) else DictOf({"output": output_of(of)})


def _has_result(step: StepDocument) -> bool:
    """True if the result of the step has its exit code and streams."""
    return step.call is None and step.handler is None and step.python is None and step.parallel is None


def output_of(step: StepDocument) -> Template:
    """Returns the template of the value of the step's output variable."""
    if step.call is not None:
        return DictOf({"outputs": FromTask(step.name)})
    if step.handler is not None or step.python is not None or step.parallel is not None:
        return FromTask(step.name)
    return FromTask(step.name, ("output",))
