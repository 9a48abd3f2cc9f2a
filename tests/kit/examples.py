"""How many examples a property test gets that does not take what the profile says."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100


def examples(usual: int) -> int:
    """So many in the usual profile, and in the same proportion fewer or more in another."""
    return max(1, usual * settings.default.max_examples // USUAL)
