"""Declares the settings of telemetry; the standard ``OTEL_…`` variables hold for everything that is not set here."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from msgspec import Meta

from turnout.errors import InvalidSetting
from turnout.model.setting_types import Seconds, Settings

TELEMETRY = "telemetry"
_URL = re.compile(r"https?://[^\s/]+(/\S*)?")


class TelemetrySettings(Settings, frozen=True, kw_only=True):
    """Settings of telemetry."""

    table: ClassVar[str] = TELEMETRY

    enabled: bool = False
    """Whether traces and metrics are sent by OTLP over HTTP; needs the extra ``otel``."""
    endpoint: str | None = None
    """The address of the collector, as ``http://collector:4318``; by default that of ``OTEL_EXPORTER_OTLP_ENDPOINT``,
    else ``http://localhost:4318``."""
    service_name: str | None = None
    """The name of the service; by default that of ``OTEL_SERVICE_NAME``, else ``turnout``."""
    sample: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """The share of runs whose traces are recorded, from 0 to 1."""
    export_interval: Seconds = 5.0
    """Seconds from one export of spans to the next."""
    metrics_interval: Seconds = 60.0
    """Seconds from one export of metrics to the next."""

    def check_rules(self, path: str) -> None:
        if self.endpoint is not None and _URL.fullmatch(self.endpoint) is None:
            raise InvalidSetting(
                f"{path}.endpoint is {self.endpoint!r}: write the address of the collector, as http://collector:4318",
                field=f"{path}.endpoint",
            )
