"""Builds the web interface into the wheel. Without node, and without a way to get it, the wheel has the API alone.

TURNOUT_BUILD_UI=require makes that an error; TURNOUT_BUILD_UI=skip takes
what was built before, if anything.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = Path("src/turnout/server/static/ui/index.html")
VARIABLE = "TURNOUT_BUILD_UI"
WISHES = ("try", "require", "skip")
WITHOUT = "the wheel is built without the web interface: its server has the API alone"


class InterfaceBuildHook(BuildHookInterface[Any]):
    """Runs ``tools/ui.py build`` before the files of a wheel are collected; editable installs take what is there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wish = os.environ.get(VARIABLE) or "try"
        if wish not in WISHES:
            raise ValueError(f"{VARIABLE} is {wish!r}: write one of {', '.join(WISHES)}")
        if version == "editable" or wish == "skip" or self._built():
            return
        if wish == "require":
            raise RuntimeError(f"{WITHOUT}, and {VARIABLE}=require asks for it; the reason is above")
        self.app.display_warning(WITHOUT)

    def _built(self) -> bool:
        """Builds the interface. Returns whether this tree has it now."""
        root = Path(self.root)
        done = subprocess.run([sys.executable, str(root / "tools" / "ui.py"), "build"], cwd=root, check=False)
        return done.returncode == 0 and (root / BUILT).is_file()
