"""Keys in text and in files: one format for hubs and workers, and nothing that shows a secret."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zmq
import zmq.auth
from hypothesis import given
from hypothesis import strategies as st
from zmq.utils import z85

from turnout.errors import InvalidSetting
from turnout.wire.keys import KeyPair, is_key, pair_text, read_pair, shortened

KEYS = st.binary(min_size=32, max_size=32).map(lambda each: z85.encode(each).decode())


@given(KEYS, KEYS)
def test_every_pair_is_read_as_it_was_written(public: str, secret: str) -> None:
    assert is_key(public) and is_key(secret)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pair.key"
        file.write_text(pair_text(KeyPair(public, secret)))
        assert read_pair(file) == KeyPair(public, secret)
        assert zmq.auth.load_certificate(file) == (public.encode(), secret.encode()), "pyzmq reads it, too"


def test_certificates_of_pyzmq_are_read(tmp_path: Path) -> None:
    zmq.auth.create_certificates(tmp_path, "me")
    pair = read_pair(tmp_path / "me.key_secret")
    assert zmq.curve_public(pair.secret.encode()).decode() == pair.public


@given(st.text(max_size=60))
def test_what_is_no_key_is_told_apart(text: str) -> None:
    assert not is_key(text) or len(z85.decode(text)) == 32


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no public key"),
        (b'public-key = "' + b"a" * 40 + b'"', "has no secret key: name the file with both halves"),
        (b'public-key = "' + b"a" * 40 + b'"\nsecret-key = "hush hush"', "has no secret key"),
        (b'public-key = "' + b"a" * 40 + b'"\nsecret-key = "hush"', "the secret key in"),
        (b"\xff\xfe", "cannot be read: it is no text"),
    ],
)
def test_a_file_that_is_none_is_named_and_its_secret_is_not(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "pair.key").write_bytes(content)
    with pytest.raises(InvalidSetting) as raised:
        read_pair(tmp_path / "pair.key")
    assert raised.value.code == "bad_key_file"
    assert said in raised.value.message and "pair.key" in raised.value.message and "hush" not in raised.value.message


def test_a_pair_does_not_show_its_secret() -> None:
    pair = KeyPair("p" * 40, "s" * 40)
    assert "ssss" not in repr(pair) and "ssss" not in f"{pair}" and shortened(pair.public) == "pppppppp…"
