"""Makes checked submissions of workflows and input, and hands them to the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.authoring.definition import Definition
from turnout.authoring.registry import Registry
from turnout.authoring.workflow import Workflow
from turnout.contracts.store import Store
from turnout.dispatcher import DefaultDispatcher
from turnout.errors import InvalidInput, InvalidWorkflow
from turnout.model.durations import Duration, seconds
from turnout.model.graph import Graph
from turnout.model.inputs import check_input
from turnout.model.mapping import items_of
from turnout.model.rerun import RerunPlan, changed_parameters, new_input, tasks_again
from turnout.model.rerun_items import items_again
from turnout.model.rows import StoredRun
from turnout.model.spec import WorkflowSpec
from turnout.orchestration.engine import Engine
from turnout.orchestration.loaders.stored_runs import reused_rows
from turnout.orchestration.messages import Submission
from turnout.orchestration.run_requests import RunRequest
from turnout.rendering.text import text_diagram
from turnout.runner.engine_loop import EngineLoop, closed_error
from turnout.runner.run_reader import RunReader
from turnout.runner.settings import RunnerConfig


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one submission."""

    key: str | None = None
    """The idempotency key: the same key and input give the same run; the same key with another input is refused."""
    key_content: bytes | None = None
    """What the key stands for, if that is more than the input, such as the whole body of a webhook's delivery."""
    priority: int = 0
    timeout: float | None = None
    origin: str | None = None
    """How the run is handed in, as ``model/run_triggers.py`` writes it; None: as the Runner is configured."""
    answered: bool = True
    """False: the caller cannot use a refusal because a hub is not up. The run is stored, and its tasks wait."""

    @classmethod
    def of(cls, key: str | None, priority: int, timeout: Duration | None, origin: str | None = None) -> Options:
        """Returns the options with the timeout in seconds."""
        limit = None if timeout is None else seconds(timeout, "timeout")
        return cls(key=key, priority=priority, timeout=limit, origin=origin)


DEFAULTS = Options()


class Submitter:
    """Makes requests for runs, and hands them to the engine."""

    def __init__(
        self,
        config: RunnerConfig,
        store: Store,
        registry: Registry,
        dispatcher: DefaultDispatcher | None,
        engine: Engine,
        *,
        reader: RunReader,
        loop: EngineLoop,
    ) -> None:
        self._config = config
        self._store = store
        self._registry = registry
        self._dispatcher = dispatcher
        self._graphs = engine.graphs
        self._requests = engine.requests
        self._submissions = engine.submissions
        self._throttle = engine.throttle
        self._reader = reader
        self._loop = loop
        self._checked: dict[str, WorkflowSpec] = {}
        """Workflows whose routes were checked, with those that they call."""

    def graph_of(self, workflow: Workflow[..., Any]) -> Graph:
        """Returns the workflow's graph, registered and checked against the rules."""
        return self._define(workflow).graph

    def draw(self, workflow: Workflow[..., Any]) -> str:
        """Returns the workflow's graph in text."""
        return text_diagram(self.graph_of(workflow).spec)

    def definition_of(self, workflow: Workflow[..., Any]) -> Definition:
        """Returns the workflow's definition, registered and checked against the rules."""
        return self._define(workflow)

    def _define(self, workflow: Workflow[..., Any]) -> Definition:
        return self._checked_definition(self._registry.define(workflow, self._config.tenant))

    def _checked_definition(self, definition: Definition) -> Definition:
        """Returns the definition, once its routes are checked."""
        spec = definition.spec
        if self._checked.get(spec.full_name) is not spec:
            # Where runs are only handed in, the executors that their orchestrators have are not known.
            if self._dispatcher is not None and self._config.drives:
                self._dispatcher.validate(definition.family)
            self._checked[spec.full_name] = spec
        return definition

    def request(
        self,
        workflow: object,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        options: Options = DEFAULTS,
    ) -> Submission:
        """Returns a checked submission; nothing is written yet."""
        definition = self._defined(workflow)
        return self._request(definition, definition.bind(*args, **kwargs), options)

    def _defined(self, workflow: object) -> Definition:
        if not isinstance(workflow, Workflow):
            raise InvalidWorkflow(
                f"{workflow!r} is not a workflow: decorate the function with @workflow", code="not_a_workflow"
            )
        return self._define(workflow)

    def request_named(
        self, definition: Definition, input: Mapping[str, Any], options: Options = DEFAULTS, *, enqueue: bool = False
    ) -> Submission:
        """Returns a checked submission of a registered workflow; with ``enqueue``, one that any orchestrator may claim.
        Nothing is written yet."""
        self._checked_definition(definition)
        return self._request(definition, definition.bind(**input), options, enqueue=enqueue)

    def _request(
        self, definition: Definition, input: Mapping[str, Any], options: Options, *, enqueue: bool = False
    ) -> Submission:
        graph = definition.graph
        return self._requests.build(
            RunRequest(
                graph=graph,
                definition=definition,
                input=input,
                key=options.key,
                key_content=options.key_content,
                priority=options.priority,
                timeout=options.timeout if options.timeout is not None else graph.spec.timeout,
                origin=options.origin or self._config.origin,
                unowned=enqueue,
                answered=options.answered,
            )
        )

    def request_many(
        self, workflow: object, inputs: Iterable[Mapping[str, Any]], priority: int = 0
    ) -> list[Submission]:
        """Returns a checked submission for each input; nothing is written yet."""
        options, definition = Options(priority=priority), self._defined(workflow)
        return [self._request(definition, definition.bind(**input), options) for input in inputs]

    def submit(self, requests: Sequence[Submission], *, wait: bool = True) -> None:
        """Hands requests to the engine; ``accepted`` of each is resolved when it is durable. Above the high-water mark
        this waits as long as the settings say, with ``wait=False`` not at all, or raises TooBusy. Called off the
        loop."""
        self._loop.check_open()
        self._throttle.admit(len(requests), self._config.settings.submit_wait if wait else 0.0)
        settled = self._throttle.settled
        for request in requests:
            request.accepted.add_done_callback(settled)
        if not self._loop.call_soon(self._submissions.put, requests):
            for request in requests:
                request.refuse(closed_error())

    @property
    def waits(self) -> bool:
        """True if ``submit`` would have to wait."""
        return not self._throttle.open

    def rerun(
        self, run_id: str, from_task: str | None, input: Mapping[str, Any] | None, key: str | None = None
    ) -> Submission:
        """Returns a request for a new run that reuses finished outputs of the old one. Reads the store."""
        run, definition, graph, given = self._repeated(run_id, input)
        reuse = reused_rows(self._store, self._graphs, run, graph, given, from_task)
        if sum(row.group is None for row in reuse) == len(graph.tasks) - len(graph.hooks):
            raise nothing_to_rerun(run_id, graph)
        timeout = graph.spec.timeout
        if run.new.timeout != self._graphs.stored(run.new.version).spec.timeout:
            timeout = run.new.timeout if run.new.timeout is not None else timeout
        return self._requests.build(
            RunRequest(
                graph=graph,
                definition=definition,
                input=given,
                key=key,
                priority=run.new.priority,
                timeout=timeout,
                reuse=reuse,
                rerun_of=run.new.run_id,
            )
        )

    def preview_rerun(self, run_id: str, from_task: str | None, input: Mapping[str, Any] | None) -> RerunPlan:
        """Returns what ``rerun`` would run again and reuse. Nothing is stored or started. Reads the store."""
        run, _, graph, given = self._repeated(run_id, input)
        old = self._graphs.stored(run.new.version)
        rows = {row.pos: row for row in self._store.tasks(run_id, outputs=False)}
        changed = changed_parameters(msgspec.json.decode(run.new.input), given)
        again = tasks_again(old, rows, graph, changed=changed, from_task=from_task)
        if len(again) == len(graph.hooks):
            raise nothing_to_rerun(run_id, graph)
        items = items_again(old, items_of(rows.values()), graph, given, again) if graph.mapped else {}
        return RerunPlan(run, graph, given, again, items)

    def _repeated(
        self, run_id: str, input: Mapping[str, Any] | None
    ) -> tuple[StoredRun, Definition | None, Graph, Mapping[str, Any]]:
        """Returns the run, the workflow of today (as it was then if this program does not have it) and the input of a
        rerun."""
        run = self._reader.stored(run_id)
        definition = self._registry.workflows.get(run.new.workflow)
        graph = self._graphs.stored(run.new.version) if definition is None else definition.graph
        types = None if definition is None else definition.source.types
        old = msgspec.json.decode(run.new.input)
        return run, definition, graph, check_input(graph.spec, new_input(graph.spec, old, input or {}), types)


def nothing_to_rerun(run_id: str, graph: Graph) -> InvalidInput:
    return InvalidInput(
        f"run {run_id} has nothing to run again: every task of {graph.spec.name!r} has finished, "
        "and neither its code nor its input is another; name the task to start from, or change the input",
        code="nothing_to_rerun",
        run_id=run_id,
    )
