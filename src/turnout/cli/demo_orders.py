"""The demo's workflow: an order with a payment that fails once, and labels that a printer of their own prints."""

from __future__ import annotations

import time
from typing import Any

from turnout import PermanentFailure, TaskInfo, task, workflow


@task
def validate(order: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.3)
    return {**order, "total": sum(line["price"] * line["count"] for line in order["lines"])}


@task(retries=2, retry_delay="600ms")
def charge(order: dict[str, Any], info: TaskInfo) -> dict[str, Any]:
    print(f"charging {order['total']} to {order['name']}")
    time.sleep(0.3)
    if order.get("card") == "declined":
        raise PermanentFailure(f"the card of {order['name']} was declined")
    if info.attempt == 1:
        raise ConnectionError("the payment service did not answer")
    return {"amount": order["total"], "receipt": info.idempotency_key[-8:]}


@task
async def reserve(order: dict[str, Any]) -> list[str]:
    time.sleep(0.5)
    return [line["sku"] for line in order["lines"]]


@task
def label(order: dict[str, Any]) -> str:
    time.sleep(0.7)
    return f"{order['name']}, {order['city']}"


@task
def ship(label: str, items: list[str], payment: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.4)
    return {"to": label, "items": items, "paid": payment["amount"]}


@task
def thank(order: dict[str, Any]) -> str:
    time.sleep(0.2)
    return f"Thank you, {order['name']}!"


@workflow(package="shop")
def fulfil(order: dict[str, Any]) -> dict[str, Any]:
    """Charges an order, packs it and ships it."""
    checked = validate(order)
    parcel = ship(label(checked), reserve(checked), charge(checked))  # pyright: ignore[reportCallIssue] - TaskInfo is handed in
    return {"parcel": parcel, "mail": thank.after(parcel)(checked)}


ORDER = {
    "name": "Ada",
    "city": "London",
    "lines": [{"sku": "tea", "price": 4, "count": 3}, {"sku": "cup", "price": 9, "count": 1}],
}
