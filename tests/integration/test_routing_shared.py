"""Routing rules that are put through the API are in force on every orchestrator of a database, also after restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from kit.waiting import until

from tests.kit.api import running_api
from tests.kit.api_flows import FLOWS
from turnout import Runner
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import DefinitionError, InvalidRouting
from turnout.executors.thread import ThreadExecutor
from turnout.store.postgres import PostgresStore

pytestmark = pytest.mark.timeout(90)

Make = Callable[..., Runner]
ROUTING = "/api/v1/routing"
TO_PROCESS = {"rules": [{"pattern": "**::twice::*", "executor": "process"}]}
ANY = {"If-Match": "*"}
WITHIN = 1.5
"""Seconds within which a change is in force everywhere: a second, and what a loaded machine takes."""


def executor_of_first_task(client: Any) -> str:
    body = {"workflow": "twice", "input": {"n": 1}}
    run = client.post("/api/v1/runs", params={"wait": 20}, json=body).json()["run"]["id"]
    return str(client.get(f"/api/v1/runs/{run}/tasks/add").json()["executor"])


def test_rules_that_one_server_gets_are_in_force_on_the_others(store_url: str, make_runner: Make) -> None:
    following = make_runner(workflows=FLOWS)
    with running_api(store_url, workflows=FLOWS) as one, running_api(store_url, workflows=FLOWS) as other:
        began = time.monotonic()
        put = one.client("admin").put(ROUTING, json=TO_PROCESS, headers={"If-Match": '"0"'})
        assert put.status_code == 200, put.text
        viewer, operator = other.client("viewer"), other.client("operator")
        until(lambda: viewer.get(ROUTING).json()["origin"] == "database")
        until(lambda: following.routing().origin == "database")
        assert time.monotonic() - began < WITHIN
        assert viewer.get(ROUTING).json()["routing"]["rules"] == TO_PROCESS["rules"]
        assert viewer.get(ROUTING).headers["etag"] == '"1"'
        assert executor_of_first_task(operator) == "process"
        assert following.routing().routing.rules == (RoutingRule("**::twice::*", "process"),)
        began = time.monotonic()
        assert other.client("admin").delete(ROUTING, headers={"If-Match": '"1"'}).json()["origin"] == "config"
        until(lambda: one.client("viewer").get(ROUTING).json()["origin"] == "config")
        until(lambda: following.routing().origin == "config")
        assert time.monotonic() - began < WITHIN
        assert executor_of_first_task(one.client("operator")) == "default"


def test_a_change_reaches_idle_servers_by_the_sweep_if_its_notification_is_lost(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresStore, "listen", lambda self, on_wake: lambda: None)
    with running_api(postgres_url) as one, running_api(postgres_url) as other:
        one.client("admin").put(ROUTING, json=TO_PROCESS, headers=ANY)
        until(lambda: other.client("viewer").get(ROUTING).json()["origin"] == "database")


def test_rules_survive_a_restart(store_url: str) -> None:
    with running_api(store_url, workflows=FLOWS) as api:
        api.client("admin").put(ROUTING, json=TO_PROCESS, headers=ANY)
    with running_api(store_url, workflows=FLOWS) as api:
        found = api.client("admin").get(ROUTING)
        assert found.json()["origin"] == "database" and found.headers["etag"] == '"1"'
        assert executor_of_first_task(api.client("operator")) == "process"


def test_two_changes_of_one_version_do_not_overwrite_one_another(store_url: str) -> None:
    with running_api(store_url) as one, running_api(store_url) as other:
        assert one.client("admin").put(ROUTING, json=TO_PROCESS, headers={"If-Match": '"0"'}).status_code == 200
        late = other.client("admin").put(ROUTING, json={}, headers={"If-Match": '"0"'})
        assert (late.status_code, late.json()["code"]) == (412, "stale_etag")
        assert one.client("admin").get(ROUTING).json()["routing"]["rules"] == TO_PROCESS["rules"]


def test_an_orchestrator_that_lacks_an_executor_keeps_its_rules_and_says_why(
    store_url: str, make_runner: Make, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = {"rules": [{"pattern": "**", "executor": "gpu"}]}
    lacking = make_runner(workflows=FLOWS)
    with running_api(store_url, workflows=FLOWS, executors={"gpu": ThreadExecutor(1)}) as api:
        assert api.client("admin").put(ROUTING, json=elsewhere, headers=ANY).status_code == 200
        until(lambda: lacking.routing().problem is not None)
        found = lacking.routing()
        assert found.origin == "config" and found.routing.rules == () and '"gpu"' in str(found.problem)
        assert "cannot work here" in caplog.text
        api.client("admin").put(ROUTING, json=TO_PROCESS, headers=ANY)
        until(lambda: lacking.routing().origin == "database")
        assert lacking.routing().problem is None


def test_rules_that_a_program_gives_stay_its_own(store_url: str, make_runner: Make) -> None:
    own = RoutingConfig("default").with_rule(RoutingRule("**::twice::*", "shell"))
    with running_api(store_url) as api:
        api.client("admin").put(ROUTING, json=TO_PROCESS, headers=ANY)
        given, changed = make_runner(routing=own), make_runner()
        assert (given.routing().origin, given.routing().routing) == ("program", own)
        assert changed.routing().origin == "database"
        changed.set_routing(own)
        api.client("admin").delete(ROUTING, headers=ANY)
        following = make_runner()
        assert following.routing().origin == "config"
        for runner in (given, changed):
            assert (runner.routing().origin, runner.routing().routing) == ("program", own)
        with pytest.raises(DefinitionError) as caught:
            given.core.admin.share_routing(own, None, "ada")
        assert caught.value.code == "routing_from_program"


def test_shared_rules_that_cannot_work_are_not_stored(make_runner: Make) -> None:
    runner = make_runner()
    with pytest.raises(InvalidRouting):
        runner.core.admin.share_routing(RoutingConfig("nowhere"), None, "ada")
    assert runner.core.store.shared_routing().version == 0


def test_a_server_of_a_program_with_rules_refuses_a_change() -> None:
    with running_api(routing=RoutingConfig("default")) as api:
        answer = api.client("admin").put(ROUTING, json={}, headers=ANY)
        assert (answer.status_code, answer.json()["code"]) == (409, "routing_from_program")
