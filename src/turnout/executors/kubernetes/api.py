"""Speaks to the API server of a cluster: creates, reads, lists, watches and deletes, with failures as values.

Lightkube finds the cluster and the credentials. Objects stay as they come: a template may have fields that no model of
this version knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from lightkube.config.client_adapter import AsyncClient, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

from turnout.errors import InvalidSetting
from turnout.executors.kubernetes.watch_state import Failure

REQUEST_TIMEOUT = 10.0
WATCH_SECONDS = 290
"""Seconds after which the server ends a watch, so that one whose connection has died unnoticed is replaced."""
WATCH_SILENCE = WATCH_SECONDS + 30.0
PAGE = 500
"""Objects in one answer to a list."""
NOT_FOUND = 404
ERROR, OPENED = "ERROR", "OPENED"
"""An event of the server that ends a watch; and the first one of a watch here, which the server accepted."""

JOBS, PODS, SECRETS = "jobs", "pods", "secrets"
_PATHS = {JOBS: "apis/batch/v1", PODS: "api/v1", SECRETS: "api/v1"}
Json = dict[str, Any]


class ApiError(Exception):
    """Raised inside of this package when a request is not served."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ClusterApi:
    """One cluster and one namespace. Used on one event loop."""

    def __init__(self, config: SingleConfig, namespace: str | None = None) -> None:
        self.namespace = namespace or config.namespace
        self.server = config.cluster.server
        timeout = httpx2.Timeout(REQUEST_TIMEOUT)
        self._client = AsyncClient(config, ConnectionParams(timeout=timeout))

    @classmethod
    def of(cls, kubeconfig: str | None, context: str | None, namespace: str | None) -> ClusterApi:
        """Finds the cluster: the given file, else the account of this pod, ``KUBECONFIG`` or ``~/.kube/config``."""
        try:
            found = KubeConfig.from_env() if kubeconfig is None else KubeConfig.from_file(Path(kubeconfig).expanduser())
            config = found.get(context)
        except (ConfigError, OSError, KeyError, msgspec.ValidationError) as error:
            raise InvalidSetting(
                f"the cluster cannot be found: {error}; name a kubeconfig, or run in a pod with a service account",
                code="no_cluster",
            ) from error
        if config is None:
            raise InvalidSetting("the kubeconfig names no cluster: set its current-context", code="no_cluster")
        return cls(config, namespace)

    async def close(self) -> None:
        await self._client.aclose()

    # -- objects ------------------------------------------------------------------------------------------------
    async def create(self, kind: str, item: Mapping[str, Any]) -> Json:
        return await self._request("POST", self._path(kind), body=item)

    async def get(self, kind: str, name: str) -> Json:
        return await self._request("GET", f"{self._path(kind)}/{name}")

    async def delete(self, kind: str, name: str) -> None:
        """Deletes an object, and in the background what belongs to it. One that is gone already is no failure."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        try:
            await self._request("DELETE", f"{self._path(kind)}/{name}", body=body)
        except ApiError as error:
            if error.failure.status != NOT_FOUND:
                raise

    async def list(self, kind: str, selector: str) -> tuple[list[Json], str]:
        """Returns all objects with these labels, and the version of the list."""
        items: list[Json] = []
        params = {"labelSelector": selector, "limit": str(PAGE)}
        while True:
            page = await self._request("GET", self._path(kind), params=params)
            items += page.get("items") or []
            metadata: Json = page.get("metadata") or {}
            if not metadata.get("continue"):
                return items, str(metadata.get("resourceVersion", ""))
            params["continue"] = str(metadata["continue"])

    async def probe(self, kind: str) -> None:
        """Lists one object. Raises ApiError if the server does not answer, or does not allow that."""
        await self._request("GET", self._path(kind), params={"limit": "1"})

    async def watch(self, kind: str, selector: str, version: str) -> AsyncIterator[tuple[str, Json]]:
        """Yields ``OPENED``, then the kind and the object of every change after this version, bookmarks among them,
        until the server ends the watch. Raises ApiError for an event that is an error, too."""
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "labelSelector": selector,
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        timeout = httpx2.Timeout(REQUEST_TIMEOUT, read=WATCH_SILENCE)
        request = self._client.build_request("GET", self._path(kind), params=params, timeout=timeout)
        with _failures():
            response = await self._client.send(request, stream=True)
            try:
                if response.is_error:
                    await response.aread()
                    raise ApiError(_failure(response))
                yield OPENED, {}
                async for line in response.aiter_lines():
                    if not line.strip():
                        continue
                    event: Json = msgspec.json.decode(line)
                    item: Json = event.get("object") or {}
                    if event.get("type") == ERROR:
                        message = str(item.get("message", "the watch has failed"))
                        raise ApiError(Failure(item.get("code"), message, reason=str(item.get("reason", ""))))
                    yield str(event.get("type")), item
            finally:
                await response.aclose()

    def _path(self, kind: str) -> str:
        return f"{_PATHS[kind]}/namespaces/{self.namespace}/{kind}"

    async def _request(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> Json:
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        with _failures():
            response = await self._client.request(method, path, params=params, content=content, headers=headers)
            if response.is_error:
                raise ApiError(_failure(response))
            return msgspec.json.decode(response.content) if response.content else {}


@contextlib.contextmanager
def _failures() -> Any:
    """Turns what the client raises into ApiError."""
    try:
        yield
    except httpx2.HTTPError as error:
        raise ApiError(Failure(None, f"no answer: {error or type(error).__name__}")) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(Failure(None, f"an answer that is not JSON: {error}")) from error
    except OSError as error:
        raise ApiError(Failure(None, f"no answer: {error}")) from error


def _failure(response: httpx2.Response) -> Failure:
    """Returns the failure that an answer says, by its Status document if it has one."""
    message, reason = response.reason_phrase, ""
    try:
        document = msgspec.json.decode(response.content, type=Json)
        message, reason = str(document.get("message") or message), str(document.get("reason") or "")
    except (msgspec.DecodeError, msgspec.ValidationError):
        pass
    asked = response.headers.get("Retry-After", "")
    retry_after = float(asked) if asked.isascii() and asked.isdigit() else None
    return Failure(response.status_code, message, retry_after, reason)
