"""The workflow: an order is checked in Python, paid in Ruby, gets its label in Go and its mail from Node.

Shipping is in all four languages: the hub gives it to whichever worker has the least to do.
"""

from __future__ import annotations

import platform
from typing import Any

from turnout import PermanentFailure, TaskInfo, injected, remote, task, workflow

process_payment = remote(
    "process_payment",
    handler="OrderFulfillment::ProcessPaymentHandler",
    config={"currency": "EUR"},
    retries=3,
    retry_delay="200ms",
    timeout="30s",
)
draw_label = remote(
    "draw_label",
    handler="OrderFulfillment::DrawLabel",
    config={"width": 380},
    timeout="30s",
    worker_selector={"gpu": "true"},
)
ship_order = remote(
    "ship_order",
    handler="OrderFulfillment::ShipOrder",
    config={"carrier": "Turnpike Express"},
    retries=2,
    timeout="30s",
)
send_notification = remote(
    "send_notification",
    handler="OrderFulfillment::SendNotification",
    config={"from": "shop@example.org"},
    retries=3,
    timeout="30s",
)


@task(worker_selector={"language": "python"})
def validate_order(order: dict[str, Any], info: TaskInfo = injected()) -> dict[str, Any]:
    """Runs on the Python worker, which imports this module too."""
    if not order["lines"]:
        raise PermanentFailure(f"order {order['order_id']} has no lines")
    total = sum(line["price"] * line["count"] for line in order["lines"])
    info.logger.info("order %s of %s: %d", order["order_id"], order["customer"]["name"], total)
    return {"total": total, "by": f"python {platform.python_version()}"}


@task
def close_order(order: dict[str, Any], shipped: dict[str, Any], notified: dict[str, Any]) -> dict[str, Any]:
    """Asks for no worker, so it runs in the program that has the hub."""
    text = f"order {order['order_id']} is on its way as {shipped['tracking_number']}, and {notified['to']} knows it"
    return {"text": text, "by": "here"}


@workflow(package="shop")
def fulfil(order: dict[str, Any]) -> dict[str, Any]:
    checked = validate_order(order)
    payment = process_payment(order=order, total=checked["total"])
    label = draw_label.after(checked)(order=order)
    shipped = ship_order(order=order, payment=payment, label=label)
    notified = send_notification(order=order, tracking_number=shipped["tracking_number"])
    return {
        "validate_order": checked,
        "process_payment": payment,
        "draw_label": label,
        "ship_order": shipped,
        "send_notification": notified,
        "close_order": close_order(order, shipped, notified),
    }


def order(number: int, name: str, city: str, *lines: tuple[str, int, int], card: str = "4242") -> dict[str, Any]:
    return {
        "order_id": number,
        "customer": {"name": name, "email": f"{name.lower()}@example.org", "address": f"{name}, {city}"},
        "card": card,
        "lines": [{"sku": sku, "price": price, "count": count} for sku, price, count in lines],
    }


ORDERS = [
    order(1001, "Ada", "London", ("tea", 4, 3), ("cup", 9, 1)),
    order(1002, "Grace", "Arlington", ("printer", 240, 1)),
    order(1003, "Alan", "Manchester", ("bicycle", 90, 1), card="0002"),
    order(1004, "Edsger", "Nuenen", ("pen", 2, 10)),
    order(1005, "Barbara", "Boston", ("notebook", 3, 5)),
]
"""Above 100 the payment service does not answer at once; a card that ends in 0002 is declined."""
