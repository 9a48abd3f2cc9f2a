"""Workflows, workers, tokens and webhooks through the API of a server; its runs are in ``server_runs``."""

from __future__ import annotations

import builtins

import msgspec

from turnout.cli.api_client import ApiClient, segment, workflow_segment
from turnout.cli.server_runs import ServerRuns
from turnout.cli.server_schedules import ServerSchedules
from turnout.cli.service import Explained, ExplainedTask, NewSecret
from turnout.errors import InvalidInput
from turnout.model.access import Role, TokenRow
from turnout.model.rows import HeldAttempt
from turnout.model.slots import LimitDetail, LimitView
from turnout.model.triggers import TriggerRow
from turnout.model.webhooks import Webhook
from turnout.model.workers import WorkerView
from turnout.runner.server_access import ServerAccess
from turnout.runner.triggers import TriggerVerb
from turnout.server.api.types.limits import Limits as LimitList
from turnout.server.api.types.workers import DrainRequest, WorkerDetail
from turnout.server.api.types.workers import Workers as WorkerList
from turnout.server.api.types.workflows import DispatchTrace
from turnout.server.webhooks import MadeWebhook, WebhookRequest


class CreatedToken(msgspec.Struct, frozen=True):
    secret: str
    token: TokenRow


class TokenList(msgspec.Struct, frozen=True):
    tokens: list[TokenRow]


class TriggerList(msgspec.Struct, frozen=True):
    triggers: list[TriggerRow]


class WebhookList(msgspec.Struct, frozen=True):
    webhooks: list[Webhook]


class ServerService:
    """A server, in front of its database."""

    def __init__(self, access: ServerAccess) -> None:
        client = ApiClient(access)
        self.runs = ServerRuns(client)
        self.workflows = ServerWorkflows(client)
        self.workers = ServerWorkers(client)
        self.limits = ServerLimits(client)
        self.tokens = ServerTokens(client)
        self.webhooks = ServerWebhooks(client)
        self.schedules = ServerSchedules(client)
        self.triggers = ServerTriggers(client)


class ServerWorkflows:
    """Workflows of a server, by name."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def explain(self, target: str, hub: str | None) -> Explained:
        if hub is not None:
            raise InvalidInput("--hub is for a configuration here: the server explains by its own", field="hub")
        trace = self._client.get(f"/workflows/{workflow_segment(target)}/dispatch", DispatchTrace)
        tasks = [
            ExplainedTask(
                each.task_name.rpartition("::")[2],
                each,
                next((warning for warning in trace.warnings if f'"{each.task_name}"' in warning), None),
            )
            for each in trace.tasks
        ]
        return Explained(trace.workflow, tasks)


class ServerWorkers:
    """Workers that are connected to hubs on the server's database."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def list(self) -> builtins.list[WorkerView]:
        return self._client.get("/workers", WorkerList).workers

    def hubs(self) -> set[str]:
        """The server lists the hubs that are alive with each worker."""
        return {address for view in self.list() for address in view.hubs}

    def find(self, wanted: str) -> WorkerView:
        return self._client.get(f"/workers/{segment(wanted)}", WorkerDetail).worker

    def held(self, worker: WorkerView) -> builtins.list[HeldAttempt]:
        return self._client.get(f"/workers/{segment(worker.id)}", WorkerDetail).attempts

    def drain(self, worker: WorkerView, reason: str) -> None:
        self._client.post(f"/workers/{segment(worker.id)}/drain", WorkerView, DrainRequest(reason=reason))

    def is_alive(self, worker: WorkerView) -> bool:
        return any(view.id == worker.id for view in self.list())


class ServerLimits:
    """Limits of a server's database."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def list(self) -> builtins.list[LimitView]:
        return self._client.get("/limits", LimitList).limits

    def find(self, wanted: str) -> LimitDetail:
        return self._client.get("/limits/detail", LimitDetail, {"name": wanted})


class ServerTokens:
    """Tokens of a server."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def list(self) -> builtins.list[TokenRow]:
        return self._client.get("/tokens", TokenList).tokens

    def create(self, name: str, role: Role, lifetime: float | None) -> NewSecret:
        made = self._client.post("/tokens", CreatedToken, {"name": name, "role": role, "lifetime": lifetime})
        return NewSecret(made.secret, made.token)

    def revoke(self, token: str) -> TokenRow:
        return self._client.delete(f"/tokens/{segment(token)}", TokenRow)


class ServerWebhooks:
    """Webhooks of a server."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def list(self) -> builtins.list[Webhook]:
        return self._client.get("/hooks", WebhookList).webhooks

    def create(self, request: WebhookRequest) -> MadeWebhook:
        return self._addressed(self._client.post("/hooks", MadeWebhook, request))

    def rotate(self, webhook: str) -> MadeWebhook:
        return self._addressed(self._client.post(f"/hooks/{segment(webhook)}/rotate", MadeWebhook))

    def _addressed(self, made: MadeWebhook) -> MadeWebhook:
        return msgspec.structs.replace(made, server=self._client.url)

    def delete(self, webhook: str) -> Webhook:
        return self._client.delete(f"/hooks/{segment(webhook)}", Webhook)


class ServerTriggers:
    """Event triggers of a server."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def list(self) -> builtins.list[TriggerRow]:
        return self._client.get("/triggers", TriggerList).triggers

    def change(self, trigger: str, verb: TriggerVerb) -> TriggerRow:
        return self._client.post(f"/triggers/{segment(trigger)}/{verb}", TriggerRow)
