"""Order fulfilment: a task that fails once and is retried, two executors chosen by rule, and where each task ran.

Run it with ``python examples/order_fulfilment.py [DATABASE_URL]``; ``turnout demo`` shows the like on the command line.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from turnout import RoutingConfig, RoutingRule, Runner, TaskInfo, injected, task, workflow
from turnout.executors.thread import ThreadExecutor


@task
def validate(order: dict[str, Any]) -> dict[str, Any]:
    assert order["lines"], "an order needs lines"
    return {**order, "total": sum(line["price"] * line["count"] for line in order["lines"])}


@task(retries=2, retry_delay="200ms", backoff="exponential")
def charge(order: dict[str, Any], info: TaskInfo = injected()) -> dict[str, Any]:
    if info.attempt == 1:
        raise ConnectionError("the payment service did not answer")
    return {"amount": order["total"], "receipt": info.idempotency_key[-8:]}


@task
async def reserve(order: dict[str, Any]) -> list[str]:
    return [line["sku"] for line in order["lines"]]


@task(name="label")
def print_label(order: dict[str, Any]) -> str:
    time.sleep(0.05)
    return f"{order['name']}, {order['city']}"


@task
def ship(label: str, items: list[str], payment: dict[str, Any]) -> dict[str, Any]:
    return {"to": label, "items": items, "paid": payment["amount"]}


@task
def thank(order: dict[str, Any]) -> str:
    return f"Thank you, {order['name']}!"


@workflow(package="shop")
def fulfil(order: dict[str, Any]) -> dict[str, Any]:
    checked = validate(order)
    parcel = ship(print_label(checked), reserve(checked), charge(checked))
    return {"parcel": parcel, "mail": thank.after(parcel)(checked)}


ORDER = {
    "name": "Ada",
    "city": "London",
    "lines": [{"sku": "tea", "price": 4, "count": 3}, {"sku": "cup", "price": 9, "count": 1}],
}


def main(url: str | None = None) -> None:
    routing = RoutingConfig("default").with_rule(RoutingRule("**::fulfil::label", "printers"))
    executors = {"printers": ThreadExecutor(threads=1, name="printers")}
    with Runner(url, routing=routing, executors=executors) as runner:
        print(f"database  {runner.url}\n\n{runner.draw(fulfil)}\n")
        run = runner.submit(fulfil, ORDER)
        result = run.result(timeout=60)
        print(f"{'task':<10}{'state':<11}{'attempts':<10}{'executor':<10}why")
        for each in run.tasks():
            print(f"{each.name:<10}{each.state:<11}{each.attempt:<10}{each.executor:<10}{each.decision}")
        print(f"\nrun {run.id}: {run.status().state}\n{result}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
