"""The server itself: versions of what it is made of, and its configuration with the origin of each value."""

from __future__ import annotations

import platform
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import msgspec
from litestar import Controller, get

from turnout.model.extras import EXTRAS
from turnout.runner.effective_settings import EffectiveSetting, effective_settings
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import answers


class DatabaseVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The database of the server."""

    kind: Literal["sqlite", "postgresql"]
    version: str
    schema: int
    """The number of its newest migration."""


class ExtraPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package that an extra of Turnout brings."""

    extra: str
    package: str
    purpose: str
    version: str | None
    """Null: it is not installed."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The versions of a server and of what it runs on."""

    turnout: str
    python: str
    implementation: str
    platform: str
    orchestrator: str
    """The id of its session."""
    pid: int
    up_seconds: float
    database: DatabaseVersion
    extras: list[ExtraPackage]


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a server, as they were when it started. Options of its command line prevail over them."""

    file: str | None
    """The configuration file that was read."""
    settings: list[EffectiveSetting]
    """Secrets are shown as ``***``."""
    warnings: list[str]


EXAMPLE = About(
    turnout="0.1.0",
    python="3.11.7",
    implementation="CPython",
    platform="Linux-6.1-x86_64",
    orchestrator="0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57",
    pid=4711,
    up_seconds=86_400.0,
    database=DatabaseVersion(kind="postgresql", version="18.0", schema=22),
    extras=[ExtraPackage(extra="postgres", package="psycopg", purpose="PostgreSQL", version="3.2.9")],
)


class AboutController(Controller):
    """The server itself."""

    path = "/api/v1"
    tags = ("server",)
    guards = (requires("viewer"),)

    @get(
        "/about",
        operation_id="get_about",
        summary="Get the versions of the server",
        responses=answers(About, example=EXAMPLE, description="Versions of Turnout, Python, the database and extras."),
    )
    async def get_about(self, context: Context) -> About:
        """The versions of Turnout, of Python, of the database and its schema, and of the packages of extras."""
        return await context.in_thread(_about, context)

    @get(
        "/configuration",
        operation_id="get_configuration",
        summary="Get the configuration of the server",
        guards=[requires("admin")],
        responses=answers(
            Configuration,
            example=Configuration(
                file="turnout.toml",
                settings=[EffectiveSetting("server.port", "server.port", 8787, "turnout.toml")],
                warnings=[],
            ),
            description="Every setting with its value and its origin.",
        ),
    )
    async def get_configuration(self, context: Context) -> Configuration:
        """Every setting with its value, and the file or environment variable that it comes from. Secrets are left
        out."""
        source = context.core.config.source
        if source is None:
            return Configuration(file=None, settings=[], warnings=[])
        return Configuration(
            file=None if source.file is None else str(source.file),
            settings=await context.in_thread(effective_settings, source),
            warnings=list(source.warnings),
        )


def _about(context: ServerContext) -> About:
    facts, session = context.store.about(), context.core.engine.session.current
    kind: Literal["sqlite", "postgresql"] = "sqlite" if context.core.url.startswith("sqlite") else "postgresql"
    return About(
        turnout=version("turnout"),
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        platform=platform.platform(),
        orchestrator=session.id,
        pid=session.pid,
        up_seconds=time.monotonic() - context.made_at,
        database=DatabaseVersion(kind=kind, version=facts.version, schema=facts.schema),
        extras=[
            ExtraPackage(extra=extra, package=package, purpose=purpose, version=_version(package))
            for package, (extra, purpose) in EXTRAS.items()
        ],
    )


DISTRIBUTIONS = {"zmq": "pyzmq", "opentelemetry": "opentelemetry-api"}
"""What is installed for packages that have another name than their distribution."""


def _version(package: str) -> str | None:
    try:
        return version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return None
