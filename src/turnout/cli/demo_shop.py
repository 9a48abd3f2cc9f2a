"""The other workflows of the demo's shop, and the runs on its page: some have ended, one works, two wait."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from turnout import Limit, Runner, Schedule, TaskInfo, injected, task, workflow
from turnout.cli.demo_orders import ORDER, fulfil
from turnout.runner import RunHandle

SHELVES = 24
WORKER_LABELS = {"site": "warehouse"}
"""Labels of the demo's worker. No worker has the one that ``engrave`` requires."""
UNLOADING = 900
"""Seconds that ``unload`` takes: longer than most look at the page."""


@task
def shelves(count: int) -> list[int]:
    return list(range(1, count + 1))


@task(worker_selector=WORKER_LABELS)
def count_shelf(shelf: int) -> int:
    time.sleep(0.05 + shelf % 4 * 0.05)
    return 40 + shelf * 7 % 30


@task
def stock_report(counts: list[int]) -> dict[str, int]:
    return {"shelves": len(counts), "items": sum(counts)}


@workflow(
    package="shop",
    schedule=[
        Schedule(every="1m", name="every-minute"),
        Schedule("0 6 * * 1-5", name="before-opening", timezone="Europe/London"),
    ],
)
def stocktake(count: int = SHELVES) -> dict[str, int]:
    """Counts every shelf on a worker in the warehouse."""
    return stock_report(count_shelf.map(shelves(count)))


@task
def order_goods(supplier: str) -> str:
    time.sleep(0.2)
    return f"40 boxes from {supplier}"


@task
async def unload(goods: str, seconds: int, info: TaskInfo = injected()) -> str:
    for second in range(1, seconds + 1):
        info.progress(second, seconds, "seconds")
        if second % 5 == 1:
            print(f"unloading {goods}: box {second // 5 + 1} is on the floor")
        await asyncio.sleep(1)
    return goods


@workflow(package="shop", limits=[Limit("loading-bay", at_most=1)], schedule=Schedule("30 7 * * 1", name="weekly"))
def restock(supplier: str = "the tea garden", seconds: int = UNLOADING) -> str:
    """Unloads a delivery. There is one loading bay, so the next delivery waits."""
    return unload(order_goods(supplier), seconds)


@task(worker_selector={"machine": "laser"})
def engrave(text: str) -> str:
    return text


@workflow(package="shop")
def gift(text: str = "for Ada") -> str:
    """Engraves a cup, on a worker with a laser: it waits until one is there."""
    return engrave(text)


@task
def hand_over(parcels: list[dict[str, Any]]) -> str:
    return f"{len(parcels)} parcels for the evening mail"


@workflow(package="shop")
def evening_mail(first: dict[str, Any], second: dict[str, Any]) -> str:
    """Fulfils the last two orders of the day as child runs."""
    return hand_over([fulfil.named("first_order")(first), fulfil.named("second_order")(second)])


WORKFLOWS = (fulfil, stocktake, restock, gift, evening_mail)


def start_runs(runner: Runner) -> None:
    """Starts runs of every kind. Returns once those that end by themselves have ended."""
    customers = [("Grace", "New York"), ("Alan", "Manchester"), ("Edsger", "Rotterdam"), ("Barbara", "Los Angeles")]
    orders = [{**ORDER, "name": name, "city": city} for name, city in customers]
    declined = runner.submit(fulfil, {**ORDER, "name": "Charles", "card": "declined"})
    ending: list[RunHandle[Any]] = [
        declined,
        runner.submit(fulfil, {**ORDER, "name": "Konrad", "city": "Berlin", "card": "declined"}),
        runner.submit(stocktake),
        *runner.submit_many(fulfil, [{"order": order} for order in orders[:2]]),
        runner.submit(evening_mail, orders[2], orders[3]),
    ]
    runner.submit(restock, "the tea garden")
    runner.submit(restock, "the pottery")
    runner.submit(gift)
    for run in ending:
        run.wait()
    declined.rerun(input={"order": {**ORDER, "name": "Charles"}}).wait()


def end_runs(runner: Runner) -> None:
    """Cancels the runs that have not ended, so that nothing is waited for."""
    for view in runner.list():
        if not view.state.terminal:
            runner.get(view.id).cancel("the demo has ended")
