"""What does a new project hold? The files beside this one, without their last suffix."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from turnout.errors import InvalidInput
from turnout.runner.config_files import FILES, config_files_in

SUFFIX = ".in"


def starter_files() -> dict[str, str]:
    """Name and content of each file."""
    here = files("turnout.cli.starter")
    found = sorted((each for each in here.iterdir() if each.name.endswith(SUFFIX)), key=lambda each: each.name)
    return {each.name.removesuffix(SUFFIX): each.read_text(encoding="utf-8") for each in found}


def write_starter(folder: Path) -> tuple[list[str], list[str]]:
    """Write what is not there yet; returns the names written, and those that were there.

    A configuration in another form stands for the one that would be written: two in one folder are refused.
    """
    written: list[str] = []
    kept: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        configured = [file.name for file in config_files_in(folder)]
        for name, text in starter_files().items():
            if name in FILES and configured:
                kept += configured
                continue
            try:
                with (folder / name).open("x", encoding="utf-8") as file:
                    file.write(text)
                written.append(name)
            except FileExistsError:
                kept.append(name)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written to: {error.strerror}", code="bad_folder") from error
    return written, kept
