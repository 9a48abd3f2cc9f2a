"""Finds what the texts of each step may refer to: parameters, variables, and what the steps before it leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnout.authoring.yaml.document import StepDocument, WorkflowDocument
from turnout.authoring.yaml.scope import BUILT_IN, BUILT_IN_OF_HANDLERS, Scope
from turnout.model.step import ITEM_NAME


def is_handler(step: StepDocument) -> bool:
    """True for a step under ``handler_on``, which runs when all others have ended."""
    return step.where.startswith("handler_on")


class Scopes:
    """The scopes of one document's steps."""

    def __init__(self, document: WorkflowDocument) -> None:
        self._document = document
        self._steps = {step.name: step for step in document.steps}
        self._before = {step.name: self._ancestors(step) for step in document.steps}

    def _ancestors(self, step: StepDocument) -> frozenset[str]:
        found: set[str] = set()
        open_ = list(step.depends)
        while open_:
            name = open_.pop()
            if name not in found:
                found.add(name)
                open_.extend(self._steps[name].depends)
        return frozenset(found)

    def before(self, step: StepDocument | None) -> Sequence[StepDocument]:
        """Returns the steps that have ended before this one, in the order of the file: all of them for a handler, none
        for what evaluates the conditions of the workflow."""
        if step is None:
            return ()
        known = None if is_handler(step) else self._before[step.name]
        return [each for each in self._document.steps if known is None or each.name in known]

    def outputs(self, step: StepDocument | None) -> Mapping[str, StepDocument]:
        """Returns the output variables that are set before the step, each with the last step that sets it."""
        return {each.output: each for each in self.before(step) if each.output is not None}

    def step_of(self, called: str, step: StepDocument | None) -> StepDocument | None:
        """Returns the step before this one that has the id or the name."""
        found = [each for each in self.before(step) if called in (each.id, each.name)]
        return found[0] if found else None

    def of(self, step: StepDocument | None, *, item: bool = False) -> Scope:
        """Returns the scope of a step; of None, that of the conditions of the workflow."""
        document, before = self._document, self.before(step)
        names = {*BUILT_IN, *(each.name for each in document.params), *(each.name for each in document.env)}
        names |= {each.name for each in document.secrets}
        names |= {each.output for each in before if each.output is not None}
        if step is not None:
            names |= {each.name for each in step.env}
            names |= BUILT_IN_OF_HANDLERS if is_handler(step) else set()
        if item:
            names.add(ITEM_NAME)
        known = {called for each in before for called in (each.id, each.name) if called}
        later: dict[str, str] = {}
        earlier = {each.name for each in before}
        for each in document.steps:
            if each.name not in earlier:
                for called in (each.id, each.name, each.output):
                    if called and called not in names and called not in known:
                        later[called] = each.name
        return Scope(
            names=frozenset(names),
            steps=frozenset(known),
            not_before=later,
            numbers=frozenset(each.name for each in document.params if each.type in ("integer", "number")),
            secrets=frozenset(each.name for each in document.secrets),
            reads_files=bool(document.dotenv),
        )
