"""Go's handler, in Python: for machines without Go. It draws nothing."""

from typing import Any

from turnout import PermanentFailure, TaskInfo
from turnout.worker import handler


@handler("OrderFulfillment::DrawLabel")
def draw_label(order: dict[str, Any], info: TaskInfo) -> dict[str, Any]:
    address = order["customer"]["address"]
    if not address:
        raise PermanentFailure("a label needs an address")
    number = f"TN{order['order_id']:08d}"
    info.logger.info("label %s for %s: no picture", number, address)
    return {"tracking_number": number, "file": None, "by": "python for go"}
