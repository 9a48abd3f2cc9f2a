"""Handlers elsewhere, as tasks of a workflow."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import PermanentFailure, remote, task, workflow
from turnout.errors import InvalidWorkflow, RunFailed
from turnout.model.spec import FromParam, FromTask, decode_spec
from turnout.testing import run_inline

ship = remote(
    "ship",
    handler="OrderFulfillment::ShipOrder",
    config={"carrier": "sea", "tries": (1, 2)},
    retries=2,
    timeout="30s",
    worker_selector={"ruby": "true"},
)


@task
def check(order: str) -> str:
    return order.upper()


@workflow
def fulfil(order: str) -> Any:
    return ship(order=check(order), express=True, note=order)


def test_it_is_a_node_whose_body_is_the_handler_with_its_configuration() -> None:
    node = fulfil.spec.tasks[1]
    assert (node.name, node.body.kind, node.body.ref) == ("ship", "handler", "OrderFulfillment::ShipOrder")
    assert node.body.config == {"carrier": "sea", "tries": [1, 2]}
    assert (node.retry.attempts, node.timeout, node.worker_selector) == (3, 30.0, {"ruby": "true"})
    assert node.kwargs["order"] == FromTask("check") and node.kwargs["note"] == FromParam("order")


def test_the_configuration_is_kept_in_the_stored_spec() -> None:
    import msgspec

    assert decode_spec(msgspec.json.encode(fulfil.spec)) == fulfil.spec


def test_arguments_have_names() -> None:
    @workflow
    def wrong(order: str) -> Any:
        return ship(order)

    with pytest.raises(InvalidWorkflow, match=r"ship\(\): too many positional arguments"):
        _ = wrong.spec


def test_it_can_be_mapped_renamed_and_given_other_options() -> None:
    @workflow
    def many(orders: list[str]) -> Any:
        return ship.named("ship-all").options(retries=0).map(order=orders)

    (node,) = many.spec.tasks
    assert node.name == "ship-all" and node.map is not None and node.retry.attempts == 1
    assert node.body == ship.body


def test_in_a_test_it_is_faked() -> None:
    fake = {ship: lambda order, express, note: f"{order} {express} {note}"}
    assert run_inline(fulfil, "a", fakes=fake) == "A True a"
    assert run_inline(fulfil, "a", fakes={"ship": "sent"}) == "sent"


def test_without_a_fake_the_run_says_that_it_needs_one_and_does_not_try_again() -> None:
    with pytest.raises(RunFailed, match=r"fakes=\{'ship': …\}") as caught:
        run_inline(fulfil, "a")
    assert isinstance(caught.value.__cause__, PermanentFailure) and caught.value.__cause__.code == "needs_worker"


def test_outside_of_a_workflow_it_cannot_be_called() -> None:
    with pytest.raises(PermanentFailure, match="handler 'OrderFulfillment::ShipOrder' of a worker"):
        ship(order="a")


def test_a_predicate_of_this_process_is_refused() -> None:
    with pytest.raises(InvalidWorkflow, match="retry_if") as caught:
        remote("ship", handler="X", retry_if=lambda error: True)
    assert caught.value.code == "remote_option"


@pytest.mark.parametrize("handler", ["", "x" * 300, None])
def test_a_handler_has_a_name(handler: Any) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        remote("ship", handler=handler)
    assert caught.value.code == "bad_handler"


@pytest.mark.parametrize("config", [{"a": object()}, {1: 2}, [1]])
def test_a_configuration_is_a_json_object(config: Any) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        remote("ship", handler="X", config=config)
    assert caught.value.code == "bad_config"
