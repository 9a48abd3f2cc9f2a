"""Reads and writes keys as text and as files, for hubs and workers."""

from __future__ import annotations

import logging
import re
import stat
from pathlib import Path

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.extras import optional_packages

LENGTH = 40
"""Characters of a key in Z85."""
SHORT = 8
KUBERNETES_DATA = "..data"
"""The entry that a folder has if it is a volume of a Secret in Kubernetes. There the group is the pod's own fsGroup,
which the kubelet lets read every file."""
_Z85 = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
_LINE = re.compile(r"""\s*(public|secret)-key\s*=\s*["']?([^\s"']+)["']?\s*""")


class KeyPair(msgspec.Struct, frozen=True):
    """Both halves in Z85 text."""

    public: str
    secret: str

    def __repr__(self) -> str:
        return f"KeyPair(public={self.public!r}, secret=***)"


def is_key(text: str) -> bool:
    return _Z85.fullmatch(text) is not None


def shortened(key: str) -> str:
    """Enough of a public key to find it in a list."""
    return f"{key[:SHORT]}…"


def read_pair(file: Path) -> KeyPair:
    """Returns the keys of a file in the format of ``pair_text``, which is that of pyzmq and czmq, too."""
    found: dict[str, str] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidSetting(f"the key file {str(file)!r} cannot be read: {why}", code="bad_key_file") from error
    for line in lines:
        if (match := _LINE.fullmatch(line)) is not None:
            found[match[1]] = match[2]
    for half in ("public", "secret"):
        if half not in found:
            raise InvalidSetting(
                f"the key file {str(file)!r} has no {half} key: name the file with both halves, as `turnout keys "
                "generate` makes it",
                code="bad_key_file",
            )
        if not is_key(found[half]):
            raise InvalidSetting(
                f"the {half} key in {str(file)!r} is none: a key has {LENGTH} characters of Z85", code="bad_key_file"
            )
    return KeyPair(found["public"], found["secret"])


def own_pair(file: Path, log: logging.Logger) -> KeyPair:
    """The keys of a file that are to be used here: its halves belong together, and others ought not to see them."""
    with optional_packages():
        import zmq
    pair = read_pair(file)
    if zmq.curve_public(pair.secret.encode()).decode() != pair.public:
        raise InvalidSetting(
            f"the halves in the key file {str(file)!r} do not belong together: make a new pair with `turnout keys "
            "generate`",
            code="bad_key_file",
        )
    others = stat.S_IRWXG | stat.S_IRWXO
    if (file.parent / KUBERNETES_DATA).exists():
        others ^= stat.S_IRGRP
    if file.stat().st_mode & others:
        log.warning("others on this machine can read %s, which holds a secret key: chmod 600 it", file)
    return pair


def pair_text(pair: KeyPair) -> str:
    """Returns the content of a key file."""
    return (
        "# A pair of keys of Turnout. A process that can read this file can pose as its owner: keep it secret.\n"
        "metadata\n"
        "curve\n"
        f'    public-key = "{pair.public}"\n'
        f'    secret-key = "{pair.secret}"\n'
    )
