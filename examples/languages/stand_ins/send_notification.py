"""Node's handler, in Python: for machines without Node."""

from typing import Any

from turnout import RetryAfter, TaskInfo
from turnout.worker import Step, handler


@handler("OrderFulfillment::SendNotification")
async def send_notification(order: dict[str, Any], tracking_number: str, step: Step, info: TaskInfo) -> dict[str, Any]:
    name, email = order["customer"]["name"], order["customer"]["email"]
    if len(name) > 6 and info.attempt == 1:
        raise RetryAfter(0.3, f"{email}: try again later")
    sender = step.handler_config["from"]
    info.logger.info("mail from %s to %s: Dear %s, your parcel is %s.", sender, email, name, tracking_number)
    return {"to": email, "by": "python for node"}
