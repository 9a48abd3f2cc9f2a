"""An executor for functions behind an HTTP endpoint: it invokes them asynchronously and polls for their results.

An invocation is named by the attempt, so the endpoint starts it once, however often it is asked to. The function goes
on if the orchestrator dies; the next one finds the invocation by the same name.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from turnout.dispatcher import (
    ExecutionResult,
    ExecutorMetrics,
    ExecutorUnavailable,
    Loader,
    NoCapacity,
    TaskReadyEvent,
)

FIRST_POLL, LAST_POLL = 0.05, 1.0
"""Seconds between two polls: twice as long each time, up to the second."""
REQUEST_TIMEOUT = 10.0
ENDED = ("completed", "failed", "cancelled")
UNREADABLE = (OSError, http.client.HTTPException, ValueError)
"""No answer, one that breaks off, or one that is no JSON."""


class HttpFunctionExecutor:
    local = False
    kinds = frozenset({"handler"})

    def __init__(self, url: str, name: str = "functions", capacity: int = 100) -> None:
        self.name = name
        self.capacity = capacity
        self._url = urllib.request.Request(url).full_url.rstrip("/")  # raises if it is no address
        self._running = self._done = self._failed = 0

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def has_capacity(self) -> bool:
        return self._running < self.capacity

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(active_tasks=self._running, total_executed=self._done, total_failed=self._failed)

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        work = await self._loader.load(event)
        request = {
            "function": work.task.body.ref,
            "args": list(work.args),
            "kwargs": dict(work.kwargs),
            "idempotency_key": work.idempotency_key,
            "traceparent": work.traceparent,
        }
        work.begin_by()  # raises if another orchestrator may have the run by now
        await self._send("PUT", event, request)
        return await self._result(event) or ExecutionResult.lost(event, "the endpoint has forgotten the invocation")

    async def reattach(self, event: TaskReadyEvent) -> ExecutionResult | None:
        """Waits for an attempt that an orchestrator which has died began; None if the endpoint does not know it."""
        return await self._result(event)

    async def cancel(self, event: TaskReadyEvent) -> None:
        await self._send("DELETE", event)

    async def check(self) -> str | None:
        """Says for ``turnout doctor`` why the endpoint cannot be used; None if it can."""
        try:
            await asyncio.to_thread(_request, "GET", f"{self._url}/", None)
        except UNREADABLE as error:
            return f"{self._url} does not answer: {error}"
        return None

    async def _result(self, event: TaskReadyEvent) -> ExecutionResult | None:
        self._running += 1
        try:
            pause = FIRST_POLL
            while (found := await self._send("GET", event)) is not None and found.get("status") not in ENDED:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LAST_POLL)
        finally:
            self._running -= 1
        return None if found is None else self._as_result(event, found)

    def _as_result(self, event: TaskReadyEvent, found: dict[str, Any]) -> ExecutionResult:
        self._done += 1
        times: dict[str, Any] = {"started_at": found.get("started_at"), "finished_at": found.get("finished_at")}
        if found["status"] == "completed":
            return ExecutionResult.success(event, found.get("output"), **times)
        self._failed += 1
        if found["status"] == "cancelled":
            return ExecutionResult.cancelled(event)
        return ExecutionResult.failed(event, found.get("error", "the function failed"), **times)

    async def _send(self, method: str, event: TaskReadyEvent, body: Any = None) -> dict[str, Any] | None:
        """Returns what the endpoint answers about the invocation of this attempt; None if it does not know it. A
        request without a readable answer is sent again: the function may have begun, and its name is the same."""
        url = f"{self._url}/invocations/{quote(f'{event.task_id}:{event.attempt}', safe='')}"
        may_have_begun = method != "PUT"
        while True:
            try:
                return await asyncio.to_thread(_request, method, url, body)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 404 and may_have_begun:
                    return None
                if not may_have_begun and error.code == 429:
                    raise NoCapacity("the endpoint takes nothing more at present") from error
                if not may_have_begun and error.code < 500:
                    raise
            except UNREADABLE as error:
                if not may_have_begun and isinstance(getattr(error, "reason", None), ConnectionRefusedError):
                    raise ExecutorUnavailable(f"{self._url} refuses connections") from error
            may_have_begun = True
            await asyncio.sleep(LAST_POLL)


def _request(method: str, url: str, body: Any) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT) as answer:
        found = json.loads(answer.read())
    if not isinstance(found, dict):
        raise ValueError(f"{method} {url}: the answer is no object")
    return found
