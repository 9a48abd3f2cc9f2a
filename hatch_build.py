"""Builds the web interface into the wheel. Without node, and without a way to get it, the wheel has the API alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = Path("src/turnout/server/static/ui/index.html")


class InterfaceBuildHook(BuildHookInterface[Any]):
    """Runs ``tools/ui.py build`` before the files of a wheel are collected; editable installs take what is there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        script = root / "tools" / "ui.py"
        if version == "editable" or not script.is_file() or not (root / "ui" / "package.json").is_file():
            return
        done = subprocess.run([sys.executable, str(script), "build"], cwd=root, check=False)
        if done.returncode != 0 or not (root / BUILT).is_file():
            self.app.display_warning("the wheel is built without the web interface: its server has the API alone")
