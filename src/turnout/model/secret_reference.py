"""Names where a secret is read: a variable or a file of the machine that uses it. The secret itself is never stored."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from turnout.errors import InvalidInput

MAX_LENGTH = 1_000

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SecretReference(msgspec.Struct, frozen=True):
    """A variable or a file that has a secret."""

    provider: Literal["env", "file"]
    key: str

    @classmethod
    def parse(cls, text: str, field: str) -> SecretReference:
        """Returns the reference that a text such as ``env:GITHUB_SECRET`` is. Raises InvalidInput for any other.

        >>> SecretReference.parse("env:GITHUB_SECRET", "secret")
        SecretReference(provider='env', key='GITHUB_SECRET')
        """
        provider, separator, key = text.partition(":")
        if separator and key and len(text) <= MAX_LENGTH and "\0" not in text:
            if provider == "env" and _VARIABLE.fullmatch(key):
                return cls("env", key)
            if provider == "file":
                return cls("file", key)
        # The text may be the secret itself, so it is not shown.
        raise InvalidInput(
            f"{field} is no reference to a secret: write env:NAME or file:PATH, and set it where the server runs",
            code="bad_secret_reference",
            field=field,
        )

    def __str__(self) -> str:
        return f"{self.provider}:{self.key}"
