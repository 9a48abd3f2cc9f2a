from typing import Any

from ship_order import ship_order

from turnout.worker import StepResult, run_step

PAID = {"order": {"order_id": 7}, "payment": {"transaction_id": "t"}, "label": {"tracking_number": "TN7"}}


def ship(args: dict[str, Any], **metadata: Any) -> StepResult:
    return run_step(ship_order, {"handler_config": {"carrier": "sea"}, "metadata": {"args": args, **metadata}})


def test_it_ships() -> None:
    assert ship(PAID).output["tracking_number"] == "TN7"


def test_it_does_not_ship_what_is_not_paid() -> None:
    result = ship({**PAID, "payment": {}})
    assert result.error is not None and result.error.message == "not paid"
    assert (result.status, result.metadata.retryable) == ("failed", False)


def test_a_full_van_is_tried_again_later() -> None:
    full = {**PAID, "order": {"order_id": 8}}
    assert ship(full).metadata.retry_after_ms == 200
    assert ship(full, attempt=1).status == "completed"
