"""``turnout init``: writes a project to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from turnout.cli.options import Json
from turnout.cli.output import print_json, print_line
from turnout.errors import InvalidInput


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where; it is made if it does not exist.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a workflow, its test, a turnout.toml and a README.

    Also a .gitignore. Files that exist are left as they are.

    \b
    turnout init shop && cd shop
    turnout run flows.py -p name=Ada
    """
    written, kept = write_starter(folder)
    if as_json:
        print_json({"folder": str(folder), "written": written, "kept": kept})
        return
    for name in written:
        print_line([("✓ ", "green"), (f"{folder / name}", "")])
    for name in kept:
        print_line([("· ", "dim"), (f"{folder / name} exists: left as it is", "dim")])
    print_line("\nnext:")
    if folder.resolve() != Path.cwd():
        print_line(f"  {shlex.join(('cd', str(folder)))}")
    print_line("  turnout run flows.py -p name=Ada")


SUFFIX = ".in"


def starter_files() -> dict[str, str]:
    """Returns the content of each file of the starter project, by name."""
    from importlib.resources import files

    here = files("turnout.cli") / "starter"
    found = sorted((each for each in here.iterdir() if each.name.endswith(SUFFIX)), key=lambda each: each.name)
    return {each.name.removesuffix(SUFFIX): each.read_text(encoding="utf-8") for each in found}


def write_starter(folder: Path) -> tuple[list[str], list[str]]:
    """Writes the files that do not exist. Returns the names written and the names that existed.

    A configuration file in another format replaces the one of the starter: two in one folder are refused.
    """
    from turnout.runner.config_sources import FILES, config_files_in

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
