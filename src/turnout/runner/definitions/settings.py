"""Declares how an orchestrator uses stored workflow definitions."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import msgspec


class DefinitionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Stored definitions are followed; these folders are imported into them and watched."""

    modules: tuple[ModuleType, ...] = ()
    """Modules whose tasks texts may name, beside those of the folders and of registered workflows."""
    folders: tuple[Path, ...] = ()
    allow_local_execution: bool = False
    """True: definitions that are uploaded may run on this machine, not only on workers."""
    reload: bool = False
    """True: changed files take effect at once, those in Python too."""
