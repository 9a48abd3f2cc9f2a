"""The workflows of the browser tests."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from turnout import Limit, TaskInfo, injected, task, workflow


@task
def fetch(order: str) -> dict[str, str]:
    print(f"fetching order {order}")
    return {"order": order, "customer": "Ada"}


@task
def charge(order: dict[str, str], fail: bool) -> str:
    if fail:
        raise ValueError(f"the card of {order['customer']} was declined")
    return f"charged {order['order']}"


@task
def ship(charged: str) -> str:
    return f"shipped, {charged}"


@workflow
def fulfil(order: str = "A-17", fail: bool = False) -> str:
    """Charges an order and ships it."""
    return ship(charge(fetch(order), fail))


@task
def orders(count: int) -> list[int]:
    return list(range(count))


@task
def price(order: int) -> int:
    if order == 3:
        raise ValueError("order 3 has no price")
    return order * 2


@task
def total(prices: list[int]) -> int:
    return sum(prices)


@workflow
def pricing(count: int = 6) -> int:
    """Prices many orders, of which one fails."""
    return total(price.map(orders(count)))


HOSTILE = (
    "<img src=x onerror=alert(1)> \x1b[31mred\x1b[0m \x1b]8;;https://example.org\x07link\x1b]8;;\x07 \u202egpj.exe"
)


@task
def shout(lines: int, pause: float, gate: str, info: TaskInfo = injected()) -> str:
    print(HOSTILE)
    for line in range(lines):
        while gate and line > 0 and not Path(gate).exists():
            time.sleep(0.05)
        print(f"line {line}")
        info.progress(line + 1, lines, "lines")
        time.sleep(pause)
    print("ValueError: not a real one")
    return "<script>alert(1)</script>" + HOSTILE


@workflow
def chatty(lines: int = 5, pause: float = 0.0, gate: str = "") -> str:
    """Writes a log with all that a terminal would interpret; with a gate, the first line before that file exists."""
    return shout(lines, pause, gate)


@task
def speak(text: str) -> dict[str, str]:
    print(text)
    return {text: text}


@task
def stumble(text: dict[str, str]) -> str:
    raise ValueError(next(iter(text)))


@workflow
def hostile(text: str) -> str:
    """Logs, returns and raises the text that it is given."""
    return stumble(speak(text))


@task
def blob(megabytes: int) -> str:
    return "0123456789abcdef" * (megabytes * 65_536)


@workflow
def heavy(megabytes: int = 50) -> str:
    """Returns a large text."""
    return blob(megabytes)


@task
def hold(gate: str) -> str:
    while not Path(gate).exists():
        time.sleep(0.05)
    return "through"


@workflow
def gated(gate: str) -> str:
    """Waits for a file."""
    return ship(hold(gate))


@task
def hand_over(before: str, gate: str) -> str:
    while not Path(gate).exists():
        time.sleep(0.05)
    return before


@workflow
def relay(first: str, second: str) -> str:
    """Waits for a file, and for another one in the task that follows."""
    return hand_over(hold(first), second)


@workflow(limits=[Limit("vault", at_most=1)])
def guarded(gate: str) -> str:
    """Waits for a file, one run at a time."""
    return hold(gate)


@task
def climb(gate: str, steps: int, info: TaskInfo = injected()) -> int:
    for step in range(steps):
        print(*(f"step {step}, metre {metre}" for metre in range(100)), sep="\n")
        info.progress(step + 1, steps, "steps")
        while not Path(f"{gate}-{step}").exists():
            time.sleep(0.05)
    return steps


@workflow
def ascent(gate: str, steps: int = 4) -> int:
    """Prints and says how far it is, and waits for a file after each step."""
    return climb(gate, steps)


@task(retries=1, retry_delay="0.1s")
def knock(info: TaskInfo = injected()) -> str:
    if info.attempt == 1:
        raise ConnectionError("nothing answers the first time")
    return "opened"


@workflow
def visit() -> str:
    """Succeeds at the second attempt."""
    return ship(knock())


@task
def enter(order: dict[str, int]) -> int:
    return order["id"]


@workflow
def ledger(order: dict[str, int]) -> int:
    """Returns the number of an order."""
    return enter(order)


@task(worker_selector={"gpu": "none"})
def carry(gate: str) -> str:
    while not Path(gate).exists():
        time.sleep(0.05)
    return "carried"


@workflow
def delivery(gate: str) -> str:
    """Runs on a worker with a label, until a file exists."""
    return carry(gate)


@workflow
def bundle(order: str = "C-1") -> str:
    """Runs another workflow inside."""
    return ship(fulfil(order))


@task(retries=2, retry_delay=0.3)
def dial(number: str, info: TaskInfo = injected()) -> str:
    time.sleep(0.2)
    if info.attempt < 3:
        raise TimeoutError(f"{number} does not answer")
    return f"{number} answered"


@workflow
def insistent(number: str = "555-0100") -> str:
    """Succeeds with its third attempt."""
    return dial(number)


@task
def baskets(count: int) -> list[str]:
    return [f"D-{number}" for number in range(count)]


@task
def declines(orders: list[str]) -> list[bool]:
    return [order == "D-1" for order in orders]


@workflow
def bundles(count: int = 3) -> list[str]:
    """Runs another workflow for every item of a list; that of one item fails."""
    orders = baskets(count)
    return fulfil.map(orders, declines(orders))


@task
async def nap(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


@workflow
def sleepy(seconds: float = 600.0) -> float:
    """Takes its time."""
    return nap(seconds)


@task(worker_selector={"gpu": "a100"})
def train(epochs: int) -> int:
    return epochs


@workflow
def training(epochs: int = 3) -> int:
    """Needs a worker with a label that none has."""
    return train(epochs)


@task
def draw() -> float:
    return random.random()


@workflow
def luck() -> float:
    """Answers something else each time, so that a shadow of it differs."""
    return draw()
