"""Declares what commands read and change, on a database or through a server, and opens one of the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from turnout.cli.place import Place

if TYPE_CHECKING:
    from turnout.cli.run_report import HistoryEntry, RunFacts
    from turnout.dispatcher import Explanation
    from turnout.model.access import Role, TokenRow
    from turnout.model.driver import Driver
    from turnout.model.logs import LogLine
    from turnout.model.retention import Deleted
    from turnout.model.rows import HeldAttempt
    from turnout.model.schedule_rows import DecisionRow
    from turnout.model.slots import LimitDetail, LimitView
    from turnout.model.states import RunState
    from turnout.model.triggers import TriggerRow
    from turnout.model.webhooks import Webhook
    from turnout.model.workers import WorkerView
    from turnout.runner.live_sessions import Needs
    from turnout.runner.schedule_commands import Backfilled, Fired
    from turnout.runner.schedule_views import NextFire, ScheduleView
    from turnout.runner.triggers import TriggerVerb
    from turnout.runner.views import RunView
    from turnout.server.webhooks import MadeWebhook, WebhookRequest


class Start(msgspec.Struct, frozen=True):
    """A run as the command line asks for it."""

    target: str
    parameters: Sequence[str] = ()
    file: str | None = None
    """JSON of parameters: a file, ``-`` for standard input, or the JSON itself."""
    key: str | None = None
    priority: int = 0
    timeout: str | None = None
    arguments: Sequence[str] = ()
    """Values of parameters in their order, or ``NAME=value``."""
    waits: bool = True
    """False: the run is only stored."""


class Rerun(msgspec.Struct, frozen=True):
    """A rerun as the command line asks for it."""

    run: str
    from_task: str | None = None
    parameters: Sequence[str] = ()
    target: str | None = None
    """Where the workflow's code is, on a database."""
    waits: bool = True


class NewSecret(msgspec.Struct, frozen=True):
    """A token that was just made, with its secret."""

    secret: str
    token: TokenRow


class ExplainedTask(msgspec.Struct, frozen=True):
    """The decision for one task of a workflow."""

    name: str
    explanation: Explanation
    warning: str | None = None
    need: Needs | None = None
    """What it asks of workers, and which of them have it; None if it goes to none, or that is not known."""


class Explained(msgspec.Struct, frozen=True):
    """The decisions for the tasks of a workflow."""

    workflow: str
    """The full name."""
    tasks: Sequence[ExplainedTask]
    not_driven: int = 0
    """Open runs of it that no orchestrator drives."""
    notes: Sequence[str] = ()


class Workflows(Protocol):
    """Workflows, by target."""

    def explain(self, target: str, hub: str | None) -> Explained:
        """Returns where its tasks go; with ``hub`` as if this one were configured."""
        ...


class Runs(Protocol):
    """Runs. ``wanted`` is a run's id, the beginning of one, or ``last``."""

    def list(self, workflow: str | None, states: Sequence[RunState], limit: int) -> list[tuple[RunView, Driver]] | None:
        """Returns runs with their drivers, newest first; None if there is no database yet."""
        ...

    def find(self, wanted: str) -> RunView: ...

    def facts(self, wanted: str, *, lines: bool) -> RunFacts:
        """Returns everything about one run; with ``lines`` also the last lines of its failed attempts."""
        ...

    def output(self, wanted: str, task: str | None) -> tuple[str, Any]:
        """Returns the id of the run, and what it or one of its tasks returned."""
        ...

    def history(self, wanted: str) -> tuple[str, list[HistoryEntry]]: ...

    def logs(self, wanted: str, task: str | None, attempt: int | None, *, follow: bool) -> Iterator[LogLine]:
        """Yields the lines of a run; with ``follow`` until it has ended."""
        ...

    def command(self, wanted: str, kind: str, reason: str | None = None) -> tuple[RunView, Driver]:
        """Cancels, pauses or resumes a run; returns it as it is then, and its driver."""
        ...

    def delete(self, run_id: str, *, force: bool) -> Deleted: ...

    def start(self, start: Start, *, as_json: bool, quiet: bool = False) -> int:
        """Starts a run and displays it until it ends, or only stores it. Returns the exit code."""
        ...

    def rerun(self, rerun: Rerun, *, as_json: bool) -> int:
        """The same for a rerun."""
        ...


class Workers(Protocol):
    """Workers that are connected to any hub on the database."""

    def list(self) -> list[WorkerView]: ...

    def hubs(self) -> set[str]:
        """Returns the addresses of the hubs that are alive."""
        ...

    def find(self, wanted: str) -> WorkerView:
        """Returns the worker with this name or id."""
        ...

    def held(self, worker: WorkerView) -> list[HeldAttempt]: ...

    def drain(self, worker: WorkerView, reason: str) -> None: ...

    def is_alive(self, worker: WorkerView) -> bool: ...


class Limits(Protocol):
    """Limits and queues."""

    def list(self) -> list[LimitView]: ...

    def find(self, wanted: str) -> LimitDetail:
        """Returns the limit or queue with this name, with its holders and waiters."""
        ...


class Tokens(Protocol):
    """Tokens of the server."""

    def list(self) -> list[TokenRow]: ...

    def create(self, name: str, role: Role, lifetime: float | None) -> NewSecret: ...

    def revoke(self, token: str) -> TokenRow: ...


class Webhooks(Protocol):
    """Webhooks of the server."""

    def list(self) -> list[Webhook]: ...

    def create(self, request: WebhookRequest) -> MadeWebhook: ...

    def rotate(self, webhook: str) -> MadeWebhook: ...

    def delete(self, webhook: str) -> Webhook: ...


class Schedules(Protocol):
    """Schedules. ``wanted`` is a schedule's id, ``workflow/name``, or a workflow that has one schedule."""

    def list(self, workflow: str | None) -> list[ScheduleView]: ...

    def next(self, wanted: str | None, limit: int) -> list[NextFire]:
        """Returns the next due times of one schedule, or of all."""
        ...

    def decisions(self, wanted: str, limit: int, outcome: str | None) -> list[DecisionRow]:
        """Returns the newest decisions about due times, newest first."""
        ...

    def pause(self, wanted: str) -> ScheduleView: ...

    def resume(self, wanted: str) -> ScheduleView: ...

    def fire(self, wanted: str, params: Mapping[str, Any]) -> Fired:
        """Starts a run now, with the parameters of the schedule and these instead of those of the same names."""
        ...

    def backfill(self, wanted: str, first: float | str, last: float | str | None, *, dry_run: bool) -> Backfilled:
        """Starts runs for past due times that have not fired. Texts are times in the zone of the schedule."""
        ...


class Triggers(Protocol):
    """Event triggers."""

    def list(self) -> list[TriggerRow]: ...

    def change(self, trigger: str, verb: TriggerVerb) -> TriggerRow:
        """Pauses, resumes or polls a trigger; returns it as it is then."""
        ...


class Service(Protocol):
    """Everything that commands use of a database or a server."""

    @property
    def runs(self) -> Runs: ...

    @property
    def workflows(self) -> Workflows: ...

    @property
    def workers(self) -> Workers: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def tokens(self) -> Tokens: ...

    @property
    def webhooks(self) -> Webhooks: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def triggers(self) -> Triggers: ...


@contextmanager
def service_at(place: Place) -> Iterator[Service]:
    """Yields the service that the options name: a server if one is given, else the database."""
    from turnout.runner.settings import server_of

    access = server_of(place.server, place.token_file, place.database)
    if access is None:
        from turnout.cli.on_database import DatabaseService

        yield DatabaseService(place.database)
        return
    from turnout.cli.on_server import ServerService

    yield ServerService(access)
