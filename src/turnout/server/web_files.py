"""Reads the built files of the web interface: package data, absent from a checkout that did not build it."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Mapping
from pathlib import Path

import msgspec

FOLDER = Path(__file__).resolve().parent / "static" / "ui"
PAGE = "index.html"
ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""Compressed forms of a file by their name in HTTP, the smallest first."""
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
}
HASHED = "assets/"
"""Files below it have a hash of their content in their names: they never change."""


class WebFile(msgspec.Struct, frozen=True):
    """One file as it is sent."""

    content: bytes
    media_type: str
    encoding: str | None
    hashed: bool


class WebFiles:
    """The files of one built interface."""

    def __init__(self, folder: Path) -> None:
        self._names = frozenset(
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix and path.is_file()
        )
        self._folder = folder
        self._page = (folder / PAGE).read_text(encoding="utf-8")
        self._read: dict[str, bytes] = {}
        self.build = hashlib.sha256(self._page.encode()).hexdigest()[:12]
        """Tells builds apart: the page names its scripts by their hashes."""

    def file(self, name: str, accepted: str) -> WebFile | None:
        """Returns the file with this path below the folder, compressed if the header Accept-Encoding allows it."""
        suffix = Path(name).suffix
        if name not in self._names or name == PAGE or suffix not in MEDIA_TYPES:
            return None
        wanted = {each.partition(";")[0].strip() for each in accepted.lower().split(",")}
        encoding = next((each for each in ENCODINGS if each in wanted and name + ENCODINGS[each] in self._names), None)
        content = self._content(name + (ENCODINGS[encoding] if encoding else ""))
        return WebFile(content, MEDIA_TYPES[suffix], encoding, name.startswith(HASHED))

    def page(self, values: Mapping[str, str], root: str) -> bytes:
        """Returns the page with these values as ``<meta name="turnout-…">``; its files are below ``root``."""
        metas = "".join(
            f'<meta name="turnout-{name}" content="{html.escape(value, quote=True)}">' for name, value in values.items()
        )
        below = self._page.replace('"./', f'"{html.escape(root, quote=True)}/')
        return below.replace("</head>", f"{metas}</head>", 1).encode()

    def _content(self, name: str) -> bytes:
        known = self._read.get(name)
        if known is None:
            known = self._read[name] = (self._folder / name).read_bytes()
        return known


def installed_files(folder: Path = FOLDER) -> WebFiles | None:
    """Returns the files of the interface; None if it was not built."""
    return WebFiles(folder) if (folder / PAGE).is_file() else None
