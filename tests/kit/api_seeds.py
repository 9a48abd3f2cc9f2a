"""Seeds a server with workflows, runs and tokens, and has for each operation a request that succeeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec

from tests.kit.api import RunningApi
from turnout.model.limits import LimitSize
from turnout.model.schedule_rows import ScheduleChange
from turnout.model.schedules import ScheduleSpec

RUNS = "/api/v1/runs"
YAML = "params: [WHO=world]\nsteps:\n  - name: greet\n    command: echo hello\n    workerSelector: {zone: a}\n"


@dataclass
class Seeds:
    """What requests may name, by the parameter that names it."""

    values: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def completed(self) -> str:
        return self.values["run_id"][0]

    @property
    def failed(self) -> str:
        return self.values["run_id"][1]


def seeded(api: RunningApi) -> Seeds:
    """Starts runs that complete, fail and wait, and stores a definition."""
    client = api.client("admin")

    def start(workflow: str, **input: Any) -> str:
        body = {"workflow": workflow, "input": input}
        return str(client.post(RUNS, params={"wait": 20}, json=body).json()["run"]["id"])

    api.core.store.put_limit_sizes({"database": LimitSize(3)})
    ids = [start("twice", n=1), start("checked", n=-5), start("mapped", n=3), start("family", n=1)]
    made = client.put("/api/v1/workflows/hello", json={"text": YAML}, headers={"If-None-Match": "*"})
    assert made.status_code in (200, 201), made.text
    api.core.store.put_trigger("public::embedded::twice::new_orders", "public::embedded::twice", 3_600.0)
    hook = client.post("/api/v1/hooks", json={"name": "shop", "workflow": "twice"}).json()
    return Seeds(
        {
            "schedule_id": [_schedule(api)],
            "run_id": ids,
            "task": ["add", "check", "add[0]", "spread"],
            "attempt": [1],
            "name": ["twice", "hello", "public::embedded::checked"],
            "version": [1],
            "workflow": ["twice", "checked", "mapped", "family"],
            "trigger": ["new_orders"],
            "hook": [hook["token"], "shop", hook["webhook"]["id"]],
        }
    )


def _schedule(api: RunningApi) -> int:
    """Stores a schedule that nothing evaluates; returns its id."""
    store = api.core.store
    text = msgspec.json.encode(ScheduleSpec(name="nightly", cron="0 3 * * *", params={"n": 1})).decode()
    change = ScheduleChange(
        workflow="public::embedded::twice",
        name="nightly",
        spec=text,
        anew=True,
        decided_until=store.clock(),
        next_at=4e9,
    )
    store.put_schedules([change], "definition")
    return store.schedules_page()[0].id


@dataclass
class Prepared:
    """A request that its operation answers with success."""

    path: str
    json: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    role: str | None = "admin"
    """The role of its token; None: it has none."""


@contextmanager
def prepared(operation: str, api: RunningApi, seeds: Seeds) -> Iterator[Prepared]:
    """Yields the request for an operation; what it changes is made for it."""
    client = api.client("admin")
    run = f"{RUNS}/{seeds.completed}"
    workflows = "/api/v1/workflows"
    schedule = f"/api/v1/schedules/{seeds.values['schedule_id'][0]}"
    fixed: dict[str, Prepared] = {
        "healthz": Prepared("/healthz"),
        "readyz": Prepared("/readyz"),
        "metrics": Prepared("/metrics"),
        "health_orchestration": Prepared("/health/orchestration"),
        "get_session": Prepared("/api/v1/session"),
        "sign_in": Prepared("/api/v1/session", {"token": api.token("viewer", "browser")}),
        "list_tokens": Prepared("/api/v1/tokens"),
        "create_token": Prepared("/api/v1/tokens", {"name": "another", "role": "viewer"}),
        "list_audit": Prepared("/api/v1/audit"),
        "list_triggers": Prepared("/api/v1/triggers"),
        "get_trigger": Prepared("/api/v1/triggers/new_orders"),
        "pause_trigger": Prepared("/api/v1/triggers/new_orders/pause"),
        "resume_trigger": Prepared("/api/v1/triggers/new_orders/resume"),
        "list_hooks": Prepared("/api/v1/hooks"),
        "create_hook": Prepared("/api/v1/hooks", {"name": "another", "workflow": "twice"}),
        "deliver_hook": Prepared(f"/api/v1/hooks/{seeds.values['hook'][0]}", {"n": 1}, role=None),
        "list_runs": Prepared(RUNS, params={"state": "completed"}),
        "start_run": Prepared(RUNS, {"workflow": "twice", "input": {"n": 1}}, {"wait": 5}),
        "enqueue_run": Prepared(f"{RUNS}/enqueue", {"workflow": "twice", "input": {"n": 1}}),
        "get_run": Prepared(run),
        "get_run_input": Prepared(f"{run}/input"),
        "get_run_result": Prepared(f"{run}/result"),
        "list_child_runs": Prepared(f"{RUNS}/{seeds.values['run_id'][3]}/children"),
        "get_run_history": Prepared(f"{run}/history"),
        "get_run_graph": Prepared(f"{run}/graph"),
        "get_orchestration": Prepared("/api/v1/orchestration"),
        "get_orchestration_history": Prepared("/api/v1/orchestration/history"),
        "list_executors": Prepared("/api/v1/executors"),
        "get_about": Prepared("/api/v1/about"),
        "get_configuration": Prepared("/api/v1/configuration"),
        "list_decisions": Prepared("/api/v1/schedules/decisions"),
        "list_routed_tasks": Prepared("/api/v1/routing/tasks"),
        "get_shadows": Prepared("/api/v1/routing/shadows"),
        "list_unmatched_waits": Prepared("/api/v1/workers/unmatched"),
        "get_stats": Prepared("/api/v1/stats", params={"window": "day"}),
        "get_attention": Prepared("/api/v1/attention"),
        "list_open_tasks": Prepared("/api/v1/tasks", params={"state": "running"}),
        "get_run_timeline": Prepared(f"{run}/timeline"),
        "get_run_output": Prepared(f"{run}/output"),
        "preview_rerun": Prepared(f"{run}/rerun/preview", {"from_task": "add-2"}),
        "list_tasks": Prepared(f"{run}/tasks"),
        "get_task": Prepared(f"{run}/tasks/add"),
        "get_task_output": Prepared(f"{run}/tasks/add/output"),
        "get_task_input": Prepared(f"{run}/tasks/add/input"),
        "get_run_logs": Prepared(f"{run}/logs"),
        "get_task_logs": Prepared(f"{run}/tasks/add/logs"),
        "get_attempt_logs": Prepared(f"{run}/tasks/add/attempts/1/logs"),
        "stream_run_logs": Prepared(f"{run}/logs/stream"),
        "stream_run_events": Prepared(f"{run}/events"),
        "stream_events": Prepared("/api/v1/events"),
        "retry_run": Prepared(f"{RUNS}/{seeds.failed}/retry"),
        "rerun_run": Prepared(f"{run}/rerun", {"from_task": "add-2"}),
        "cancel_runs": Prepared(f"{RUNS}/bulk/cancel", {"filter": {"workflow": "hold"}, "dry_run": True}),
        "rerun_runs": Prepared(f"{RUNS}/bulk/rerun", {"filter": {"workflow": "checked"}, "dry_run": True}),
        "list_limits": Prepared("/api/v1/limits"),
        "get_limit": Prepared("/api/v1/limits/detail", params={"name": "database"}),
        "get_run_limits": Prepared(f"{run}/limits"),
        "list_schedules": Prepared("/api/v1/schedules", params={"workflow": "twice"}),
        "list_next_fires": Prepared("/api/v1/schedules/next"),
        "get_schedule": Prepared(schedule),
        "list_next_fires_of_schedule": Prepared(f"{schedule}/next", params={"limit": 3}),
        "list_schedule_decisions": Prepared(f"{schedule}/decisions"),
        "pause_schedule": Prepared(f"{schedule}/pause"),
        "resume_schedule": Prepared(f"{schedule}/resume"),
        "fire_schedule": Prepared(f"{schedule}/fire"),
        "backfill_schedule": Prepared(f"{schedule}/backfill", {"first": "2026-01-01", "last": "2026-01-07"}),
        "list_workers": Prepared("/api/v1/workers"),
        "get_worker": Prepared("/api/v1/workers/w1"),
        "drain_worker": Prepared("/api/v1/workers/w1/drain"),
        "get_routing": Prepared("/api/v1/routing"),
        "replace_routing": Prepared("/api/v1/routing", {}, headers={"If-Match": "*"}),
        "delete_routing": Prepared("/api/v1/routing", headers={"If-Match": "*"}),
        "validate_routing": Prepared("/api/v1/routing/validate", {}),
        "what_if_routing": Prepared("/api/v1/routing/what-if", {"routing": {}}),
        "list_workflows": Prepared(workflows),
        "get_workflow": Prepared(f"{workflows}/twice"),
        "get_workflow_history": Prepared(f"{workflows}/twice/history"),
        "list_workflow_graphs": Prepared(f"{workflows}/twice/graphs"),
        "get_workflow_graph": Prepared(f"{workflows}/twice/graphs/current"),
        "get_workflow_source": Prepared(f"{workflows}/hello/source"),
        "list_workflow_versions": Prepared(f"{workflows}/hello/versions"),
        "get_workflow_version": Prepared(f"{workflows}/hello/versions/1"),
        "get_workflow_dispatch": Prepared(f"{workflows}/twice/dispatch"),
        "validate_workflow": Prepared(f"{workflows}/fresh/validate", {"text": YAML}),
        "put_workflow": Prepared(f"{workflows}/fresh", {"text": YAML}, headers={"If-None-Match": "*"}),
    }
    if operation in fixed:
        yield fixed[operation]
    elif operation == "sign_out":
        with httpx.Client(base_url=api.url) as browser:
            signed_in = browser.post("/api/v1/session", json={"token": api.token("viewer", "leaving")})
            cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        csrf = signed_in.json()["csrf_token"]
        yield Prepared("/api/v1/session", headers={"Cookie": cookies, "X-CSRF-Token": csrf}, role=None)
    elif operation == "revoke_token":
        api.token("viewer", "to-revoke")
        yield Prepared("/api/v1/tokens/to-revoke")
    elif operation == "poll_trigger":
        client.post("/api/v1/triggers/new_orders/resume")
        yield Prepared("/api/v1/triggers/new_orders/poll")
    elif operation in ("rotate_hook", "delete_hook"):
        client.post("/api/v1/hooks", json={"name": operation, "workflow": "twice"})
        yield Prepared(f"/api/v1/hooks/{operation}" + ("/rotate" if operation == "rotate_hook" else ""))
    elif operation == "delete_workflow":
        tag = _etag(client.put(f"{workflows}/gone", json={"text": YAML}, headers={"If-None-Match": "*"}))
        yield Prepared(f"{workflows}/gone", headers={"If-Match": tag})
    elif operation == "delete_run":
        body = {"workflow": "twice", "input": {"n": 1}}
        ended = client.post(RUNS, params={"wait": 20}, json=body).json()["run"]["id"]
        yield Prepared(f"{RUNS}/{ended}")
    elif operation in ("cancel_run", "pause_run", "resume_run"):
        open_ = client.post(RUNS, json={"workflow": "hold"}).json()["run"]["id"]
        yield Prepared(f"{RUNS}/{open_}/{operation.removesuffix('_run')}")
        client.post(f"{RUNS}/{open_}/cancel")
    else:
        raise AssertionError(f"operation {operation} has no seeded request: add one")


def _etag(answer: httpx.Response) -> str:
    assert answer.status_code in (200, 201), answer.text
    return answer.headers["etag"]
