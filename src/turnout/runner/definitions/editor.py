"""Changes definitions: checks a text, its name and what it may do, and replaces the version that the caller read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from turnout.authoring.workflow import DEFAULT_PACKAGE
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.findings import Finding, has_errors
from turnout.authoring.yaml.local_execution import local_executions
from turnout.authoring.yaml.marks import Marks
from turnout.contracts.store import Store
from turnout.errors import (
    DefinitionFromFile,
    DefinitionInUse,
    RefusedDefinition,
    StoredDefinitionError,
    WorkflowNotFound,
)
from turnout.model.definitions import NewDefinition, StoredDefinition
from turnout.model.limit_declarations import contradictions, declarations
from turnout.model.limits import LimitSize
from turnout.runner.definitions.catalog import Catalog
from turnout.runner.definitions.compilation import AnyWorkflow, Attempted
from turnout.runner.definitions.limit_sizes import NO_MARKS, size_warnings
from turnout.runner.definitions.names import checked_name

NO_SIZES: Mapping[str, LimitSize] = {}
LIMIT_CONFLICT = "limit_conflict"


class Editor:
    """Puts and removes uploaded definitions."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        *,
        hub: bool,
        allow_local_execution: bool,
        limits: Mapping[str, LimitSize] = NO_SIZES,
    ) -> None:
        self._store = store
        self._limits = limits
        """The sizes of limits and queues in the configuration."""
        self._catalog = catalog
        self._hub = hub
        self._allow_local_execution = allow_local_execution

    def validate(self, text: str, name: str | None = None) -> Attempted:
        """Returns what a text would become, with all findings, those of the policy included. Nothing is stored."""
        attempted = self._catalog.attempt(text, name=name or "workflow")
        refused = list(self._contradictions(attempted.workflows)) if attempted.workflows else []
        if not self._allow_local_execution:
            refused += self._local_executions(attempted.workflows)
        for each in attempted.workflows:
            marks: Marks = getattr(each, "marks", NO_MARKS)
            refused += size_warnings(each.spec_for(self._catalog.tenant), marks, self._limits)
        return msgspec.structs.replace(attempted, findings=(*attempted.findings, *dict.fromkeys(refused)))

    def _local_executions(self, workflows: Sequence[AnyWorkflow]) -> Iterator[Finding]:
        for each in workflows:
            document: WorkflowDocument | None = getattr(each, "document", None)
            if document is not None:
                yield from local_executions(document, getattr(each, "marks", NO_MARKS), hub=self._hub)

    def _contradictions(self, workflows: Sequence[AnyWorkflow]) -> Iterator[Finding]:
        """Yields an error for each limit that other workflows declare with another size: an author does not change the
        limits of others, and two sizes of one limit are a mistake."""
        new = [each for workflow in workflows for each in declarations(workflow.spec_for(self._catalog.tenant))]
        if not new:
            return
        own = self._catalog.names_with(workflows)
        here = self._catalog.limit_declarations()
        # Of workflows that this process has, the store may have what they declared before.
        known = [each for found in here.values() for each in found]
        known += [each for each in self._store.limit_declarations() if each.workflow not in here]
        others = [each for each in known if each.workflow not in own]
        configured = {each.declared for each in self._store.limits() if each.configured}
        for why in contradictions(new, others, configured).values():
            marks: Marks = getattr(workflows[0], "marks", NO_MARKS)
            yield Finding("error", LIMIT_CONFLICT, why, *marks.at("limits"), "limits")

    def put(self, name: str, text: str, expected: int, actor: str) -> StoredDefinition:
        """Stores the text as the newest version, if the current one is ``expected`` (0: a new definition)."""
        own_name = checked_name(name).rpartition("::")[2]
        full_name = self._catalog.yaml_name(own_name)
        if name not in (own_name, f"{DEFAULT_PACKAGE}::{own_name}", full_name):
            raise StoredDefinitionError(
                f"an uploaded workflow is named {own_name!r}, without another package or tenant",
                code="bad_definition_name",
                workflow=name,
            )
        self._refuse_from_file(full_name, own_name)
        attempted = self.validate(text, own_name)
        self._refuse_findings(own_name, attempted)
        workflow = attempted.workflows[0]
        if workflow.name != own_name:
            raise RefusedDefinition(
                f"the text names its workflow {workflow.name!r}, and is put under {own_name!r}: make both the same",
                code="name_mismatch",
                workflow=own_name,
            )
        remote_only = not self._allow_local_execution
        stored = self._store.put_definition(
            NewDefinition(
                full_name=full_name,
                kind="yaml",
                origin="api",
                text=text,
                spec_version=self._catalog.store_specs(attempted.workflows, remote_only=remote_only),
                actor=actor,
                remote_only=remote_only,
            ),
            expected,
        )
        self._catalog.refresh()
        return stored

    def remove(self, name: str, expected: int, actor: str) -> StoredDefinition:
        """Removes an uploaded definition, or what is left of one whose file is gone."""
        full_name = self._catalog.resolve(name)
        own_name = full_name.rpartition("::")[2]
        self._refuse_from_file(full_name, own_name)
        callers = self._catalog.callers(full_name)
        if callers:
            raise DefinitionInUse(
                f"workflow {own_name!r} is called by {', '.join(callers)}: change these first",
                code="definition_called",
                workflow=own_name,
                callers=callers,
            )
        removed = self._store.remove_definition(full_name, expected, actor)
        self._catalog.refresh()
        if removed is None:
            raise WorkflowNotFound(f"there is no workflow {name!r}", workflow=name)
        return removed

    def _refuse_from_file(self, full_name: str, name: str) -> None:
        stored = self._store.definition(full_name)
        if self._catalog.python(full_name) is not None or (
            stored is not None and stored.origin == "file" and (not stored.removed or stored.findings is not None)
        ):
            where = stored.file if stored is not None and stored.file else "the code of a server"
            raise DefinitionFromFile(
                f"workflow {name!r} is defined by {where}: change it there",
                workflow=name,
                file=where,
            )

    def _refuse_findings(self, name: str, attempted: Attempted) -> None:
        if not has_errors(attempted.findings) and attempted.workflows:
            return
        errors = [each for each in attempted.findings if each.severity == "error"]
        raise RefusedDefinition(
            f"the text of workflow {name!r} has {len(errors)} error{'s' if len(errors) != 1 else ''}, the first in "
            f"line {errors[0].line}: {errors[0].message}",
            code=_refusal(errors) if attempted.workflows else None,
            workflow=name,
            findings=[msgspec.to_builtins(each) for each in attempted.findings],
        )


def _refusal(errors: Sequence[Finding]) -> str:
    """Returns the code of a text that is valid, and may not be put here."""
    only_limits = all(each.code == LIMIT_CONFLICT for each in errors)
    return LIMIT_CONFLICT if only_limits else "local_execution_refused"
