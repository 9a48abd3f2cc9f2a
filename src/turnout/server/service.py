"""Runs the server of the API in a thread of its own, beside the orchestrator of the same process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn

from turnout.errors import InvalidSetting, TurnoutError
from turnout.model.durations import seconds
from turnout.runner.server_settings import ServerSettings
from turnout.server.app import asgi_app
from turnout.server.bind import url_of
from turnout.server.context import ServerContext
from turnout.server.protocol import protocol_of

log = logging.getLogger("turnout.server")

KEEP_ALIVE = 30
"""Seconds that an idle connection is kept."""
START_TIMEOUT = 10.0
TICK = 1.0
"""Seconds between two updates of the date in answers."""
ANSWER_TIMEOUT = 1.0
"""Seconds in which requests that were given up are answered."""
BACKLOG = 1_024


class IdleServer(uvicorn.Server):
    """A server that wakes once a second while it is idle, for the date in its answers, instead of ten times."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stop = asyncio.Event()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._stop.wait()

    def stop(self) -> None:
        """Ends the main loop. Called on the server's loop."""
        self.should_exit = True
        self._stop.set()


class ApiServer:
    """Serves requests from ``start`` until ``stop``."""

    def __init__(self, context: ServerContext, listener: socket.socket) -> None:
        self._context = context
        self._listener = listener
        self.url = url_of(listener, context.settings)
        self._server = IdleServer(_uvicorn_config(context))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="turnout-server", daemon=True)

    def start(self) -> None:
        """Returns once requests are served."""
        self._context.run_metrics.begin()
        self._thread.start()
        if not self._running.wait(START_TIMEOUT) or self._failure is not None:
            raise TurnoutError("the server of the API did not start; its log has the cause", code="server_failed")

    def drain(self) -> None:
        """Answers requests for as long as a drain takes, so that callers learn that the server stops: streams are told
        to reconnect, waits for runs end, and new runs are refused."""
        if self._call(self._context.stop):
            self._thread.join(self._context.shutdown.drain_time(len(self._server.server_state.connections)))

    def stop(self) -> None:
        """Tells streams to reconnect, lets open requests finish within their grace, and ends."""
        if self._call(self._context.stop) and self._call(self._server.stop):
            self._thread.join(seconds(self._context.settings.stop_grace) + START_TIMEOUT)
        self._listener.close()
        self._context.close()

    def _call(self, call: Callable[[], object]) -> bool:
        """Calls on the server's loop. Returns False if the loop has ended by itself, or never began."""
        if self._loop is None or not self._thread.is_alive():
            return False
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            return False
        return True

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except (Exception, SystemExit) as error:
            log.exception("the server of the API has failed")
            self._failure = error
        finally:
            self._running.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        serving = asyncio.ensure_future(self._server.serve([self._listener]))
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.002)
        self._running.set()
        try:
            await serving
            if answers := set(self._server.server_state.tasks):  # of requests whose grace is over
                await asyncio.wait(answers, timeout=ANSWER_TIMEOUT)
        finally:
            await self._context.access.write_uses()


@contextlib.contextmanager
def served(context: ServerContext, listener: socket.socket) -> Iterator[ApiServer]:
    """Serves the API while the block runs."""
    server = ApiServer(context, listener)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _uvicorn_config(context: ServerContext) -> uvicorn.Config:
    settings: ServerSettings = context.settings
    config = uvicorn.Config(
        asgi_app(context),
        log_config=None,
        access_log=False,
        lifespan="off",
        http=protocol_of(settings),
        ws="none",
        proxy_headers=False,  # listed proxies only: turnout.server.caller
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=math.ceil(seconds(settings.stop_grace)),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )
    try:
        config.load()
    except OSError as error:
        raise InvalidSetting(
            f"the certificate or its key cannot be used: {error}",
            code="bad_certificate",
            field="server.tls_certificate",
        ) from error
    return config
