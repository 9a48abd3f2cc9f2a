"""Reads from the metadata of the installation which extras there are, and which of their packages are installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires, version

import msgspec

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+).*;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")
NOT_FOR_USERS = frozenset({"all", "dev", "test-clusters", "test-postgres"})
"""Extras that contain others, and those for development."""


class Extra(msgspec.Struct, frozen=True):
    """An extra with the versions of its packages; None for one that is not installed."""

    name: str
    packages: dict[str, str | None]

    @property
    def installed(self) -> bool:
        return all(self.packages.values())

    @property
    def text(self) -> str:
        """The text that is shown for it."""
        if not any(self.packages.values()):
            return f"not installed: pip install 'turnout[{self.name}]'"
        found = ", ".join(f"{name} {number}" for name, number in self.packages.items() if number)
        missing = ", ".join(name for name, number in self.packages.items() if not number)
        return found if not missing else f"{found}; {missing} not installed: pip install 'turnout[{self.name}]'"


def required_by_extra(requirements: list[str]) -> dict[str, list[str]]:
    """Returns the names of packages by extra.

    >>> required_by_extra(["msgspec>=0.19", "pyzmq>=26; extra == 'workers'"])
    {'workers': ['pyzmq']}
    """
    found: dict[str, list[str]] = {}
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is not None and match["extra"] not in NOT_FOR_USERS:
            found.setdefault(match["extra"], []).append(match["name"])
    return found


def installed_extras() -> list[Extra]:
    """Returns the extras of this installation, by name; none if it has no metadata."""
    try:
        by_extra = required_by_extra(requires("turnout") or [])
    except PackageNotFoundError:
        return []
    return [Extra(name, {each: _version(each) for each in packages}) for name, packages in sorted(by_extra.items())]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
