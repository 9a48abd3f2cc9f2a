"""Bodies of answers about log lines."""

from __future__ import annotations

import msgspec

from turnout.model.logs import LogLine


class LogPage(msgspec.Struct, frozen=True, kw_only=True):
    """Lines in the order in which they became readable. ``next`` is the cursor of the next page; null: these are all
    that there are now."""

    lines: list[LogLine]
    next: str | None = None
