"""A database that Turnout creates is readable by its user alone; one that was there is left as it is."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnout.store import connect


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()}


def use(file: Path) -> None:
    store = connect(f"sqlite:///{file}")
    store.open()
    try:
        assert set(modes(file.parent)) >= {file.name, f"{file.name}-wal", f"{file.name}-shm"}
        assert set(modes(file.parent).values()) == {file.stat().st_mode & 0o777}, (
            "all files of a database have its mode"
        )
    finally:
        store.close()


def test_a_database_and_the_folders_that_are_created_for_it_are_private(tmp_path: Path) -> None:
    file = tmp_path / "project" / ".turnout" / "turnout.db"
    use(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert modes(tmp_path) == {"project": 0o700}
    assert modes(tmp_path / "project") == {".turnout": 0o700}


def test_a_folder_and_a_database_that_were_there_keep_their_permissions(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    os.chmod(folder, 0o770)
    file = folder / "turnout.db"
    file.touch(0o660)
    use(file)
    assert file.stat().st_mode & 0o777 == 0o660
    assert folder.stat().st_mode & 0o777 == 0o770


def test_the_target_of_a_link_is_created_private(tmp_path: Path) -> None:
    link = tmp_path / "link" / "turnout.db"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "real.db")
    connect(f"sqlite:///{link}").open()
    assert (tmp_path / "real.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("mode", "folder", "warned"), [(0o644, 0o755, True), (0o640, 0o755, False), (0o644, 0o700, False)]
)
def test_a_database_that_everybody_can_read_is_warned_about(
    caplog: pytest.LogCaptureFixture, mode: int, folder: int, warned: bool
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # pytest's own folders are private
        os.chmod(place, folder)
        file = Path(place) / "turnout.db"
        file.touch()
        os.chmod(file, mode)
        store = connect(f"sqlite:///{file}")
        with caplog.at_level(logging.WARNING, logger="turnout.store"):
            store.open()
        store.close()
    assert [record.getMessage().startswith("every user of this machine can read") for record in caplog.records] == (
        [True] if warned else []
    )
