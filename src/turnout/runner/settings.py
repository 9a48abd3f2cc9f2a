"""Where does a Runner keep its runs, unless it is told? The one place that reads the environment."""

from __future__ import annotations

import os
from pathlib import Path

MARKERS = ("turnout.toml", "pyproject.toml")


def project_root(start: Path | None = None) -> Path:
    """The nearest folder upwards with a turnout.toml or pyproject.toml; else the working directory."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if any((folder / marker).is_file() for marker in MARKERS):
            return folder
    return here


def database_url(given: str | None = None) -> str:
    """The given URL, else ``TURNOUT_DATABASE``, else ``.turnout/turnout.db`` in the project."""
    return given or os.environ.get("TURNOUT_DATABASE") or f"sqlite:///{project_root() / '.turnout' / 'turnout.db'}"
