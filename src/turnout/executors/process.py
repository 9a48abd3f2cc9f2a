"""Where is the executor of processes found? Here; how it runs bodies is in ``bodies``, since workers do so too."""

from __future__ import annotations

from turnout.bodies.in_processes import ProcessExecutor

__all__ = ["ProcessExecutor"]
