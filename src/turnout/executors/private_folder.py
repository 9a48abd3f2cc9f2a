"""Keeps files that only this user can read for the time of one command."""

from __future__ import annotations

import os
import shutil
import tempfile


class PrivateFolder:
    """A folder that only this user can read. It is removed at the end, with all that is in it."""

    def __enter__(self) -> PrivateFolder:
        self.path = tempfile.mkdtemp(prefix="turnout-")
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def write(self, name: str, text: str, mode: int) -> str:
        path = os.path.join(self.path, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, name: str) -> str:
        try:
            with open(os.path.join(self.path, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""
