"""Writes the documents of requests and mails of a step, for the programs that send them."""

from __future__ import annotations

from typing import Any

from turnout.errors import CommandFailed
from turnout.executors.step_environment import StepEnvironment
from turnout.model.interpolation import as_text
from turnout.model.step import Mail, Request
from turnout.model.step_values import value_of


async def http_document(request: Request, environment: StepEnvironment, *, contained: bool) -> dict[str, Any]:
    """Returns the request with its references resolved."""
    values = {**environment.variables, **environment.values}
    body = None if request.body is None else value_of(request.body, values)
    headers = {name: await environment.fill(text) for name, text in request.headers.items()}
    if body is not None and not isinstance(body, str):
        headers = {"Content-Type": "application/json", **headers}
    return {
        "url": await environment.fill(request.url),
        "method": request.method,
        "headers": headers,
        "body": None if body is None else as_text(body),
        "expected": request.expected,
        "public_only": contained or request.public_only,
        "private_hosts": request.private_hosts,
        "sign": None if request.sign is None else await environment.fill(request.sign),
        "follow": request.follow,
        "max_response": request.max_response,
        "timeout": request.timeout,
    }


async def mail_document(mail: Mail, environment: StepEnvironment) -> dict[str, Any]:
    """Returns the mail with its references resolved. Raises CommandFailed if no server is configured that takes it."""
    if not mail.host:
        raise CommandFailed(
            "no server for mail is configured: set host and from in [notifications.smtp] of the program that starts "
            "deliveries",
            code="smtp_not_configured",
        )
    return {
        "host": mail.host,
        "port": mail.port,
        "security": mail.security,
        "username": mail.username,
        "password": None if mail.password is None else await environment.fill(mail.password),
        "from": mail.sender,
        "to": mail.to,
        "subject": await environment.fill(mail.subject),
        "text": await environment.fill(mail.text),
        "message_id": await environment.fill(mail.message_id),
        "timeout": mail.timeout,
    }
