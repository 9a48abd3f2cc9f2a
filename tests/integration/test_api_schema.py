"""The OpenAPI document against the server: every operation succeeds once, and generated requests break nothing.

With ``TURNOUT_FAULTS=full`` there are more than 5,000 generated cases; otherwise a few of each operation.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS, GATE
from tests.kit.api_seeds import Seeds, prepared, seeded
from tests.kit.waiting import until
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.worker import Handlers, Worker, WorkerSettings

FULL = os.environ.get("TURNOUT_FAULTS") == "full"
VALID, INVALID, ANONYMOUS = (60, 40, 10) if FULL else (4, 3, 1)
"""Cases of each operation: that fit the document, that do not, and of those that fit the ones sent anonymously too."""
OPEN = {"healthz", "readyz", "sign_in", "deliver_hook"}
STREAMS = "text/event-stream"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApi]:
    GATE.clear()
    database = f"sqlite:///{tmp_path_factory.mktemp('schema')}/turnout.db"
    with running_api(database, workflows=FLOWS, hub="tcp://127.0.0.1:0", definitions=DefinitionSettings()) as running:
        handlers = Handlers()
        handlers.add("echo", lambda value: value)
        worker = Worker(handlers, WorkerSettings(connect=(str(running.runner.hub),), name="w1", labels={"zone": "a"}))
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        until(lambda: running.client("admin").get("/api/v1/workers").json()["workers"])
        yield running
        GATE.set()
        worker.stop()
        thread.join(30)


@pytest.fixture(scope="module")
def seeds(api: RunningApi) -> Seeds:
    return seeded(api)


@pytest.fixture(scope="module")
def document(api: RunningApi) -> dict[str, Any]:
    return api.client("admin").get("/api/openapi.json").json()


def operations(document: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def check_problem(status: int, content_type: str, body: Any) -> None:
    assert status < 500, body
    assert content_type == "application/problem+json", body
    assert body["status"] == status and body["code"] and body["detail"] and body["title"], body
    assert body["type"] == f"urn:turnout:problem:{body['code']}"


def test_every_operation_is_described(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    ids = Counter(operation["operationId"] for methods in document["paths"].values() for operation in methods.values())
    assert len(ids) >= 50 and max(ids.values()) == 1
    for name, (_, path, operation) in operations(document).items():
        assert operation.get("summary") and operation.get("description") and operation.get("tags"), name
        if not path.startswith("/api/v1/") or name in ("sign_in", "sign_out", "get_session"):
            continue
        if "requestBody" in operation and path.startswith(("/api/v1/runs", "/api/v1/routing", "/api/v1/workers")):
            assert examples_of(document, operation["requestBody"]), name
        errors = {status for status in operation["responses"] if status >= "400"}
        assert {"401", "403", "429", "503"} <= errors, (name, errors)
        for status in errors:
            assert "application/problem+json" in operation["responses"][status]["content"], (name, status)


def examples_of(document: dict[str, Any], body: dict[str, Any]) -> list[Any]:
    """The examples of the type of a body, which may be optional."""
    schema = body["content"]["application/json"]["schema"]
    references = [each["$ref"] for each in (schema, *schema.get("oneOf", ())) if "$ref" in each]
    schemas = document["components"]["schemas"]
    return [each for reference in references for each in schemas[reference.rpartition("/")[2]].get("examples", ())]


def test_every_operation_answers_with_success_once(api: RunningApi, seeds: Seeds, document: dict[str, Any]) -> None:
    failed: dict[str, str] = {}
    # The worker leaves when it is drained.
    names = sorted(operations(document), key=lambda name: name == "drain_worker")
    for name in names:
        method, _, operation = operations(document)[name]
        with (
            prepared(name, api, seeds) as request,
            api.client(request.role).stream(
                method, request.path, json=request.json, params=dict(request.params), headers=dict(request.headers)
            ) as answer,
        ):
            if not 200 <= answer.status_code < 300:
                failed[name] = f"{answer.status_code} {answer.read().decode()}"
            elif str(answer.status_code) not in operation["responses"]:
                failed[name] = f"{answer.status_code} is not in the document"
    assert failed == {}


def test_generated_requests_are_answered_or_refused_with_a_problem_document(
    api: RunningApi, seeds: Seeds, document: dict[str, Any]
) -> None:
    GATE.set()  # what they start does not wait
    statuses: Counter[str] = Counter()
    sender = Sender(api, seeds, statuses)
    schema = schemathesis.openapi.from_dict(document)
    for result in schema.get_all_operations():
        operation = result.ok()
        sender.send_cases(operation, GenerationMode.POSITIVE, VALID, anonymous=ANONYMOUS)
        if operation.definition.raw.get("parameters") or operation.definition.raw.get("requestBody"):
            sender.send_cases(operation, GenerationMode.NEGATIVE, INVALID)
    print(f"{statuses.total()} cases: {dict(sorted(statuses.items()))}")
    assert statuses.total() > (5_000 if FULL else 250)
    assert all(statuses[kind] for kind in ("2xx", "4xx", "anonymous 401")), statuses
    assert api.client("viewer").get("/readyz").status_code == 200


class Sender:
    """Sends generated cases, and checks the answers."""

    def __init__(self, api: RunningApi, seeds: Seeds, statuses: Counter[str]) -> None:
        self._url = api.url
        self._seeds = seeds
        self._statuses = statuses
        self._session = requests.Session()
        self._token = api.token("admin", "generated")

    def send_cases(self, operation: Any, mode: GenerationMode, count: int, *, anonymous: int = 0) -> None:
        """``anonymous``: how many of the cases are sent without a token first."""
        numbers = itertools.count()

        @given(case=operation.as_strategy(generation_mode=mode), known=st.randoms(use_true_random=False))
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        def send(case: Any, known: Any) -> None:
            self._seed(case, known)
            if next(numbers) < anonymous:
                self._send(case, anonymous=True)
            self._send(case, anonymous=False)

        send()

    def _seed(self, case: Any, known: Any) -> None:
        """Names things that exist, in most cases."""
        for name in case.path_parameters or {}:
            if name in self._seeds.values and known.random() < 0.7:
                case.path_parameters[name] = known.choice(self._seeds.values[name])
        if isinstance(case.body, dict) and "workflow" in case.body and known.random() < 0.7:
            case.body |= {"workflow": known.choice(self._seeds.values["workflow"]), "input": {"n": 1}}
        if isinstance(case.query, dict) and "wait" in case.query and case.query["wait"] is not None:
            case.query["wait"] = 0.01

    def _send(self, case: Any, *, anonymous: bool) -> None:
        request = case.as_transport_kwargs(base_url=self._url)
        headers = {name: value for name, value in request.pop("headers").items() if name.lower() != "authorization"}
        if not anonymous:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            answer = self._session.request(**request, headers=headers, stream=True, timeout=30)
        except (requests.exceptions.InvalidHeader, requests.exceptions.InvalidURL, UnicodeError):
            return  # no client can send it
        with answer:
            content_type = answer.headers.get("content-type", "")
            name = case.operation.definition.raw["operationId"]
            if answer.status_code >= 400:
                check_problem(answer.status_code, content_type, answer.json())
            elif not content_type.startswith(STREAMS):
                assert answer.content is not None
            kind = f"{answer.status_code // 100}xx"
            if anonymous:
                assert name in OPEN or answer.status_code in (400, 401, 404, 405, 413, 415), (name, answer.status_code)
                kind = f"anonymous {answer.status_code}"
            self._statuses[kind] += 1


def test_a_body_that_is_no_json_is_refused_by_every_operation_that_takes_one(
    api: RunningApi, document: dict[str, Any]
) -> None:
    client = api.client("admin")
    for name, (method, path, operation) in operations(document).items():
        if "requestBody" in operation:
            target = path.replace("{", "").replace("}", "")
            for body in (b"{", b"\xff", b"[]", b'{"a":1}', b'"' + b"\\ud800" + b'"'):
                answer = client.request(
                    method, target, content=body, headers={"Content-Type": "application/json", "If-None-Match": "*"}
                )
                check_problem(answer.status_code, answer.headers["content-type"], _json(answer))
                # The generated cases before this test may have used up the attempts at unknown webhooks of an address.
                limited = answer.status_code == 429 and answer.json()["code"] == "too_many_unknown_webhooks"
                assert limited or answer.status_code in (400, 404, 415, 422), (name, body, answer.text)


def _json(answer: httpx.Response) -> Any:
    return answer.json()
