"""With which keys does a worker encrypt what it says, and prove who it is?"""

from __future__ import annotations

from pathlib import Path

import msgspec

from turnout.errors import InvalidSetting

LENGTH = 40
"""Characters of a key in Z85."""


class CurveKeys(msgspec.Struct, frozen=True):
    """All in Z85 text."""

    server: str
    """The hub's public key: who does not have its secret half cannot pretend to be it."""
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
            if len(key) != LENGTH:
                raise InvalidSetting(
                    f"the {name} key has {len(key)} characters: a key in Z85 has {LENGTH}", code="bad_key", field=name
                )
        return cls(server, public, secret)


def read_pair(file: Path) -> tuple[str, str]:
    """The public and the secret key of a ``.key_secret`` file, as ``zmq.auth.create_certificates`` writes them."""
    import zmq.auth

    try:
        public, secret = zmq.auth.load_certificate(file)
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"the key file {str(file)!r} cannot be read: {error}", code="bad_key_file") from error
    if secret is None:
        raise InvalidSetting(
            f"the key file {str(file)!r} has no secret key: name the file with both halves", code="bad_key_file"
        )
    return public.decode(), secret.decode()
