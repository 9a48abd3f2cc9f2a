"""A server for mail on a loopback port: keeps what it gets, and answers as the test says."""

from __future__ import annotations

import base64
import email
import email.policy
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage

from tests.kit.waiting import until


@dataclass
class ReceivedMail:
    """One mail, with the envelope that it came in."""

    sender: str
    to: list[str]
    content: bytes
    encrypted: bool
    login: str | None
    """The name and the password that the sender gave, as ``name:password``."""

    @property
    def message(self) -> EmailMessage:
        return email.message_from_bytes(self.content, policy=email.policy.default)


@dataclass
class MailTarget:
    """What came, in order. ``answers`` are the answers to commands that are not the usual ones."""

    port: int = 0
    received: list[ReceivedMail] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)
    """By the word of the command: the answers to the next ones; an empty one is none at all."""
    connections: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    """Set at the end: a command that is not answered waits for it."""

    def wait(self, count: int = 1) -> list[ReceivedMail]:
        """Returns the mails once there are so many."""
        until(lambda: len(self.received) >= count)
        return list(self.received)


@contextmanager
def smtp_target(context: ssl.SSLContext | None = None, *, login: bool = False) -> Iterator[MailTarget]:
    """Runs a server; with a context it offers STARTTLS, with ``login`` it offers AUTH."""
    target = MailTarget()

    class Handler(socketserver.StreamRequestHandler):
        encrypted = False
        login: str | None = None

        def handle(self) -> None:
            target.connections += 1
            sender, to = "", list[str]()
            self.say("220 mail.test")
            while line := self.rfile.readline().decode().strip():
                word = line.split()[0].upper()
                scripted = target.answers.get(word)
                if scripted:
                    answer = scripted.pop(0)
                    if not answer:
                        target.released.wait(60)
                        return
                    self.say(answer)
                elif word == "EHLO":
                    offers = ["STARTTLS"] * (context is not None and not self.encrypted) + ["AUTH PLAIN"] * login
                    self.say("250-mail.test", *(f"250-{offer}" for offer in offers), "250 8BITMIME")
                elif word == "STARTTLS" and context is not None:
                    self.encrypt(context)
                elif word == "AUTH":
                    _, name, password = base64.b64decode(line.split()[2]).decode().split("\0")
                    self.login = f"{name}:{password}"
                    self.say("235 welcome")
                elif word == "MAIL":
                    sender, to = line[len("MAIL FROM:<") :].partition(">")[0], []
                    self.say("250 ok")
                elif word == "RCPT":
                    to.append(line[len("RCPT TO:<") :].partition(">")[0])
                    self.say("250 ok")
                elif word == "DATA":
                    self.say("354 go on")
                    lines = list(iter(self.rfile.readline, b".\r\n"))
                    mail = ReceivedMail(sender, to, b"".join(lines), self.encrypted, self.login)
                    target.received.append(mail)
                    self.say("250 taken")
                else:
                    self.say("221 bye" if word == "QUIT" else "250 ok")

        def finish(self) -> None:
            super().finish()
            self.request.close()

        def say(self, *lines: str) -> None:
            self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

        def encrypt(self, context: ssl.SSLContext) -> None:
            self.say("220 go ahead")
            self.request = context.wrap_socket(self.request, server_side=True)
            self.setup()
            self.encrypted = True

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    target.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield target
    finally:
        target.released.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
