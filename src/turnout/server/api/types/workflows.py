"""Bodies of requests and answers about workflows and their definitions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.findings import Finding
from turnout.dispatcher import Explanation
from turnout.model.definitions import DefinitionKind, DefinitionVersion
from turnout.model.spec import Affinity, WorkerSelector
from turnout.runner.schedule_views import DeclaredSchedule
from turnout.server.api.types.tasks import GraphEdge

MAX_TEXT = 1 << 20


class DefinitionText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text of a definition, in JSON; the body may also be the text itself, as ``application/yaml``."""

    text: Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of the newest runs of a workflow."""

    run_id: str
    state: str
    created_at: float
    started_at: float | None
    finished_at: float | None


class WorkflowSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow, as lists show it."""

    name: str
    full_name: str
    """``tenant::package::name``, as runs have it."""
    kind: DefinitionKind
    origin: Literal["file", "api", "code"]
    """A file in a workflow folder, an upload, or the code that the server was started with."""
    file: str | None = None
    version: int = 0
    """The number of the version in force; 0: there was no valid text yet, or it is not stored."""
    available: bool = True
    """False: this server cannot start runs of it; the findings say why."""
    removed: bool = False
    description: str = ""
    tags: tuple[str, ...] = ()
    group: str = ""
    schedules: list[DeclaredSchedule] = []
    """As it declares them, in a file or in Python; ``/api/v1/schedules`` has what became of them."""
    updated_at: float | None = None
    updated_by: str | None = None
    findings: tuple[Finding, ...] = ()
    """What is wrong with the newest text, or with the version in force on this server."""
    recent: list[LastRun] = []
    """The newest runs, newest first."""


class FileProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a workflow folder that no definition stands for."""

    file: str
    findings: tuple[Finding, ...]


class WorkflowPage(msgspec.Struct, frozen=True, kw_only=True):
    """Workflows by name. ``next`` is the cursor of the next page."""

    workflows: list[WorkflowSummary]
    next: str | None = None
    files: list[FileProblem] = []
    """Files of this server whose workflows have a name that is taken."""


class WorkflowParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a workflow."""

    name: str
    required: bool
    default: Any = None
    type: str = ""
    description: str = ""
    schema: dict[str, Any] = {}
    """The JSON Schema of its values."""


class WorkflowTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a workflow."""

    name: str
    full_name: str
    kind: Literal["python", "shell", "handler", "workflow"]
    ref: str
    """The function, command, handler or workflow that it runs."""
    depends_on: tuple[str, ...] = ()
    attempts: int = 1
    timeout: float | None = None
    worker_selector: WorkerSelector = None
    executor: str | None = None
    resources: dict[str, float | str] | None = None
    """What an attempt asks of its executor."""
    mapped: bool = False
    hook: str | None = None
    """``success``, ``failure``, ``cancel`` or ``exit``, for a hook."""


class WorkflowDetail(WorkflowSummary, frozen=True, kw_only=True):
    """A workflow with its parameters and its graph."""

    spec_version: str = ""
    """The version that new runs have."""
    parameters: list[WorkflowParameter] = []
    tasks: list[WorkflowTask] = []
    edges: list[GraphEdge] = []
    timeout: float | None = None
    worker_selector: WorkerSelector = None
    affinity: Affinity = None
    remote_only: bool = False
    """True: its tasks run on workers only."""


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of compiling a text. Nothing was stored."""

    valid: bool
    findings: tuple[Finding, ...]
    workflows: tuple[str, ...] = ()
    """The names of the workflow and its local sub-workflows."""


class VersionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a definition."""

    version: int
    digest: str
    """SHA-256 of its text."""
    spec_version: str
    """The version that runs of it have."""
    created_at: float
    actor: str
    remote_only: bool = False
    current: bool = False


class VersionDetail(VersionSummary, frozen=True, kw_only=True):
    """One version of a definition with its text."""

    text: str
    base: str | None = None
    """The text that it inherits from."""


class VersionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Versions, newest first. ``next`` is the cursor of the next page."""

    versions: list[VersionSummary]
    next: str | None = None


class DispatchTrace(msgspec.Struct, frozen=True, kw_only=True):
    """The placement of each task of a workflow, with its reason."""

    workflow: str
    tasks: list[Explanation]
    warnings: list[str]
    """Tasks that run locally only because no hub is configured, or whose runs are refused for that."""


def version_of(row: DefinitionVersion, current: int) -> VersionSummary:
    return VersionSummary(
        version=row.version,
        digest=row.digest,
        spec_version=row.spec_version,
        created_at=row.created_at,
        actor=row.actor,
        remote_only=row.remote_only,
        current=row.version == current,
    )


def version_detail_of(row: DefinitionVersion, current: int) -> VersionDetail:
    summary = version_of(row, current)
    fields = {name: getattr(summary, name) for name in VersionSummary.__struct_fields__}
    return VersionDetail(text=row.text, base=row.base, **fields)
