"""Reads workflows for answers: what is stored of them, what this server has compiled, and their newest runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from turnout.authoring.source_text import module_source
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.findings import has_errors
from turnout.authoring.yaml.marks import Marks
from turnout.authoring.yaml.run_retries import steps_of
from turnout.authoring.yaml.workflow import YamlWorkflow
from turnout.errors import DefinitionError, WorkflowNotFound
from turnout.model.definitions import DefinitionKind, RecentRun
from turnout.model.spec import TaskSpec, WorkflowSpec, decode_spec
from turnout.runner.core import Core
from turnout.runner.definitions.catalog import Catalog, Known
from turnout.runner.definitions.limit_sizes import NO_MARKS, size_warnings
from turnout.runner.definitions.service import Definitions
from turnout.runner.schedule_views import declared
from turnout.server.api.types.tasks import GraphEdge
from turnout.server.api.types.workflows import (
    LastRun,
    WorkflowDetail,
    WorkflowParameter,
    WorkflowSummary,
    WorkflowTask,
)

MAX_RECENT = 50


class WorkflowFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of a list; a workflow fulfils all of them."""

    text: str | None = None
    """Part of the name or the description."""
    tags: tuple[str, ...] = ()
    kind: str | None = None
    broken: bool | None = None
    """True: only those with errors."""

    def holds_for(self, each: WorkflowSummary) -> bool:
        wanted = (self.text or "").lower()
        return (
            (wanted in each.name.lower() or wanted in each.description.lower())
            and set(self.tags) <= set(each.tags)
            and self.kind in (None, each.kind)
            and self.broken in (None, has_errors(each.findings) or not each.available)
        )


class WorkflowViews:
    """The workflows of one server. All methods block."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def definitions(self) -> Definitions:
        found = self._core.definitions
        if found is None:
            raise DefinitionError("this server does not use stored definitions", code="no_definitions")
        return found

    @property
    def _catalog(self) -> Catalog:
        return self.definitions.catalog

    def page(self, wanted: WorkflowFilter, after: str | None, limit: int, recent: int) -> list[WorkflowSummary]:
        """Returns workflows behind that full name, by full name: one more than the limit if there are more."""
        names = [name for name in self._catalog.names if after is None or name > after]
        found = [each for name in names if not (each := self._summary(name)).removed and wanted.holds_for(each)]
        return self._with_recent(found[: limit + 1], recent)

    def tagged(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Returns the full names of the workflows that have all of these tags, removed ones too."""
        if self._core.definitions is None:
            return ()
        return tuple(name for name in self._catalog.names if set(tags) <= set(self._summary(name).tags))

    def detail(self, name: str, recent: int = 0) -> WorkflowDetail:
        """Returns one workflow. Raises WorkflowNotFound, also if it was removed."""
        full_name = self.full_name(name)
        summary = self._with_recent([self._summary(full_name)], recent)[0]
        if summary.removed:
            raise WorkflowNotFound(f"workflow {name!r} was removed", workflow=name)
        spec = self.current_spec(full_name)
        if spec is not None:
            known = self._catalog.known(full_name)
            marks: Marks = getattr(None if known is None else known.workflow, "marks", NO_MARKS)
            unsized = size_warnings(spec, marks, self._core.config.limits)
            summary = msgspec.structs.replace(summary, findings=(*summary.findings, *unsized))
        fields = {field: getattr(summary, field) for field in WorkflowSummary.__struct_fields__}
        return WorkflowDetail(**fields, **({} if spec is None else _graph_fields(spec)))

    def full_name(self, name: str) -> str:
        return self._catalog.resolve(name)

    def spec(self, name: str) -> WorkflowSpec:
        """Returns the spec that new runs of the workflow take; of one with further runs after a failure, that of its
        attempts, which has the steps."""
        workflow = steps_of(self._catalog.workflow(name))
        definition = self._core.registry.workflows.get(self._catalog.full_name(workflow))
        return workflow.spec_for(self._catalog.tenant) if definition is None else definition.spec

    def program_source(self, full_name: str) -> tuple[DefinitionKind, str] | None:
        """Returns the text that a workflow of this process comes from: its file, or its module in Python; None if there
        is none."""
        found = self._catalog.python(full_name)
        if isinstance(found, YamlWorkflow):
            return "yaml", found.text
        text = None if found is None else module_source(found.source.home)
        return None if text is None else ("python", text)

    def _summary(self, full_name: str) -> WorkflowSummary:
        known, python = self._catalog.known(full_name), self._catalog.python(full_name)
        if known is None:
            doc = "" if python is None else (python.__doc__ or "").strip().partition("\n")[0]
            name = full_name.rpartition("::")[2]
            summary = WorkflowSummary(name=name, full_name=full_name, kind="python", origin="code", description=doc)
            if isinstance(python, YamlWorkflow):
                document = python.document
                summary = msgspec.structs.replace(summary, kind="yaml", tags=document.tags, group=document.group)
        else:
            summary = _stored_summary(known, has_code=python is not None)
        definition = self._core.registry.workflows.get(full_name)
        schedules = () if definition is None or summary.removed else definition.schedules
        return msgspec.structs.replace(summary, schedules=[declared(each) for each in schedules])

    def _with_recent(self, found: list[WorkflowSummary], recent: int) -> list[WorkflowSummary]:
        if not recent or not found:
            return found
        runs = self._core.store.recent_runs([each.full_name for each in found], min(recent, MAX_RECENT))
        return [
            msgspec.structs.replace(each, recent=[_last_run(run) for run in runs.get(each.full_name, ())])
            for each in found
        ]

    def current_spec(self, full_name: str) -> WorkflowSpec | None:
        """Returns the spec that new runs have; None if the workflow cannot run."""
        registered = self._core.registry.spec_of(full_name)
        if registered is not None:
            return registered
        known = self._catalog.known(full_name)
        version = None if known is None or known.stored.current is None else known.stored.current.spec_version
        text = None if version is None else self._core.store.workflow(version)
        return None if text is None else decode_spec(text)


def _stored_summary(known: Known, *, has_code: bool) -> WorkflowSummary:
    stored, workflow = known.stored, known.workflow
    document: WorkflowDocument | None = getattr(workflow, "document", None)
    return WorkflowSummary(
        name=stored.full_name.rpartition("::")[2],
        full_name=stored.full_name,
        kind=stored.kind,
        origin=stored.origin,
        file=stored.file,
        version=stored.version,
        available=stored.exists and (workflow is not None or has_code),
        removed=stored.removed,
        description="" if document is None else document.description,
        tags=() if document is None else document.tags,
        group="" if document is None else document.group,
        updated_at=stored.updated_at,
        updated_by=stored.updated_by,
        findings=known.findings,
    )


def _graph_fields(spec: WorkflowSpec) -> dict[str, Any]:
    return {
        "spec_version": spec.version(),
        "parameters": parameters_of(spec),
        "tasks": tasks_of(spec),
        "edges": list(_edges(spec.tasks)),
        "timeout": spec.timeout,
        "worker_selector": spec.worker_selector,
        "affinity": spec.affinity,
        "remote_only": spec.remote_only,
    }


def parameters_of(spec: WorkflowSpec) -> list[WorkflowParameter]:
    return [
        WorkflowParameter(
            name=each.name,
            required=each.required,
            default=each.default,
            type=each.type,
            description=each.doc,
            schema=each.schema,
        )
        for each in spec.params
    ]


def tasks_of(spec: WorkflowSpec) -> list[WorkflowTask]:
    return [_task(each) for each in spec.tasks]


def _edges(tasks: Sequence[TaskSpec]) -> Iterable[GraphEdge]:
    return (GraphEdge(source=name, target=task.name) for task in tasks for name in task.depends_on)


def _task(task: TaskSpec) -> WorkflowTask:
    return WorkflowTask(
        name=task.name,
        full_name=task.full_name,
        kind=task.body.kind,
        ref=task.body.ref,
        depends_on=task.depends_on,
        attempts=task.retry.attempts,
        timeout=task.timeout,
        worker_selector=task.worker_selector,
        executor=task.executor,
        resources=None if task.resources is None else task.resources.document(),
        mapped=task.map is not None,
        hook=None if task.hook is None else task.hook.on,
    )


def _last_run(run: RecentRun) -> LastRun:
    return LastRun(**msgspec.structs.asdict(run))
