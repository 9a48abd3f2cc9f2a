"""A workflow with a parameter of each kind of type, for the form that starts it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from turnout import task, workflow


@task
def collect(region: str, limit: int) -> list[int]:
    print(f"collecting in {region}")
    return list(range(limit))


@task
def render(figures: list[int], title: str) -> str:
    return f"{title}: {sum(figures)}"


@workflow
def report(
    title: str,
    region: Literal["eu", "us"] = "eu",
    limit: Annotated[int, msgspec.Meta(ge=1, le=50, description="Figures at most")] = 3,
    recipients: list[str] = [],  # noqa: B006
    ratio: float | None = None,
    dry: bool = False,
    options: dict[str, int] = {},  # noqa: B006
) -> str:
    """Builds a report of the figures of a region."""
    return render(collect(region, limit), title)
