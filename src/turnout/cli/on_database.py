"""Runs, workers, tokens and webhooks on a database: what commands read and change without a server."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnout.cli.database import check_folder, open_store, store_if_there
from turnout.cli.known_workflows import check_webhook
from turnout.cli.local_workflows import LocalWorkflows
from turnout.cli.logs import check_attempt
from turnout.cli.run_report import HistoryEntry, RunFacts, read_history, read_run
from turnout.cli.service import NewSecret, Rerun, Start
from turnout.contracts.store import Store
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
from turnout.runner.limits import find_limit
from turnout.runner.live_sessions import drain, find_worker, live_orchestrators, live_workers
from turnout.runner.log_reader import LogReader, lines_of
from turnout.runner.open_runs import drivers_of
from turnout.runner.run_reader import find_run
from turnout.runner.schedule_commands import Backfilled, Fired, await_start, backfill, fire, pause, resume
from turnout.runner.schedule_views import NextFire, ScheduleView, all_schedules, next_fires, past_decisions
from turnout.runner.settings import database_url, direct_database_url
from turnout.runner.stored_values import read_output
from turnout.runner.triggers import TriggerVerb, change_trigger
from turnout.runner.views import RunView, attempts_of, run_view
from turnout.store import connect

if TYPE_CHECKING:
    from turnout.server.webhooks import MadeWebhook, WebhookRequest
ACTOR = "command line"


class DatabaseService:
    """A database, which reading never creates."""

    def __init__(self, database: str | None) -> None:
        self.runs = DatabaseRuns(database)
        self.workflows = LocalWorkflows(database)
        self.workers = DatabaseWorkers(database)
        self.limits = DatabaseLimits(database)
        self.tokens = DatabaseTokens(database)
        self.webhooks = DatabaseWebhooks(database)
        self.schedules = DatabaseSchedules(database)
        self.triggers = DatabaseTriggers(database)


class DatabaseRuns:
    """Runs on a database."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def list(
        self, workflow: str | None, states: Sequence[RunState], limit: int
    ) -> builtins.list[tuple[RunView, Driver]] | None:
        with store_if_there(self._database) as store:
            if store is None:
                return None
            found = store.runs(workflow=workflow, states=states, limit=limit)
            drivers = drivers_of(store, found)
        return [(run_view(run), driver) for run, driver in zip(found, drivers, strict=True)]

    def find(self, wanted: str) -> RunView:
        with open_store(self._database) as store:
            return run_view(find_run(store, wanted))

    def facts(self, wanted: str, *, lines: bool) -> RunFacts:
        with open_store(self._database) as store:
            return read_run(store, find_run(store, wanted), lines=lines)

    def output(self, wanted: str, task: str | None) -> tuple[str, Any]:
        with open_store(self._database) as store:
            run = find_run(store, wanted)
            return run.new.run_id, read_output(store, run, task)

    def history(self, wanted: str) -> tuple[str, builtins.list[HistoryEntry]]:
        with open_store(self._database) as store:
            run = find_run(store, wanted)
            return run.new.run_id, read_history(store, run)

    def logs(self, wanted: str, task: str | None, attempt: int | None, *, follow: bool) -> Iterator[LogLine]:
        with open_store(self._database) as store:
            run_id, empty = find_run(store, wanted).new.run_id, True
            for line in lines_of(LogReader(store, None, run_id, follow=follow).begin(task, attempt)):
                empty = False
                yield line
            if empty and attempt is not None:
                made = attempts_of(store.history(run_id), store.tasks(run_id, outputs=False))
                check_attempt(run_id, made, task, attempt)

    def command(self, wanted: str, kind: str, reason: str | None = None) -> tuple[RunView, Driver]:
        from turnout.cli.local_command import apply_command

        return apply_command(wanted, kind, self._database, reason)

    def delete(self, run_id: str, *, force: bool) -> Deleted:
        from turnout.runner import Runner

        with Runner(self._database, workflows=(), drives=False) as runner:
            return runner.delete(run_id, force=force)

    def start(self, start: Start, *, as_json: bool, quiet: bool = False) -> int:
        from turnout.cli.local_start import start_run

        return start_run(start, self._database, as_json=as_json, quiet=quiet)

    def rerun(self, rerun: Rerun, *, as_json: bool) -> int:
        from turnout.cli.local_start import rerun_run

        return rerun_run(rerun, self._database, as_json=as_json)


class DatabaseWorkers:
    """Workers whose hubs are on a database, which may not exist yet."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def list(self) -> builtins.list[WorkerView]:
        with store_if_there(self._database) as store:
            return [] if store is None else live_workers(store, live_orchestrators(store))

    def hubs(self) -> set[str]:
        with store_if_there(self._database) as store:
            found = [] if store is None else live_orchestrators(store)
        return {one.status.hub.address for one in found if one.status.hub is not None}

    def find(self, wanted: str) -> WorkerView:
        return find_worker(self.list(), wanted)

    def held(self, worker: WorkerView) -> builtins.list[HeldAttempt]:
        with open_store(self._database) as store:
            return store.held_by(worker.id)

    def drain(self, worker: WorkerView, reason: str) -> None:
        with open_store(self._database) as store:
            drain(store, worker, reason)

    def is_alive(self, worker: WorkerView) -> bool:
        with open_store(self._database) as store:
            return bool(store.holders_alive([worker.id]))


class DatabaseLimits:
    """Limits on a database, which may not exist yet."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def list(self) -> builtins.list[LimitView]:
        with store_if_there(self._database) as store:
            return [] if store is None else store.limits()

    def find(self, wanted: str) -> LimitDetail:
        with open_store(self._database) as store:
            return find_limit(store, wanted)


class DatabaseTokens:
    """Tokens of the servers on a database."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def list(self) -> builtins.list[TokenRow]:
        with store_if_there(self._database) as store:
            return [] if store is None else store.tokens()

    def create(self, name: str, role: Role, lifetime: float | None) -> NewSecret:
        from turnout.server.access import create_token

        with _store(self._database) as store:
            made = create_token(store, name, role, by=ACTOR, lifetime=lifetime)
        return NewSecret(made.secret, made.row)

    def revoke(self, token: str) -> TokenRow:
        from turnout.server.access import revoke_token

        with open_store(self._database) as store:
            return revoke_token(store, token)


class DatabaseWebhooks:
    """Webhooks of the servers on a database."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def list(self) -> builtins.list[Webhook]:
        with store_if_there(self._database) as store:
            return [] if store is None else store.webhooks()

    def create(self, request: WebhookRequest) -> MadeWebhook:
        from turnout.server.webhooks import create_webhook

        # A database that is named has to exist: a webhook in another one than the server's would never be found.
        opened = _store(None) if self._database is None else open_store(self._database)
        with opened as store:
            check_webhook(request.workflow, request.mapping, store)
            return create_webhook(store, request, by=ACTOR)

    def rotate(self, webhook: str) -> MadeWebhook:
        from turnout.server.webhooks import rotate_webhook

        with open_store(self._database) as store:
            return rotate_webhook(store, webhook)

    def delete(self, webhook: str) -> Webhook:
        from turnout.server.webhooks import delete_webhook

        with open_store(self._database) as store:
            return delete_webhook(store, webhook)


class DatabaseSchedules:
    """Schedules on a database. Servers there act on what is asked for."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def list(self, workflow: str | None) -> builtins.list[ScheduleView]:
        with store_if_there(self._database) as store:
            return [] if store is None else all_schedules(store, workflow)

    def next(self, wanted: str | None, limit: int) -> builtins.list[NextFire]:
        with store_if_there(self._database) as store:
            return [] if store is None else next_fires(store, wanted, limit)

    def decisions(self, wanted: str, limit: int, outcome: str | None) -> builtins.list[DecisionRow]:
        with open_store(self._database) as store:
            return past_decisions(store, wanted, limit, outcome)

    def pause(self, wanted: str) -> ScheduleView:
        with open_store(self._database) as store:
            return pause(store, wanted, ACTOR)

    def resume(self, wanted: str) -> ScheduleView:
        with open_store(self._database) as store:
            return resume(store, wanted, ACTOR)

    def fire(self, wanted: str, params: Mapping[str, Any]) -> Fired:
        with open_store(self._database) as store:
            fired = fire(store, wanted, ACTOR, params=params)
            if live_orchestrators(store):
                await_start(store, fired)
            return fired

    def backfill(self, wanted: str, first: float | str, last: float | str | None, *, dry_run: bool) -> Backfilled:
        with open_store(self._database) as store:
            return backfill(store, wanted, first, last, actor=ACTOR, dry_run=dry_run)


class DatabaseTriggers:
    """Event triggers on a database."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def list(self) -> builtins.list[TriggerRow]:
        with store_if_there(self._database) as store:
            return [] if store is None else store.triggers()

    def change(self, trigger: str, verb: TriggerVerb) -> TriggerRow:
        with open_store(self._database) as store:
            return change_trigger(store, trigger, verb, actor="command line")


@contextmanager
def _store(database: str | None) -> Iterator[Store]:
    """Yields the store; a database that does not exist yet is made, as the server would make it."""
    url = database_url(database)
    check_folder(url)
    store = connect(url, direct_url=direct_database_url(database))
    try:
        store.open()
        yield store
    finally:
        store.close()
