"""Declares the settings of notifications: targets of every workflow, private hosts, and the server for mail."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec import Meta

from turnout.errors import InvalidSetting, InvalidWorkflow
from turnout.model.mail import SmtpSettings
from turnout.model.names import suggest
from turnout.model.notifications import Notify, checked
from turnout.model.setting_types import Settings

NOTIFICATIONS = "notifications"

Targets: TypeAlias = Annotated[list[dict[str, Any]], Meta(title="a list of targets with url, and on, secret or format")]


class NotificationSettings(Settings, frozen=True, kw_only=True):
    """Settings of notifications."""

    table: ClassVar[str] = NOTIFICATIONS

    targets: Targets = msgspec.field(default_factory=list[dict[str, Any]])
    """Targets of the notifications of every workflow: ``url``, and optional ``on``, ``secret``, ``format``,
    ``retries``, ``retry_delay``, ``timeout`` and ``after``."""
    private_hosts: tuple[str, ...] = ()
    """Hosts that notifications may be sent to although their address is private, as ``hooks.internal``."""
    smtp: SmtpSettings | None = None
    """The server that takes the mail of notifications; None: targets ``mailto:`` fail."""

    def check_rules(self, path: str) -> None:
        _ = self.notify

    @property
    def notify(self) -> tuple[Notify, ...]:
        """The targets as values. Raises InvalidSetting for one that cannot work."""
        return tuple(_target(each, f"{self.table}.targets[{number}]") for number, each in enumerate(self.targets))


def _target(given: dict[str, Any], field: str) -> Notify:
    known = Notify.__struct_fields__
    for name in given:
        if name not in known:
            raise _wrong(f"{field} has no key {name!r}{suggest(name, known)}")
    on: Any = given.get("on", "failure")
    values: dict[str, Any] = {"url": "", **given, "on": tuple(on) if isinstance(on, list | tuple) else (on,)}
    try:
        return checked(Notify(**values), field)
    except InvalidWorkflow as error:
        raise _wrong(error.message) from error


def _wrong(message: str) -> InvalidSetting:
    return InvalidSetting(message, field=f"{NOTIFICATIONS}.targets")
