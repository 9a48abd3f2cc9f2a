"""Finds and reads YAML workflow files: the text of each, and that of the base beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from turnout.errors import InvalidTarget

YAML_SUFFIXES = (".yaml", ".yml")
BASES = ("base.yaml", "base.yml")
"""Names of the file in a folder that the workflow files of the folder inherit from."""
CONFIGURATIONS = ("turnout.yaml", "turnout.yml")
MAX_FILE_BYTES = 4 << 20


class WorkflowFile(msgspec.Struct, frozen=True):
    """The text of one workflow file."""

    path: Path
    text: str
    base: str | None = None
    """The text of the base that it inherits from."""

    @property
    def name(self) -> str:
        """The default name of its workflow."""
        return self.path.stem


def is_workflow_file(target: str) -> bool:
    """True if the target is the path of a YAML workflow file, by its ending."""
    return target.endswith(YAML_SUFFIXES)


def read_workflow_file(path: Path, folder: Path | None = None) -> WorkflowFile:
    """Returns the text of a file, with the base of its folder, or of the workflow folder that it was found in. Raises
    InvalidTarget if it cannot be read."""
    base = base_of(path, folder)
    return WorkflowFile(path, _text(path), None if base is None else _text(base))


def base_of(path: Path, folder: Path | None = None) -> Path | None:
    """Returns the file that a workflow file inherits from."""
    if path.name in BASES:
        return None
    return next((each for name in BASES if (each := (folder or path.parent) / name).is_file()), None)


def files_of(folder: Path) -> Iterator[Path]:
    """Yields the workflow files of a folder and of those below it, in order. Hidden ones, bases, configurations, and
    Python files whose names begin with ``_`` are left out."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") or part == "__pycache__" for part in parts) or not path.is_file():
            continue
        in_yaml = path.suffix in YAML_SUFFIXES and path.name not in (*BASES, *CONFIGURATIONS)
        in_python = path.suffix == ".py" and not path.name.startswith("_")
        if in_yaml or in_python:
            yield path


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InvalidTarget(
                f"{path} has more than {MAX_FILE_BYTES:,} bytes", code="file_too_large", target=str(path)
            )
        return data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InvalidTarget(f"there is no file {path}", code="no_such_file", target=str(path)) from error
    except OSError as error:
        raise InvalidTarget(
            f"{path} cannot be read: {error.strerror}", code="unreadable_file", target=str(path)
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidTarget(
            f"{path} is not UTF-8, at byte {error.start:,}", code="unreadable_file", target=str(path)
        ) from error
