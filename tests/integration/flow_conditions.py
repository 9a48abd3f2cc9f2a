"""Predicates that deferred tasks of the tests wait for: importable, as another process would have to import them."""

from __future__ import annotations

from pathlib import Path


def exists(path: str) -> bool:
    return Path(path).exists()


async def exists_async(path: str) -> bool:
    return Path(path).exists()


def breaks() -> bool:
    raise OSError("the disk is gone")
