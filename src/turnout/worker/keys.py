"""Holds the CURVE keys of a worker."""

from __future__ import annotations

import msgspec

from turnout.errors import InvalidSetting
from turnout.wire.keys import LENGTH, is_key


class CurveKeys(msgspec.Struct, frozen=True):
    """All in Z85 text."""

    server: str
    """The hub's public key: a server without its secret half cannot pose as the hub."""
    public: str
    secret: str

    def __repr__(self) -> str:
        return f"CurveKeys(server={self.server!r}, public={self.public!r}, secret=***)"

    @classmethod
    def of(cls, server: str, public: str, secret: str) -> CurveKeys | None:
        """The keys, if all three are there; None if none is."""
        given = {"server": server, "public": public, "secret": secret}
        if not any(given.values()):
            return None
        for name, key in given.items():
            if not key:
                raise InvalidSetting(
                    f"the {name} key is missing: encryption needs the hub's public key and this worker's own pair",
                    code="incomplete_keys",
                    field=name,
                )
            if not is_key(key):
                raise InvalidSetting(
                    f"the {name} key, of {len(key)} characters, is none: a key has {LENGTH} of Z85",
                    code="bad_key",
                    field=name,
                )
        return cls(server, public, secret)
