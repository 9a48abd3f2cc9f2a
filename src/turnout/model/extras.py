"""Maps optional packages to their extras, and raises the error that names the extra of a missing one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from turnout.errors import MissingExtra

EXTRAS = {
    "psycopg": ("postgres", "PostgreSQL"),
    "zmq": ("workers", "workers elsewhere"),
    "lightkube": ("kubernetes", "Jobs in Kubernetes"),
    "httpx2": ("kubernetes", "Jobs in Kubernetes"),
    "ray": ("ray", "executors on Ray"),
    "distributed": ("dask", "executors on Dask"),
    "litestar": ("server", "the server"),
    "uvicorn": ("server", "the server"),
    "opentelemetry": ("otel", "telemetry"),
}
"""The extra and the purpose of each package."""


@contextmanager
def optional_packages() -> Iterator[None]:
    """Wraps imports of modules that use such a package: raises ``MissingExtra`` if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        extra, purpose = EXTRAS[package]
        raise MissingExtra(
            f"the package {package} is not installed, which is needed for {purpose}: pip install 'turnout[{extra}]'",
            package=package,
            extra=extra,
        ) from error


def require(package: str) -> None:
    """Raises ``MissingExtra`` if this package is not installed. It is not imported."""
    with optional_packages():
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
