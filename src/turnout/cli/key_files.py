"""How is a pair of keys made and kept, and what has to be written where?"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from turnout.errors import InvalidSetting
from turnout.model.extras import optional_packages
from turnout.wire.keys import KeyPair, pair_text
from turnout.worker.settings import PUBLIC_KEY, SECRET_KEY, SERVER_KEY


def new_pair() -> KeyPair:
    with optional_packages():
        import zmq
    while True:
        public, secret = zmq.curve_keypair()
        # What begins with a dash looks like an option where it stands on a command line.
        if not public.startswith(b"-"):
            return KeyPair(public.decode(), secret.decode())


def write_pair(file: Path, pair: KeyPair, *, force: bool) -> None:
    """Write the file whole or not at all; nobody else can read it at any moment."""
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # with mode 600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as fresh:
                fresh.write(pair_text(pair))
            if force:
                os.replace(name, file)
            else:
                os.link(name, file)
        finally:
            Path(name).unlink(missing_ok=True)
    except FileExistsError as error:
        raise InvalidSetting(
            f"{file} exists: whoever relies on its keys would be locked out", code="key_file_exists", file=str(file)
        ) from error
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be written: {error.strerror}", code="bad_key_file") from error


def to_paste(file: Path, public: str) -> Iterator[str]:
    """What to write where, on either side. A key in TOML needs no escapes: Z85 has neither quotes nor backslashes."""
    yield ""
    yield f"{file} holds both halves; keep it secret. Its public half is what stands alone above."
    yield ""
    yield "If it is a hub's, in its turnout.toml:"
    yield "  [hub]"
    yield '  address = "tcp://0.0.0.0:5890"'
    yield f'  key_file = "{file}"'
    yield '  workers_file = "workers.toml"'
    yield "and for each of its workers, as a variable (or --server-key):"
    yield f"  {SERVER_KEY}='{public}'"
    yield ""
    yield "If it is a worker's, in the workers.toml of its hub:"
    yield "  [[worker]]"
    yield f'  name = "{file.stem}"'
    yield f'  key = "{public}"'
    yield "and for the worker:"
    yield f"  turnout worker --key-file {file} …"


def variables(pair: KeyPair) -> tuple[tuple[str, str], ...]:
    """The worker's own keys as every worker program reads them."""
    return (PUBLIC_KEY, pair.public), (SECRET_KEY, pair.secret)
