"""Where is the executor of threads found? Here; how it runs bodies is in ``bodies``, since workers do so too."""

from __future__ import annotations

from turnout.bodies.in_threads import ThreadExecutor

__all__ = ["ThreadExecutor"]
