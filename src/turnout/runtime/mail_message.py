"""Sends one mail by SMTP: a program of its own, so that it can be ended like any other command.

It is run by its path and imports nothing of Turnout.

    python mail_message.py FOLDER

FOLDER has ``request.json``. The exit code is 0 if the server has taken the mail for all recipients, 6 if the server is
not found, 7 without a connection, 22 if the server refuses it for now, 55 if it refuses it for good, 67 if it refuses
the login, 28 if it has not taken the mail within the time of the request.
"""

from __future__ import annotations

import json
import os
import smtplib
import socket
import ssl
import sys
import threading
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any, NoReturn

NOT_FOUND, NO_CONNECTION, DEFERRED, TIMED_OUT, REFUSED, LOGIN_REFUSED = 6, 7, 22, 28, 55, 67
PERMANENT = 500
"""The first code of answers that another attempt would get too."""


def main(folder: str) -> int:
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request: dict[str, Any] = json.load(file)
    os.unlink(file.name)  # it may have a password
    place = f"{request['host']}:{request['port']}"
    _end_after(request["timeout"], place)
    try:
        message = _message(request)
    except ValueError as error:
        _failed(f"the mail cannot be written: {error}", REFUSED)
    try:
        _send(request, message)
    except smtplib.SMTPAuthenticationError as error:
        _failed(f"{place} refuses the login: {_answer(error)}", LOGIN_REFUSED)
    except smtplib.SMTPRecipientsRefused as error:
        code, text = next(iter(error.recipients.values()))
        who = ", ".join(error.recipients)
        _failed(f"{place} refuses {who}: {code} {_text(text)}", REFUSED if code >= PERMANENT else DEFERRED)
    except smtplib.SMTPResponseException as error:
        _failed(f"{place}: {_answer(error)}", REFUSED if error.smtp_code >= PERMANENT else DEFERRED)
    except smtplib.SMTPNotSupportedError as error:
        _failed(f"{place}: {error}", REFUSED)
    except socket.gaierror as error:
        _failed(f"{request['host']!r} is not found: {error}", NOT_FOUND)
    except (smtplib.SMTPException, OSError) as error:
        _failed(f"{place}: {error}", NO_CONNECTION)
    return 0


def _message(request: dict[str, Any]) -> EmailMessage:
    """Returns the mail. Raises ValueError for a line end in a header, which would begin another one."""
    message = EmailMessage()
    for name, value in {
        "From": request["from"],
        "To": ", ".join(request["to"]),
        "Subject": request["subject"],
        "Message-ID": request["message_id"],
        "Date": formatdate(),
        "Auto-Submitted": "auto-generated",
    }.items():
        message[name] = value
    message.set_content(request["text"])
    return message


def _send(request: dict[str, Any], message: EmailMessage) -> None:
    security, context = request["security"], ssl.create_default_context()
    address = (request["host"], request["port"])
    server = smtplib.SMTP_SSL(*address, context=context) if security == "tls" else smtplib.SMTP(*address)
    with server:
        if security == "starttls":
            server.starttls(context=context)
        if request["username"] is not None:
            server.login(request["username"], request["password"])
        refused = server.send_message(message, request["from"], request["to"])
    if refused:
        raise smtplib.SMTPRecipientsRefused(refused)


def _answer(error: smtplib.SMTPResponseException) -> str:
    return f"{error.smtp_code} {_text(error.smtp_error)}"


def _text(answer: bytes | str) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def _end_after(seconds: float, place: str) -> None:
    """Ends the program after this time, also while it waits for the name service, which no timeout bounds."""

    def end() -> None:
        sys.stderr.write(f"{place} has not taken the mail within {seconds:g} s\n")
        sys.stderr.flush()
        os._exit(TIMED_OUT)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _failed(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    sys.exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
