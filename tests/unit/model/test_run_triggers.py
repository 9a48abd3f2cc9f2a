"""How a run was started, by what is stored of it."""

from __future__ import annotations

import msgspec
import pytest

from turnout.model.rows import NewRun
from turnout.model.run_triggers import (
    CLI,
    RunTrigger,
    ScheduledRun,
    needs_decision,
    origin,
    trigger_of,
    webhook_origin,
)
from turnout.model.triggers import event_key
from turnout.model.webhooks import delivery_key

RUN = NewRun(run_id="r", workflow="public::shop::fulfil", version="v", input="{}", created_at=0.0)
HOURLY = ScheduledRun(schedule_id=7, name="hourly", kind="due", due_at=60.0, actor=None)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({}, RunTrigger(kind="program")),
        ({"origin": CLI}, RunTrigger(kind="cli")),
        ({"origin": origin("cli", "ada")}, RunTrigger(kind="cli", name="ada")),
        ({"origin": origin("api", "team:ci")}, RunTrigger(kind="api", name="team:ci")),
        ({"origin": origin("web", "ada")}, RunTrigger(kind="web", name="ada")),
        ({"origin": "of a later version"}, RunTrigger(kind="program")),
        ({"parent_run": "p", "rerun_of": "o", "origin": CLI}, RunTrigger(kind="parent", run_id="p")),
        ({"rerun_of": "o", "key": "again"}, RunTrigger(kind="rerun", run_id="o")),
        (
            {"key": event_key("public::shop::fulfil::new_orders", "order:7")},
            RunTrigger(kind="trigger", name="new_orders", key="order:7"),
        ),
        ({"origin": webhook_origin("5f1c")}, RunTrigger(kind="webhook", name="shop")),
        (
            {"origin": webhook_origin("5f1c"), "key": delivery_key("5f1c", "a:b")},
            RunTrigger(kind="webhook", name="shop", key="a:b"),
        ),
        ({"key": delivery_key("gone", "d")}, RunTrigger(kind="webhook", key="d")),
    ],
)
def test_each_way_is_told_from_its_columns(stored: dict[str, str], told: RunTrigger) -> None:
    new = msgspec.structs.replace(RUN, **stored)
    assert trigger_of(new, None, {"5f1c": "shop"}) == told
    if stored:
        assert not needs_decision(new)


def test_a_key_of_a_request_is_not_taken_for_an_event() -> None:
    new = msgspec.structs.replace(RUN, key="trigger:new_orders:7", origin=origin("api", "ci"))
    assert trigger_of(new, None, {}) == RunTrigger(kind="api", name="ci")


def test_the_decision_of_a_schedule_has_its_due_time() -> None:
    assert needs_decision(RUN)
    found = trigger_of(RUN, HOURLY, {})
    assert found == RunTrigger(kind="schedule", name="hourly", schedule_id=7, due_at=60.0, decision="due")
    fired = msgspec.structs.replace(HOURLY, kind="manual", actor="ada")
    assert trigger_of(RUN, fired, {}).actor == "ada"
