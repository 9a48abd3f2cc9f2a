"""``turnout keys``: generates and shows key pairs of hubs and workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.options import Group, Json
from turnout.cli.output import print_json, print_line
from turnout.errors import InvalidSetting

if TYPE_CHECKING:
    from turnout.wire.keys import KeyPair


app = typer.Typer(
    cls=Group, rich_markup_mode=None, no_args_is_help=True, help="Make and show keys of hubs and workers."
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file with both halves.")]


@app.command()
def generate(
    file: File,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file; its keys are lost.")] = False,
    as_json: Json = False,
) -> None:
    """Make a pair of keys, and print its public half.

    Both go to a file that only you can read.

    \b
    turnout keys generate hub.key
    turnout keys generate gpu-box.key
    """
    pair = new_pair()
    write_pair(file, pair, force=force)
    if as_json:
        print_json({"file": str(file), "public_key": pair.public})
        return
    print_line(pair.public)
    for line in key_instructions(file, pair.public):
        print_line(line, to=sys.stderr)


@app.command()
def show(
    file: File,
    env: Annotated[
        bool, typer.Option("--env", help="Print both halves, as the variables that workers in any language read.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the public key of a file.

    \b
    turnout keys show gpu-box.key
    turnout keys show gpu-box.key --env > worker.env     # this holds the secret key, too
    """
    from turnout.wire.keys import read_pair

    pair = read_pair(file)
    if as_json:
        print_json(
            {"file": str(file), "public_key": pair.public} | ({"variables": dict(key_variables(pair))} if env else {})
        )
    elif env:
        import shlex

        for name, value in key_variables(pair):
            print_line(f"{name}={shlex.quote(value)}")
    else:
        print_line(pair.public)


def new_pair() -> KeyPair:
    from turnout.model.extras import optional_packages
    from turnout.wire.keys import KeyPair

    with optional_packages():
        import zmq
    while True:
        public, secret = zmq.curve_keypair()
        # A key that begins with a dash would be taken for an option on a command line.
        if not public.startswith(b"-"):
            return KeyPair(public.decode(), secret.decode())


def write_pair(file: Path, pair: KeyPair, *, force: bool) -> None:
    """Writes the file atomically, readable by its owner only."""
    import tempfile

    from turnout.wire.keys import pair_text

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
            f"{file} exists: hubs and workers that use its keys would be locked out",
            code="key_file_exists",
            file=str(file),
        ) from error
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be written: {error.strerror}", code="bad_key_file") from error


def key_instructions(file: Path, public: str) -> Iterator[str]:
    """Yields what to configure on either side. Keys need no escapes in TOML: Z85 has neither quotes nor backslashes."""
    from turnout.worker.settings import SERVER_KEY

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


def key_variables(pair: KeyPair) -> tuple[tuple[str, str], ...]:
    """Returns the environment variables in which worker programs read their keys."""
    from turnout.worker.settings import PUBLIC_KEY, SECRET_KEY

    return (PUBLIC_KEY, pair.public), (SECRET_KEY, pair.secret)
