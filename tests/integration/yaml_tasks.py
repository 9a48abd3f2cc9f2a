"""Tasks that workflow files of the tests may name."""

from __future__ import annotations

from dataclasses import dataclass

from turnout import task


@dataclass
class Order:
    id: int
    paid: bool
    rate: float | None = None


@task
def add(first: int, second: int = 0) -> int:
    return first + second


@task
def join(parts: list[object]) -> str:
    return ",".join(map(str, parts))


@task
def described(order: Order) -> str:
    return repr(order)


@task
def broken() -> None:
    raise ValueError("broken on purpose")
