"""Ruby's handler, in Python: for machines without Ruby."""

from typing import Any

from turnout import PermanentFailure, TaskInfo
from turnout.worker import Step, handler


@handler("OrderFulfillment::ProcessPaymentHandler")
def process_payment(order: dict[str, Any], total: int, step: Step, info: TaskInfo) -> dict[str, Any]:
    if order["card"].endswith("0002"):
        raise PermanentFailure(f"card …{order['card']} was declined")
    if total > 100 and info.attempt == 1:
        raise ConnectionError("the payment service did not answer")
    info.logger.info("charging %s %s to card …%s", total, step.handler_config["currency"], order["card"])
    return {"transaction_id": f"txn_{info.idempotency_key[-12:]}", "by": "python for ruby"}
