"""Tasks that workflow files of the tests may name."""

from __future__ import annotations

from turnout import task


@task
def add(first: int, second: int = 0) -> int:
    return first + second


@task
def join(parts: list[object]) -> str:
    return ",".join(map(str, parts))


@task
def broken() -> None:
    raise ValueError("broken on purpose")
