"""Knows the definitions that are in force, and keeps the registry of this process in step with the store.

The store is the truth. Every process compiles the current texts itself; what one cannot compile (a Python task is not
declared here, a called workflow is gone) has findings here and is left to others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from turnout.authoring.registry import Registry
from turnout.authoring.workflow import DEFAULT_PACKAGE
from turnout.authoring.yaml.findings import Finding, has_errors
from turnout.contracts.store import Store
from turnout.errors import InvalidWorkflow, TurnoutError, WorkflowNotFound
from turnout.model.definitions import StoredDefinition
from turnout.model.limit_declarations import LimitDeclaration, declarations
from turnout.model.names import suggest
from turnout.runner.definitions.called_workflows import CalledWorkflows, may_have_local, reached
from turnout.runner.definitions.compilation import (
    AnyTask,
    AnyWorkflow,
    Attempted,
    Compile,
    called_by,
    callees_first,
    finding_of,
    read_findings,
)
from turnout.runner.definitions.names import checked_name, matching_names
from turnout.runner.definitions.pending_files import PendingFiles

log = logging.getLogger("turnout.definitions")

NOTHING: Mapping[str, str] = {}


class Known(msgspec.Struct, frozen=True):
    """A definition as this process knows it."""

    stored: StoredDefinition
    attempted: Attempted

    @property
    def workflow(self) -> AnyWorkflow | None:
        """The workflow of the current version; None if this process cannot compile it."""
        return self.attempted.workflows[0] if self.attempted.workflows else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of the newest text if it is invalid, else those of the current version."""
        return read_findings(self.stored.findings) if self.stored.findings else self.attempted.findings


class Catalog:
    """The definitions of one tenant. May be used from any thread; ``refresh`` blocks."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        compile: Compile,
        *,
        tenant: str,
        workflows: Iterable[AnyWorkflow] = (),
        tasks: Mapping[str, AnyTask] | None = None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._compile = compile
        self.tenant = tenant
        self._lock = threading.RLock()
        self.revision = 0
        """The number of the newest change that is in force here."""
        self._known: dict[str, Known] = {}
        self._python: dict[str, AnyWorkflow] = {self.full_name(each): each for each in workflows}
        """Workflows in Python that this process has, by full name."""
        self._tasks: dict[str, AnyTask] = dict(tasks or {})
        """Tasks that texts may name, as ``module:function``."""
        self._is_loading = False

    # -- names --------------------------------------------------------------------------------------------------
    def full_name(self, workflow: AnyWorkflow) -> str:
        return f"{self.tenant}::{workflow.package}::{workflow.name}"

    def yaml_name(self, name: str) -> str:
        """Returns the full name of the YAML workflow of that name."""
        return f"{self._home}::{name}"

    @property
    def _home(self) -> str:
        return f"{self.tenant}::{DEFAULT_PACKAGE}"

    @property
    def names(self) -> list[str]:
        """The full names of all definitions, and of workflows that only this process has."""
        return sorted({*self._known, *self._python})

    def resolve(self, name: str) -> str:
        """Returns the full name of the one workflow with this name: a full name, ``package::name`` or the last part."""
        found = matching_names(checked_name(name), self.names)
        if len(found) > 1:
            raise WorkflowNotFound(
                f"several workflows are named {name!r}: write one of {', '.join(found)}",
                code="ambiguous_workflow",
                workflow=name,
            )
        if not found:
            raise self._missing(name)
        return found[0]

    def _missing(self, name: str) -> WorkflowNotFound:
        there = (each for each in self.names if not self._is_removed(each))
        names = [each.rpartition("::")[2] for each in there]
        return WorkflowNotFound(f"there is no workflow {name!r}{suggest(name, names)}", workflow=name)

    def _is_removed(self, full_name: str) -> bool:
        known = self._known.get(full_name)
        return known is not None and known.stored.removed

    # -- what is in force -----------------------------------------------------------------------------------------
    def known(self, full_name: str) -> Known | None:
        """Returns the stored definition; None for a workflow that is not stored."""
        return self._known.get(full_name)

    def python(self, full_name: str) -> AnyWorkflow | None:
        """Returns the workflow in Python that this process has."""
        return self._python.get(full_name)

    def workflow(self, name: str) -> AnyWorkflow:
        """Returns the workflow that new runs of this name take. Raises WorkflowNotFound, also if it was removed, and
        InvalidWorkflow if this process cannot run it."""
        full_name = self.resolve(name)
        known, found = self._known.get(full_name), self._python.get(full_name)
        if known is not None and known.stored.kind == "yaml":
            found = known.workflow
        if self._is_removed(full_name):
            raise self._missing(name)
        if found is not None:
            return found
        findings = () if known is None else known.findings
        why = "; ".join(each.message for each in findings if each.severity == "error") or "its code is not here"
        raise InvalidWorkflow(
            f"workflow {name!r} cannot run here: {why}", code="definition_unavailable", workflow=name, findings=findings
        )

    def callers(self, full_name: str) -> list[str]:
        """Returns the names of definitions that call this one."""
        return [
            name.rpartition("::")[2]
            for name, each in self._known.items()
            if full_name in each.attempted.called and name != full_name and each.stored.exists
        ]

    def names_with(self, workflows: Iterable[AnyWorkflow]) -> set[str]:
        """Returns the full names of these workflows, and of those in the current version of a text that has one."""
        names = {self.full_name(each) for each in workflows}
        current = [self._known[name].attempted for name in names if name in self._known]
        return names | {self.full_name(each) for made in current for each in (*made.workflows, *made.local)}

    def limit_declarations(self) -> dict[str, tuple[LimitDeclaration, ...]]:
        """Returns the sizes of limits that the workflows of this process declare, by workflow."""
        return {name: declarations(known.spec) for name, known in self._registry.workflows.items()}

    # -- changes --------------------------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Reads what has changed in the store, and puts it in force here."""
        with self._lock:
            changed = self._store.definitions(since=self.revision)
            mine = [each for each in changed if each.full_name.partition("::")[0] == self.tenant]
            if mine:
                self._apply(mine)
            if changed:
                self.revision = changed[-1].revision

    def add_python(
        self, workflows: Sequence[AnyWorkflow], tasks: Mapping[str, AnyTask], *, replace: bool = False
    ) -> None:
        """Registers the workflows of a Python file, and declares its tasks. Definitions that could not be compiled
        before are compiled again. Raises DefinitionError if another live workflow has one of the names."""
        with self._lock:
            for workflow in workflows:
                register = self._registry.replace if replace else self._registry.define
                register(workflow, self.tenant)
            self._python = {**self._python, **{self.full_name(each): each for each in workflows}}
            self._tasks = {**self._tasks, **tasks}
            self._apply([])

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Within it the files of this process are loaded: what they bring may mend a stored definition, so those that
        cannot run here are logged at the end."""
        self._is_loading = True
        try:
            yield
        finally:
            self._is_loading = False
            for name, each in self._known.items():
                if has_errors(each.attempted.findings):
                    _warn(name, each.attempted.findings)

    def remove_python(self, full_name: str) -> None:
        """Forgets a workflow in Python: there are no new runs of it here."""
        with self._lock:
            self._python = {name: each for name, each in self._python.items() if name != full_name}
            self._registry.remove(full_name)

    def _apply(self, changed: Iterable[StoredDefinition]) -> None:
        rows = {each.full_name: each for each in changed}
        outdated = {*rows, *(name for name, each in self._known.items() if has_errors(each.attempted.findings))}
        while more := {
            name
            for name, each in self._known.items()
            if name not in outdated and not each.attempted.called.isdisjoint(outdated)
        }:
            outdated |= more
        stored = {name: each.stored for name, each in self._known.items()} | rows
        texts = self._callable(stored, {name for name in self._known if name not in outdated})
        fresh = {name: texts.attempted(name) for name in sorted(outdated)}
        for name in callees_first({name: each.called for name, each in fresh.items()}):
            self._put_in_force(stored[name], fresh[name])
        self._keep_earlier()

    def _callable(self, stored: Mapping[str, StoredDefinition], compiled: Iterable[str]) -> CalledWorkflows:
        attempted = {name: self._known[name].attempted for name in compiled}
        return CalledWorkflows(self._compile_text, stored, attempted, self._python, self._home)

    def _put_in_force(self, stored: StoredDefinition, attempted: Attempted) -> None:
        before = self._known.get(stored.full_name)
        made = {self.full_name(each): each for each in (*attempted.workflows, *attempted.local)}
        for former in () if before is None else (*before.attempted.workflows, *before.attempted.local):
            if self.full_name(former) not in made:
                self._registry.remove(self.full_name(former))
        remote_only = stored.current is not None and stored.current.remote_only
        # A caller takes the definitions of those that it calls, so these are registered first.
        calls = {name: called_by([each.spec_for(self.tenant)]) for name, each in made.items()}
        for name in callees_first(calls):
            self._registry.replace(made[name], self.tenant, remote_only=remote_only)
        self._known = {**self._known, stored.full_name: Known(stored, attempted)}
        if has_errors(attempted.findings):
            if not self._is_loading and (before is None or before.attempted.findings != attempted.findings):
                _warn(stored.full_name, attempted.findings)
        elif stored.exists and (before is None or before.stored.version != stored.version):
            log.info("workflow %s: version %d is in force", stored.full_name, stored.version)

    def _keep_earlier(self) -> None:
        """Keeps the local sub-workflows of earlier versions for the runs of these that have not ended."""
        stored = {name: each.stored for name, each in self._known.items()}
        for each in self._store.definition_versions_in_use():
            tenant, name = each.full_name.partition("::")[0], each.full_name.rpartition("::")[2]
            if tenant != self.tenant or not may_have_local(each) or self._registry.has_earlier(each.spec_version):
                continue
            attempted = self._compile_text(each.text, name, each.base, self._callable(stored, self._known))
            if attempted.workflows:
                self._registry.add_earlier(attempted.workflows, self.tenant, remote_only=each.remote_only)
            else:
                why = next((finding.message for finding in attempted.findings), "")
                log.warning("version %d of workflow %s cannot run here: %s", each.version, each.full_name, why)

    def store_specs(self, workflows: Sequence[AnyWorkflow], *, remote_only: bool = False) -> str:
        """Stores the specs of these workflows, and returns the version of the first one."""
        specs = [self._registry.specified(each, self.tenant, remote_only=remote_only) for each in workflows]
        for spec in specs:
            self._store.put_workflow(spec.version(), spec.full_name, msgspec.json.encode(spec).decode())
        return specs[0].version()

    # -- texts ----------------------------------------------------------------------------------------------------
    def attempt(
        self, text: str, *, name: str, base: str | None = None, pending: Mapping[str, str] = NOTHING
    ) -> Attempted:
        """Compiles a text with what is in force now, and with the ``pending`` texts of files by their names. Nothing is
        stored or registered."""
        with self._lock:
            stored = {each: known.stored for each, known in self._known.items()}
            called = self._callable(stored, self._known)
            workflows = PendingFiles(self._compile_text, called, pending, base, name) if pending else called
            attempted = self._compile_text(text, name, base, workflows)
            everything = {each: known.attempted for each, known in self._known.items()}
            own_name = self.full_name(attempted.workflows[0]) if attempted.workflows else ""
            if own_name not in reached(attempted.called, everything):
                return attempted
        error = InvalidWorkflow(
            f"workflow {name!r} would call itself, through the workflows that it calls: a run would never end",
            code="recursive_workflow",
        )
        return Attempted(findings=(*attempted.findings, finding_of(error)))

    def _compile_text(self, text: str, name: str, base: str | None, workflows: Mapping[str, AnyWorkflow]) -> Attempted:
        try:
            made = self._compile(text, name=name, base=base, tasks=self._tasks, workflows=workflows)
            if has_errors(made.findings):
                return Attempted(findings=tuple(made.findings))
            called = called_by([each.spec_for(self.tenant) for each in made.workflows])
            self._refuse_taken(made.workflows)
        except TurnoutError as error:
            return Attempted(findings=(finding_of(error),))
        except Exception as error:
            # One text must not keep the others from being put in force.
            log.exception("workflow %s could not be compiled", name)
            return Attempted(findings=(finding_of(InvalidWorkflow(f"it could not be compiled: {error!r}")),))
        return Attempted(tuple(made.workflows), tuple(made.findings), called)

    def _refuse_taken(self, workflows: Sequence[AnyWorkflow]) -> None:
        """Raises InvalidWorkflow for a name that another workflow has. The package of a local sub-workflow is the name
        of its main workflow, and it must not take the place of a workflow that is not local."""
        for number, each in enumerate(workflows):
            full_name = self.full_name(each)
            if full_name in self._python or (number and (each.package == DEFAULT_PACKAGE or full_name in self._known)):
                raise InvalidWorkflow(
                    f"another workflow is named {full_name!r} already: give this one another name",
                    code="duplicate_workflow",
                    workflow=each.name,
                )


def _warn(full_name: str, findings: Iterable[Finding]) -> None:
    first = next(each for each in findings if each.severity == "error")
    log.warning("workflow %s cannot run here: %s", full_name, first.message)
