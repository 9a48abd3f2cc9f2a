"""Every route of the API against every role: routes that are added later are covered by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.kit.api import RunningApi, running_api
from turnout.model.access import ROLES, Role
from turnout.server.app import create_app
from turnout.server.guards import role_guard_of
from turnout.server.schema_docs import routes_of

OPEN = {"/healthz", "/readyz", "/sign-in", "/sign-in.js", "/sign-in.css", "/api/v1/session", "/api/v1/hooks/{hook}"}
"""Paths that are open without a token: health, readiness, the sign-in, and deliveries of webhooks."""


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    with running_api() as running:
        yield running


def test_every_route_declares_a_role(api: RunningApi) -> None:
    routes = routes_of(create_app(api.context))
    assert len(routes) > 10
    assert [path for _, path, handler in routes if role_guard_of(handler) is None] == []


def test_only_health_the_sign_in_and_webhooks_are_open_without_a_token(api: RunningApi) -> None:
    routes = routes_of(create_app(api.context))
    free = {(method, path) for method, path, handler in routes if _needed(handler) is None}
    assert {path for _, path in free} == OPEN
    assert {method for method, path in free if path.startswith("/api/")} == {"POST"}


@pytest.mark.parametrize("role", [None, *ROLES])
def test_a_role_reaches_exactly_the_routes_that_it_includes(api: RunningApi, role: Role | None) -> None:
    client = api.client(None if role is None else str(role))
    wrong: list[str] = []
    for method, path, handler in routes_of(create_app(api.context)):
        needed = _needed(handler)
        # A stream that is allowed does not end: its head is enough.
        target = re.sub(r"\{[^}]*\}", "1", path)
        with client.stream(method, target, headers={"Accept": "application/json"}) as answer:
            if answer.status_code in (401, 403):
                answer.read()
        expected = None
        if needed is not None and role is None:
            expected = (401, "no_token")
        elif needed is not None and role is not None and not role.includes(needed):
            expected = (403, "role_too_low")
        found = (answer.status_code, answer.json().get("code") if answer.status_code in (401, 403) else None)
        if (expected is None and found[0] in (401, 403)) or (expected is not None and found != expected):
            wrong.append(f"{method} {path}: {found}, expected {expected}")
    assert wrong == []


def _needed(handler: object) -> Role | None:
    guard = role_guard_of(handler)  # type: ignore[arg-type]
    assert guard is not None
    return guard.role
