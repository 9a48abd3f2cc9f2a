from platform import python_version
from typing import Any

from turnout import PermanentFailure, RetryAfter, TaskInfo
from turnout.worker import Step, handler


@handler("OrderFulfillment::ShipOrder", version="1.0")
def ship_order(
    order: dict[str, Any], payment: dict[str, Any], label: dict[str, Any], step: Step, info: TaskInfo
) -> Any:
    if not payment.get("transaction_id"):
        raise PermanentFailure("not paid")
    if order["order_id"] % 4 == 0 and info.attempt == 1:
        raise RetryAfter(0.2, "the van is full")
    info.logger.info("order %s goes with %s", order["order_id"], step.handler_config["carrier"])
    return {"tracking_number": label["tracking_number"], "by": f"python {python_version()}"}
