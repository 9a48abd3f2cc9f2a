"""Notifications by mail: through the same durable runs, with a login and encryption, and nothing secret left behind."""

from __future__ import annotations

import json
import logging
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.api import QUIET
from tests.kit.smtp_target import MailTarget, smtp_target
from tests.kit.waiting import until
from turnout import Notify, Runner, Workflow, task, workflow
from turnout.errors import InvalidSetting, InvalidWorkflow
from turnout.model.mail import SmtpSettings
from turnout.model.states import RunState
from turnout.runner.config import read_config
from turnout.runner.notification_settings import NotificationSettings
from turnout.runtime.supervised_process import MAIL_MESSAGE

PASSWORD = "correct-horse-battery"


@pytest.fixture
def target() -> Iterator[MailTarget]:
    with smtp_target() as made:
        yield made


def settings(target: MailTarget, **options: Any) -> NotificationSettings:
    given = {"host": "127.0.0.1", "port": target.port, "security": "none", "sender": "turnout@example.org", **options}
    return NotificationSettings(smtp=SmtpSettings(**given))


def runner(made: Workflow[..., Any], notifications: NotificationSettings | None, **options: Any) -> Runner:
    options = {"settings": QUIET, "config": False, **options}
    return Runner("sqlite:///:memory:", workflows=(made,), notifications=notifications, **options)


@task
def ship(order: int) -> int:
    if order < 0:
        raise ValueError("unknown\nBcc: everyone@example.org")
    return order


def flow(**options: Any) -> Workflow[..., Any]:
    options = {"on": ("success", "failure"), "retry_delay": "20ms", **options}

    @workflow(notify=Notify("mailto:ops@example.org,dev@example.org", **options))
    def fulfil(order: int) -> int:
        return ship(order)

    return fulfil


def failure(running: Runner) -> tuple[str | None, str, int]:
    """Returns code, message and attempts of the delivery, once it has ended."""
    until(lambda: [run for run in running.list(workflow="notify") if run.state.terminal])
    [sent] = running.list(workflow="notify")
    assert sent.state is RunState.FAILED
    [row] = running.core.store.tasks(sent.id)
    assert row.error is not None
    return row.error.code, row.error.message, row.attempt


def test_a_failure_arrives_by_mail_and_an_error_message_stays_out_of_the_headers(target: MailTarget) -> None:
    made = flow()
    with runner(made, settings(target)) as running:
        run = running.submit(made, -1)
        run.wait(30)
        [got] = target.wait()
        [delivery] = running.list(workflow="notify")
    assert (got.sender, got.to) == ("turnout@example.org", ["ops@example.org", "dev@example.org"])
    message = got.message
    assert message["Subject"] == f"run {run.id} of fulfil has failed" and message["Bcc"] is None
    assert message["To"] == "ops@example.org, dev@example.org" and message["Message-ID"] == f"<{delivery.id}@turnout>"
    text, _, data = message.get_content().replace("\r\n", "\n").rpartition("\n\n")
    assert "ship: ValueError: unknown" in text and json.loads(data)["run_id"] == run.id


def test_a_login_uses_the_secret_of_the_machine_and_leaves_no_trace_of_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", PASSWORD)
    made = flow()
    with caplog.at_level(logging.DEBUG), smtp_target(login=True) as target:
        login = settings(target, username="turnout", password="env:SMTP_PASSWORD")
        with runner(made, login) as running:
            running.run(made, 1)
            assert target.wait()[0].login == f"turnout:{PASSWORD}"
            until(lambda: running.list(workflow="notify")[0].state is RunState.COMPLETED)
            [sent] = running.list(workflow="notify")
            store = running.core.store
            stored = store.run(sent.id)
            assert stored is not None
            shown = f"{store.logs(sent.id)} {store.tasks(sent.id)} {store.workflow(stored.new.version)} {stored}"
    assert PASSWORD not in shown and PASSWORD not in caplog.text


def test_a_refused_login_has_its_own_code_and_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", PASSWORD)
    made = flow()
    with smtp_target(login=True) as target:
        target.answers = {"AUTH": ["535 who are you"]}
        with runner(made, settings(target, username="turnout", password="env:SMTP_PASSWORD")) as running:
            running.run(made, 1)
            code, message, attempts = failure(running)
    assert (code, attempts) == ("smtp_login_refused", 1) and "535 who are you" in message and PASSWORD not in message


def test_a_server_that_refuses_for_now_is_asked_again(target: MailTarget) -> None:
    target.answers = {"RCPT": ["451 later", "451 later"], "DATA": ["452 full"]}
    made = flow()
    with runner(made, settings(target)) as running:
        running.run(made, 1)
        assert len(target.wait()) == 1 and target.connections == 3


@pytest.mark.parametrize(
    ("answers", "options", "code", "words", "attempts"),
    [
        ({"RCPT": ["550 nobody here", "550 nobody here"]}, {}, "mail_refused", "550 nobody here", 1),
        ({"DATA": ["554 spam", "554 spam"]}, {}, "mail_refused", "554 spam", 1),
        ({"DATA": ["451 later"] * 2}, {}, "mail_deferred", "451 later", 2),
        ({"MAIL": [""] * 2}, {}, "request_timed_out", "has not taken the mail within 0.5 s", 2),
        ({}, {"security": "starttls"}, "mail_refused", "STARTTLS", 1),
        ({}, {"port": 9}, "no_connection", "refused", 2),
        ({}, {"host": "mail.invalid"}, "address_not_found", "not found", 2),
    ],
)
def test_each_failure_has_its_code(
    target: MailTarget,
    answers: dict[str, list[str]],
    options: dict[str, Any],
    code: str,
    words: str,
    attempts: int,
) -> None:
    target.answers = answers
    made = flow(retries=1, timeout="500ms" if code == "request_timed_out" else "10s")
    with runner(made, settings(target, **options)) as running:
        assert running.run(made, 1) == 1, "no run waits for its notification"
        found = failure(running)
        assert (found[0], found[2]) == (code, attempts) and words in found[1], found
        assert not target.received


def test_without_a_configured_server_the_delivery_says_so() -> None:
    made = flow()
    with runner(made, None) as running:
        running.run(made, 1)
        code, message, attempts = failure(running)
    assert (code, attempts) == ("smtp_not_configured", 1) and "[notifications.smtp]" in message


def test_mail_is_encrypted_by_starttls_and_only_to_a_server_with_a_known_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    made = flow(retries=0)
    with smtp_target(context) as target:
        encrypted = settings(target, host="localhost", security="starttls")
        with runner(made, encrypted) as running:
            running.run(made, 1)
            code, message, _ = failure(running)
            assert code == "no_connection" and "certificate" in message.lower() and not target.received
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with runner(made, encrypted) as running:
            running.run(made, 1)
            assert target.wait()[0].encrypted


def test_the_configuration_names_the_server(tmp_path: Path) -> None:
    (tmp_path / "turnout.toml").write_text(
        '[notifications.smtp]\nhost = "mail.example.org"\nfrom = "turnout@example.org"\nsecurity = "tls"\nport = 465\n'
    )
    found = read_config(tmp_path, {}).notifications.smtp
    assert found == SmtpSettings(host="mail.example.org", sender="turnout@example.org", security="tls", port=465)


@pytest.mark.parametrize("header", ["subject", "from", "message_id", "to"])
def test_a_line_end_in_a_header_is_refused(tmp_path: Path, target: MailTarget, header: str) -> None:
    request = {
        "host": "127.0.0.1",
        "port": target.port,
        "security": "none",
        "username": None,
        "password": None,
        "from": "turnout@example.org",
        "to": ["ops@example.org"],
        "subject": "run 1 has failed",
        "text": "it has failed",
        "message_id": "<1@turnout>",
        "timeout": 10,
    }
    injected = "x@example.org\r\nBcc: everyone@example.org"
    request[header] = [injected] if header == "to" else injected
    (tmp_path / "request.json").write_text(json.dumps(request))
    done = subprocess.run([sys.executable, "-I", MAIL_MESSAGE, tmp_path], check=False, capture_output=True, text=True)
    assert done.returncode == 55 and "cannot be written" in done.stderr and not target.connections
    assert not (tmp_path / "request.json").exists()


@pytest.mark.parametrize(
    ("notify", "field"),
    [
        (Notify("mailto:"), "url"),
        (Notify("mailto:ops"), "url"),
        (Notify("mailto:ops@example.org?subject=x"), "url"),
        (Notify("mailto:ops@example.org\nBcc: x@example.org"), "url"),
        (Notify("mailto:Ops <ops@example.org>"), "url"),
        (Notify("mailto:" + ",".join(["ops@example.org"] * 21)), "url"),
        (Notify("mailto:ops@example.org", secret="env:X"), "secret"),
        (Notify("mailto:ops@example.org", format="slack"), "format"),
    ],
)
def test_an_address_that_cannot_work_is_refused_where_it_is_written(notify: Notify, field: str) -> None:
    with pytest.raises(InvalidWorkflow) as found:

        @workflow(notify=notify)
        def fulfil(order: int) -> int:
            return ship(order)

    assert (found.value.code, found.value.fields["field"]) == ("bad_notification", f"notify[0].{field}")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"sender": ""}, "from"),
        ({"sender": "Turnout <turnout@example.org>"}, "from"),
        ({"host": "mail example.org"}, "host"),
        ({"port": 0}, "port"),
        ({"security": "ssl"}, "security"),
        ({"username": "turnout"}, "username"),
        ({"username": "turnout", "password": PASSWORD}, "password"),
        ({"username": "turnout", "password": "env:X", "security": "none", "host": "mail.example.org"}, "security"),
    ],
)
def test_settings_that_cannot_work_stop_the_start(given: dict[str, Any], field: str) -> None:
    wrong = NotificationSettings(smtp=SmtpSettings(**{"sender": "turnout@example.org", **given}))
    with pytest.raises(InvalidSetting) as found:
        runner(flow(), wrong)
    assert f"notifications.smtp.{field}" in found.value.message and PASSWORD not in found.value.message
