"""Where is the executor of commands found? Here; how it runs bodies is in ``bodies``, since workers do so too."""

from __future__ import annotations

from turnout.bodies.in_commands import ShellExecutor

__all__ = ["ShellExecutor"]
