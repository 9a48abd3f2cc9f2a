"""What a worker says of itself over HTTP."""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from kit.statuses import worker_status

from turnout.errors import InvalidSetting
from turnout.worker.status import HealthServer, exposition


def test_healthz_answers_well_while_a_hub_is_in_contact_and_badly_otherwise() -> None:
    now = [worker_status()]
    server = HealthServer(0, lambda: now[0])
    server.start()
    try:
        with urlopen(f"http://127.0.0.1:{server.port}/healthz") as answer:
            said = json.load(answer)
        assert said["status"] == "ok" and said["running"] == 1 and said["hubs"][0]["credits"] == 8
        now[0] = worker_status(in_contact=False)
        with pytest.raises(HTTPError) as caught:
            urlopen(f"http://127.0.0.1:{server.port}/healthz")
        assert caught.value.code == 503
        caught.value.close()
        now[0] = worker_status(in_contact=False, draining=True)
        with urlopen(f"http://127.0.0.1:{server.port}/healthz") as answer:
            assert answer.status == 200 and json.load(answer)["status"] == "draining"
        with urlopen(Request(f"http://127.0.0.1:{server.port}/healthz", method="HEAD")) as answer:
            assert answer.status == 200 and answer.read() == b""
        with urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
            assert answer.read().decode() == exposition(now[0])
        with pytest.raises(HTTPError) as caught:
            urlopen(f"http://127.0.0.1:{server.port}/else")
        caught.value.close()
    finally:
        server.close()


def test_a_port_that_cannot_be_had_is_refused_with_what_would_be_right() -> None:
    taken = HealthServer(0, worker_status)
    taken.start()
    try:
        for port, why in ((taken.port, "Address already in use"), (65_536, "from 0 to 65535")):
            with pytest.raises(InvalidSetting, match=why) as refused:
                HealthServer(port, worker_status)
            assert str(port) in str(refused.value) and refused.value.code == "bad_health_port"
    finally:
        taken.close()


def test_the_metrics_are_in_the_format_of_prometheus() -> None:
    lines = exposition(worker_status()).splitlines()
    assert "turnout_worker_running_steps 1" in lines
    assert 'turnout_worker_steps_total{outcome="completed"} 5' in lines
    assert 'turnout_worker_messages_total{hub="tcp://h:1",direction="received"} 2' in lines
