"""Secrets in a stream: masked wherever the chunks are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.model.secret_mask import MASK, Masker

SECRETS = ["s3cret", "abc", "abcabd", "line one\nthe second line"]


def streamed(masker: Masker, chunks: list[bytes]) -> bytes:
    return b"".join(masker.feed(chunk) for chunk in chunks) + masker.flush()


@given(
    st.lists(st.sampled_from(["s3cret", "abc", "abcabd", "ab", "s3", "x", "\n", "line one\nthe second line"])),
    st.data(),
)
def test_however_a_stream_is_cut_it_is_masked_as_a_whole(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    shown = streamed(Masker(SECRETS), chunks)
    assert shown == Masker(SECRETS).text(whole.decode()).encode()
    assert not any(secret.encode() in shown for secret in SECRETS)


def test_a_secret_over_two_chunks_is_masked_and_what_only_begins_like_one_is_shown_in_the_end() -> None:
    masker = Masker(["s3cret"])
    assert masker.feed(b"token s3c") == b"token "
    assert masker.feed(b"ret.") == MASK + b"."
    assert masker.feed(b"s3") == b""
    assert masker.flush() == b"s3"


def test_the_long_lines_of_a_secret_are_masked_alone_and_short_ones_are_not() -> None:
    masker = Masker(["-----BEGIN KEY-----\nMIIabcdefgh\nx\n-----END KEY-----\n"])
    assert masker.text("x MIIabcdefgh") == "x *******"


def test_the_end_of_a_stream_may_hold_a_shorter_secret_within_the_beginning_of_a_longer_one() -> None:
    assert streamed(Masker(["abcd", "bc"]), [b"abc"]) == b"a" + MASK


@pytest.mark.parametrize("secret", ['pa"ss-w\u00f6rd/1', "back\\slash", "tab\tand\nline"])
def test_a_secret_inside_of_a_json_document_is_masked(secret: str) -> None:
    masker = Masker([secret])
    for ascii_only in (True, False):
        escaped = json.dumps({"v": secret}, ensure_ascii=ascii_only)
        for text in (escaped, escaped.replace("/", "\\/"), escaped.replace("\\u00f6", "\\u00F6")):
            assert masker.text(text) == '{"v": "*******"}'


def test_without_secrets_everything_passes() -> None:
    masker = Masker(["", "\n"])
    assert (masker.feed(b"anything"), masker.flush(), masker.text("x")) == (b"anything", b"", "x")


def test_a_secret_of_one_character_in_a_long_chunk_takes_no_quadratic_time() -> None:
    assert streamed(Masker(["a", *(f"secret number {n}" for n in range(20))]), [b"a" * 65536]) == MASK * 65536
