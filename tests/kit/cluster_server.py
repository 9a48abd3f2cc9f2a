"""An API server for tests: the requests that the Kubernetes executor makes, and the failures of real servers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.kit.cluster_state import ClusterState, Conflict, Json, selector_of

NAMESPACE = "default"


class Fault(NamedTuple):
    """The next request of this kind is answered with a failure."""

    method: str
    plural: str
    status: int
    retry_after: str = ""
    after: bool = False
    """The request is served, and its answer is lost."""
    in_stream: bool = False
    """Of a watch: it is opened, and then an event says the failure."""


VERBS = {"POST": "create", "DELETE": "delete"}


class Request(NamedTuple):
    method: str
    plural: str
    name: str
    query: dict[str, str]
    at: float = 0.0
    """When it came, by the monotonic clock."""

    @property
    def watches(self) -> bool:
        return self.query.get("watch") == "true"

    @property
    def verb(self) -> str:
        """The right that a role needs for it."""
        if self.method in VERBS:
            return VERBS[self.method]
        return "watch" if self.watches else "get" if self.name else "list"


class ClusterServer:
    """Serves one ``ClusterState`` on a port of this machine."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.faults: list[Fault] = []
        self.served: list[tuple[Request, int]] = []
        self.deleted: list[str] = []
        """Names of Jobs whose deletion was requested."""
        self.lists: dict[int, list[Json]] = {}
        """Lists of which not all pages were read, by their version."""
        self.on_page: Callable[[], object] = lambda: None
        """Called when a page is sent that is not the last."""
        self.watches = 0
        self.generation = 0
        """Watches of an earlier one are cut off."""
        server = self

        class Handler(_Handler):
            owner: ClassVar[ClusterServer] = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.drop_watches()
        self._http.shutdown()
        self._http.server_close()

    def drop_watches(self) -> None:
        """Cuts every watch off, as a load balancer does."""
        with self.state.changed:
            self.generation += 1
            self.state.changed.notify_all()

    def fail(self, method: str, plural: str, status: int, times: int = 1, **more: Any) -> None:
        with self.state.changed:
            self.faults += [Fault(method, plural, status, **more)] * times

    def fault_for(self, request: Request) -> Fault | None:
        with self.state.changed:
            method = "WATCH" if request.watches else request.method
            for fault in self.faults:
                if (fault.method, fault.plural) == (method, request.plural):
                    self.faults.remove(fault)
                    return fault
            return None

    def count(self, method: str, plural: str, status: int | None = None) -> int:
        return sum(
            request.method == method and request.plural == plural and status in (None, answered)
            for request, answered in list(self.served)
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ClassVar[ClusterServer]

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        request = self._request()
        if (fault := self.owner.fault_for(request)) is not None and not fault.in_stream:
            self._fail(request, fault)
        elif request.watches:
            self._watch(request, fault)
        elif request.name:
            item = self.owner.state.get(request.plural, request.name)
            self._answer(request, 200, item) if item is not None else self._status(request, 404, "NotFound")
        else:
            self._list(request)

    def do_POST(self) -> None:
        request, item = self._request(), self._body()
        fault = self.owner.fault_for(request)
        if fault is not None and not fault.after:
            self._fail(request, fault)
            return
        try:
            made = self.owner.state.create(request.plural, item)
        except Conflict:
            self._status(request, 409, "AlreadyExists")
            return
        if fault is not None:
            self._fail(request, fault)
        else:
            self._answer(request, 201, made)

    def do_DELETE(self) -> None:
        request = self._request()
        self._body()
        if (fault := self.owner.fault_for(request)) is not None:
            self._fail(request, fault)
        elif self.owner.state.get(request.plural, request.name) is None:
            self._status(request, 404, "NotFound")
        else:
            self.owner.deleted.append(request.name)
            self.owner.state.remove(request.plural, request.name)
            self._answer(request, 200, {"kind": "Status", "status": "Success"})

    def _list(self, request: Request) -> None:
        """Answers with one page. Later pages are those of the first, for as long as its version is remembered."""
        state, limit = self.owner.state, int(request.query.get("limit", 0))
        with state.changed:
            if token := request.query.get("continue"):
                version, start = (int(part) for part in token.split("."))
                items = self.owner.lists[version]
            else:
                version, start = state.version, 0
                items = state.all(request.plural, selector_of(request.query.get("labelSelector", "")))
            expired = version < state.compacted
            end = start + limit if limit else len(items)
            more = {"continue": f"{version}.{end}"} if end < len(items) else {}
            if more:
                self.owner.lists[version] = items
                self.owner.on_page()
        if expired:
            self._status(request, 410, "Expired")
            return
        metadata = {"resourceVersion": str(version), **more}
        self._answer(request, 200, {"kind": "List", "metadata": metadata, "items": items[start:end]})

    # -- answers ----------------------------------------------------------------------------------------------------
    def _request(self) -> Request:
        parts = urlsplit(self.path)
        path = parts.path.strip("/").split("/")
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if "namespaces" not in path:
            return Request(self.command, path[-1], "", query, time.monotonic())
        assert path[path.index("namespaces") + 1] == NAMESPACE
        plural, *name = path[path.index("namespaces") + 2 :]
        return Request(self.command, plural, name[0] if name else "", query, time.monotonic())

    def _body(self) -> Json:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def _answer(self, request: Request, status: int, body: Json | None, headers: dict[str, str] | None = None) -> None:
        self.owner.served.append((request, status))
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _status(self, request: Request, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        self._answer(request, status, _status(status, reason), headers)

    def _fail(self, request: Request, fault: Fault) -> None:
        if fault.status == 0:
            self.owner.served.append((request, 0))
            self.close_connection = True
            self.connection.close()
            return
        self._status(request, fault.status, "Injected", {"Retry-After": fault.retry_after} if fault.retry_after else {})

    # -- watches ----------------------------------------------------------------------------------------------------
    def _watch(self, request: Request, fault: Fault | None) -> None:
        state, selector = self.owner.state, selector_of(request.query.get("labelSelector", ""))
        version = int(request.query["resourceVersion"])
        self.owner.served.append((request, 200))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with self._open_watch() as generation:
            if fault is not None:
                self._chunk({"type": "ERROR", "object": _status(fault.status, "Injected")})
                self._last_chunk()
                return
            while True:
                with state.changed:
                    if self.owner.generation != generation:
                        self.close_connection = True
                        return
                    changes = state.since(request.plural, version, selector)
                if changes is None:
                    self._chunk({"type": "ERROR", "object": _status(410, "Expired")})
                    self._last_chunk()
                    return
                for change in changes:
                    version = change.version
                    self._chunk({"type": change.kind, "object": change.item})
                with state.changed:
                    quiet = not state.changed.wait_for(partial(self._has_news, version, generation), 0.2)
                    version = state.version if quiet else version
                if quiet and request.query.get("allowWatchBookmarks") == "true":
                    item = {"kind": "Pod", "metadata": {"resourceVersion": str(version)}}
                    self._chunk({"type": "BOOKMARK", "object": item})

    def _has_news(self, version: int, generation: int) -> bool:
        return self.owner.state.version > version or self.owner.generation != generation

    @contextmanager
    def _open_watch(self) -> Iterator[int]:
        with self.owner.state.changed:
            self.owner.watches += 1
            generation = self.owner.generation
        try:
            yield generation
        except OSError:
            self.close_connection = True
        finally:
            with self.owner.state.changed:
                self.owner.watches -= 1

    def _chunk(self, event: Json) -> None:
        content = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()

    def _last_chunk(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def _status(code: int, reason: str) -> Json:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": f"{reason} ({code})"}
