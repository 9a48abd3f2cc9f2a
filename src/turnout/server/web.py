"""Serves the web interface in front of the API: its page for the paths of pages, and its files."""

from __future__ import annotations

import secrets

from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from turnout.server.answer import SECURITY_HEADERS
from turnout.server.exchange import exchange_of
from turnout.server.pages import static_file
from turnout.server.web_files import HASHED, WebFile, WebFiles

NOT_PAGES = frozenset({"api", "health", "healthz", "metrics", "readyz"})
"""First segments of paths that belong to the API."""
FOREVER = "public, max-age=31536000, immutable"
CHECKED = "no-cache"
HTML = "text/html; charset=utf-8"

Headers = list[tuple[bytes, bytes]]


class WebInterface:
    """Answers requests for pages and their files; passes on all others. ``files`` is None if it was not built."""

    def __init__(self, app: ASGIApp, files: WebFiles | None, version: str) -> None:
        self._app = app
        self._files = files
        self._version = version

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._answer(scope) if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        if found is None:
            await self._app(scope, receive, send)
            return
        headers, content = found
        sent = b"" if scope["type"] == "http" and scope["method"] == "HEAD" else content
        about = [*headers, (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": about})
        await send({"type": "http.response.body", "body": sent, "more_body": False})

    def _answer(self, scope: HTTPScope) -> tuple[Headers, bytes] | None:
        path = scope["path"]
        if path.partition("/")[2].partition("/")[0] in NOT_PAGES:
            return None
        if self._files is None:
            return (_headers(HTML, CHECKED), static_file("no-interface.html")) if path == "/" else None
        file = self._files.file(path.removeprefix("/"), _header(scope, b"accept-encoding"))
        if file is not None:
            return _file_headers(file), file.content
        # Files that are gone are no pages: a page of an older build learns that they are.
        if path.startswith(f"/{HASHED}") or (path != "/" and "text/html" not in _header(scope, b"accept")):
            return None
        return self._page(self._files, exchange_of(scope).root)

    def _page(self, files: WebFiles, root: str) -> tuple[Headers, bytes]:
        # Editors insert style sheets at run time: the nonce allows theirs, and nothing else that is inline.
        nonce = secrets.token_urlsafe(16)
        policy = SECURITY_HEADERS["content-security-policy"].replace(
            "style-src 'self'", f"style-src 'self' 'nonce-{nonce}'"
        )
        values = {"root": root, "version": self._version, "build": files.build, "nonce": nonce}
        headers = _headers(HTML, CHECKED)
        headers.append((b"content-security-policy", policy.encode()))
        return headers, files.page(values, root)


def _header(scope: HTTPScope, name: bytes) -> str:
    return ",".join(value.decode("latin-1") for each, value in scope["headers"] if each == name)


def _file_headers(file: WebFile) -> Headers:
    headers = _headers(file.media_type, FOREVER if file.hashed else CHECKED)
    headers.append((b"vary", b"accept-encoding"))
    if file.encoding is not None:
        headers.append((b"content-encoding", file.encoding.encode()))
    return headers


def _headers(media_type: str, cache: str) -> Headers:
    return [(b"content-type", media_type.encode()), (b"cache-control", cache.encode())]
