"""Looks through a workflow folder, and decides which of its files are due to be read: pure but for the look."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from turnout.runner.workflow_files import BASES, YAML_SUFFIXES

MAX_FILES = 10_000
"""Files of one folder; further ones are left out, with a warning."""
MAX_DEPTH = 8
"""Folders below a workflow folder; deeper ones are left out."""
MAX_FILE_BYTES = 1 << 20


class Stamp(msgspec.Struct, frozen=True):
    """What changes when a file is written or replaced."""

    modified: int
    size: int
    inode: int


Stamps = Mapping[str, Stamp]
"""Files by their paths relative to the folder, with ``/``."""


def look(folder: Path) -> dict[str, Stamp] | None:
    """Returns the workflow files of a folder; None if the folder cannot be read.

    Hidden files and folders are left out, as are Python files whose names begin with ``_``. Links to files are
    followed (a mounted ConfigMap consists of them), links to folders are not."""
    try:
        return dict(_limited(_walk(folder, "", 0)))
    except OSError:
        return None


def _limited(found: Iterable[tuple[str, Stamp]]) -> Iterator[tuple[str, Stamp]]:
    for number, each in enumerate(found):
        if number == MAX_FILES:
            return
        yield each


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Stamp]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            name = f"{prefix}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < MAX_DEPTH:
                        yield from _walk(Path(entry.path), f"{name}/", depth + 1)
                elif is_workflow_file(entry.name) and entry.is_file():
                    facts = entry.stat()
                    yield name, Stamp(facts.st_mtime_ns, facts.st_size, facts.st_ino)
            except OSError:
                continue  # it was removed meanwhile, or is a link to nothing


def is_workflow_file(name: str) -> bool:
    """True if a file of this name may define workflows, or is the base of others."""
    return name.endswith(YAML_SUFFIXES) or (name.endswith(".py") and not name.startswith("_"))


class Due(msgspec.Struct, frozen=True):
    """What is to be done after a look at a folder."""

    changed: tuple[str, ...] = ()
    """Files to be read, in order of their names."""
    gone: tuple[str, ...] = ()
    base: bool = False
    """True if the base of the YAML files is another than before: all of them are to be read."""


def due(done: Stamps, before: Stamps, now: Stamps, *, settle: bool = True) -> Due:
    """Returns what differs from what was done last. A file that is being written changes from one look to the next: it
    is due when two looks in a row see the same, unless ``settle`` is off."""
    settled = {name for name, stamp in now.items() if not settle or before.get(name) == stamp}
    changed = sorted(name for name in settled if done.get(name) != now[name])
    # An editor that replaces a file removes it for a moment.
    gone = sorted(name for name in done if name not in now and (not settle or name not in before))
    base = any(name in BASES for name in (*changed, *gone))
    return Due(
        tuple(name for name in changed if name not in BASES),
        tuple(name for name in gone if name not in BASES),
        base,
    )


def read_settled(path: Path, stamp: Stamp) -> str | None:
    """Returns the text of a file; None if it is not, or no longer, the file that the stamp is of. Raises OSError, and
    UnicodeDecodeError if it is not UTF-8."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
        facts = os.fstat(file.fileno())
    if Stamp(facts.st_mtime_ns, facts.st_size, facts.st_ino) != stamp:
        return None
    return data.decode("utf-8-sig")
