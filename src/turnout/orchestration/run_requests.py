"""Builds the submission of every new run, whichever path asks for it: a call, a command, a rerun or a parent's task."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from turnout.authoring.definition import Definition
from turnout.authoring.registry import Registry
from turnout.dispatcher.admission import Admission
from turnout.model.graph import Graph
from turnout.model.limits import LimitSize, LimitUse, check_known, resolved
from turnout.model.names import new_run_id
from turnout.model.rows import NewRun, TaskRow
from turnout.model.texts import MAX_KEY_LENGTH, checked_text
from turnout.model.validation import check_run_priority
from turnout.model.values import dump_output
from turnout.orchestration.messages import Submission
from turnout.orchestration.reply import Reply

NO_SIZES: Mapping[str, LimitSize] = MappingProxyType({})


class ParentTask(msgspec.Struct, frozen=True):
    """The attempt that starts a child run."""

    run_id: str
    pos: int
    attempt: int
    depth: int
    """The number of ancestors of the child run."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A new run of a workflow, with checked input."""

    graph: Graph
    input: Mapping[str, Any]
    definition: Definition | None = None
    """None if this program does not have the workflow: the run has the spec that is stored."""
    run_id: str | None = None
    """The id, where it is known beforehand."""
    key: str | None = None
    key_content: bytes | None = None
    """What the key stands for, if that is more than the input: the key with another content is refused."""
    priority: int = 0
    timeout: float | None = None
    reuse: Sequence[TaskRow] = ()
    rerun_of: str | None = None
    parent: ParentTask | None = None
    origin: str | None = None
    """How the run is handed in, as ``model/run_triggers.py`` writes it."""
    unowned: bool = False
    """True: it is stored for any orchestrator, and not started here at once."""
    answered: bool = True
    """True if a caller gets the answer: it is refused while a hub that it needs is not up. Otherwise the run is stored,
    and its tasks wait for the hub."""


class RunRequests:
    """Makes submissions. Where their tasks go is checked here, once for all paths; nothing is written."""

    def __init__(
        self,
        registry: Registry,
        admission: Admission | None,
        max_output_bytes: int,
        configured: Mapping[str, LimitSize] = NO_SIZES,
    ) -> None:
        self._registry = registry
        self._admission = admission
        self._max_output_bytes = max_output_bytes
        self._configured = configured
        """The sizes of limits in the configuration."""

    def build(self, request: RunRequest) -> Submission:
        """Returns the submission, with warnings about where its tasks go. Raises InputError for an input that cannot be
        stored, InvalidLimit for limits without a size or a name, HubUnavailable for tasks that need a hub which is not
        up."""
        spec, parent = request.graph.spec, request.parent
        check_run_priority(request.priority)
        text = "{}"
        if request.input:
            text = dump_output(dict(request.input), limit=self._max_output_bytes, what="input")
        digest = ""
        if request.key is not None:
            checked_text(request.key, "key", longest=MAX_KEY_LENGTH)
            content = request.key_content
            if content is None:
                content = msgspec.json.encode(dict(request.input), order="deterministic")
            digest = hashlib.sha256(content).hexdigest()
        new = NewRun(
            run_id=request.run_id or new_run_id(),
            workflow=spec.full_name,
            version=request.graph.version,
            input=text,
            created_at=time.time(),
            key=request.key,
            input_digest=digest,
            priority=request.priority or spec.priority,
            timeout=request.timeout,
            rerun_of=request.rerun_of,
            parent_run=None if parent is None else parent.run_id,
            parent_pos=None if parent is None else parent.pos,
            parent_attempt=0 if parent is None else parent.attempt,
            depth=0 if parent is None else parent.depth,
            origin=request.origin,
        )
        limits = self._limits(request) if request.graph.has_limits else ()
        warnings = self._warnings(request, new)
        if request.definition is not None:
            self._registry.keep(new, request.definition)
        return Submission(request.graph, new, Reply(), Reply(), request.reuse, warnings, request.unowned, limits)

    def check_limits(self, graph: Graph) -> None:
        """Raises InvalidLimit if a run of the workflow would be refused because a limit of it has no size."""
        for task in graph.tasks:
            check_known(task.limits, self._configured, f"task {task.name!r}")
        check_known(graph.run_limits, self._configured, f"workflow {graph.spec.name!r}")

    def _limits(self, request: RunRequest) -> tuple[LimitUse, ...]:
        """Returns the limits of the run. Those of its tasks are checked too, so that no task finds out later."""
        graph = request.graph
        self.check_limits(graph)
        for task in graph.tasks:
            resolved(task.limits, request.input, f"task {task.name!r}")
        return resolved(graph.run_limits, request.input, f"workflow {graph.spec.name!r}")

    def _warnings(self, request: RunRequest, new: NewRun) -> tuple[str, ...]:
        if self._admission is None or not request.answered:
            return ()
        family = (request.graph.spec,) if request.definition is None else request.definition.family
        return self._admission.check(family, new.run_id, request.input)
