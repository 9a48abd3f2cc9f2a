"""Defines mail as a target of notifications: its addresses, and the settings of the server that takes it (pure)."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta

from turnout.errors import InvalidInput, InvalidSetting
from turnout.model.secret_reference import SecretReference
from turnout.model.setting_types import Settings, Text

SCHEME = "mailto:"
MAX_RECIPIENTS = 20
MAX_ADDRESS = 254
"""Characters of an address, by RFC 5321."""
SMTP = "notifications.smtp"
"""The table of the settings."""

Security: TypeAlias = Literal["starttls", "tls", "none"]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65_535)]

# Without quotes, spaces, brackets and line ends, an address cannot become a second one or another header.
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


def is_address(text: str) -> bool:
    """True for the address of a mailbox, without a name.

    >>> is_address("ops@example.org"), is_address("Ops <ops@example.org>"), is_address("ops@example.org\\nBcc: x@y")
    (True, False, False)
    """
    return len(text) <= MAX_ADDRESS and _ADDRESS.fullmatch(text) is not None


def recipients(url: str) -> tuple[str, ...] | None:
    """Returns the addresses of a target such as ``mailto:ops@example.org,dev@example.org``; None if it is no such text.

    >>> recipients("mailto:ops@example.org,dev@example.org")
    ('ops@example.org', 'dev@example.org')
    """
    found = tuple(url.removeprefix(SCHEME).split(","))
    sound = url.startswith(SCHEME) and len(found) <= MAX_RECIPIENTS and all(map(is_address, found))
    return found if sound else None


class SmtpSettings(Settings, frozen=True, kw_only=True, rename={"sender": "from"}):
    """The server that takes the mail of notifications."""

    host: Text = "localhost"
    """The host of the server; it may be at a private address."""
    port: Port = 587
    """Its port."""
    security: Security = "starttls"
    """How it is encrypted: ``starttls`` from the second command on, ``tls`` from the start (usually port 465), or
    ``none``. With ``starttls`` nothing is sent to a server that does not offer it."""
    username: str | None = None
    """The name to log in with; None: without a login."""
    password: str | None = None
    """Where its password is read on the machine that sends: ``env:NAME`` or ``file:PATH``."""
    sender: str = ""
    """The address that mail is from; it must be given."""

    def check_rules(self, path: str) -> None:
        if not is_address(self.sender):
            raise _wrong(
                f"{path}.from is {self.sender!r}: write an address such as turnout@example.org", f"{path}.from"
            )
        if any(character in self.host for character in " \t\r\n\0/"):
            raise _wrong(f"{path}.host is {self.host!r}: write the name of a host", f"{path}.host")
        if self.security not in get_args(Security):
            allowed = " or ".join(get_args(Security))
            raise _wrong(f"{path}.security is {self.security!r}: write {allowed}", f"{path}.security")
        if (self.username is None) != (self.password is None):
            raise _wrong(f"{path}.username and password are given together, or not at all", f"{path}.username")
        if self.username is not None and self.security == "none" and self.host not in ("localhost", "127.0.0.1", "::1"):
            raise _wrong(
                f'{path}.security is "none": a password is sent to another machine with "starttls" or "tls" only',
                f"{path}.security",
            )
        if self.password is not None:
            try:
                SecretReference.parse(self.password, f"{path}.password")
            except InvalidInput as error:
                raise _wrong(error.message, f"{path}.password") from error


def _wrong(message: str, field: str) -> InvalidSetting:
    return InvalidSetting(message, field=field)
