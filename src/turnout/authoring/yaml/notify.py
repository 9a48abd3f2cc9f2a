"""Reads the notifications of a workflow file."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.forms import Choice, Several, Text
from turnout.authoring.yaml.policies import MAX_SECONDS, TIME_LIMIT, Seconds
from turnout.authoring.yaml.schedules import DURATION, duration_of
from turnout.authoring.yaml.tables import Key
from turnout.model.notifications import FORMATS, MAX_RETRIES, OCCASIONS, Notify, Occasion

_URL = Text(
    "an address such as `https://ops.example.org/turnout` or `mailto:ops@example.org`, or its place as `env:NAME`",
    pattern=r"https?://[^\s]+|mailto:[^\s]+|(?:env|file):[^\s]+",
)
_SECRET = Text("the place of a secret, `env:NAME` or `file:PATH`", pattern=r"(?:env|file):[^\s]+")


class NotifyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An event that is sent when a run ends, or does not end in time."""

    url: Annotated[str, Key(example="url: https://ops.example.org/turnout", form=_URL)]
    """The address, ``https://`` or ``mailto:``; one that is a secret is named by its place, as ``env:SLACK_URL``."""
    on: Annotated[tuple[Occasion, ...], Key(example="on: [success, failure]", form=Several(Choice(OCCASIONS)))] = (
        "failure",
    )
    """The ends that are sent, and ``stuck`` for a run that has not ended in time."""
    secret: Annotated[str | None, Key(example="secret: env:NOTIFY_SECRET", form=_SECRET)] = None
    """The place of the secret that events are signed with, on the machine that sends them."""
    format: Annotated[Literal["json", "slack"], Key(example="format: slack", form=Choice(FORMATS))] = "json"
    """``json``: the event. ``slack``: its text, as Slack takes it."""
    retries: Annotated[int, Meta(ge=0, le=MAX_RETRIES), Key(example="retries: 3")] = 8
    """Further attempts after one that failed."""
    interval_sec: Annotated[float, Meta(gt=0, le=MAX_SECONDS), Key(example="interval_sec: 30")] = 5.0
    """Seconds before the first of them; they double up to ten minutes."""
    timeout_sec: Annotated[Seconds | None, Key(example="timeout_sec: 5", form=TIME_LIMIT)] = None
    """Seconds that one attempt may take; without it 10."""

    after: Annotated[str | None, Key(example="after: 10m", form=DURATION)] = None
    """With ``stuck``: the time after the submission of a run at which it is sent, unless the run has ended."""

    @property
    def notify(self) -> Notify:
        return Notify(
            self.url,
            on=self.on,
            secret=self.secret,
            format=self.format,
            retries=self.retries,
            retry_delay=self.interval_sec,
            timeout=self.timeout_sec or 10.0,
            after=duration_of(self.after),
        )
