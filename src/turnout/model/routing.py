"""Holds the row that the store keeps of the routing rules that all orchestrators share."""

from __future__ import annotations

import msgspec


class StoredRouting(msgspec.Struct, frozen=True):
    """The shared rules as they are stored."""

    version: int = 0
    """Counts the changes; 0: there was none yet."""
    config: str | None = None
    """The rules as JSON text; None: every orchestrator decides by those of its configuration."""
    updated_at: float | None = None
    updated_by: str | None = None
