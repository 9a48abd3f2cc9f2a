"""Roles and secrets."""

from __future__ import annotations

import itertools

from turnout.model.access import ROLES, SESSION_PREFIX, TOKEN_PREFIX, Role, digest_of, masked, new_secret, new_token_id


def test_each_role_includes_those_before_it() -> None:
    assert [str(role) for role in ROLES] == ["viewer", "operator", "author", "admin"]
    for (low, lower), (high, higher) in itertools.product(enumerate(ROLES), repeat=2):
        assert higher.includes(lower) == (high >= low)
    assert Role("admin").includes(Role.VIEWER)


def test_secrets_have_256_random_bits_and_a_prefix() -> None:
    secrets = {new_secret() for _ in range(200)}
    assert len(secrets) == 200
    assert all(each.startswith(TOKEN_PREFIX) and len(each) == len(TOKEN_PREFIX) + 43 for each in secrets)
    assert new_secret(SESSION_PREFIX).startswith("ts_")
    assert len({new_token_id() for _ in range(200)}) == 200


def test_a_digest_says_nothing_of_its_secret() -> None:
    secret = new_secret()
    assert len(digest_of(secret)) == 64 and secret[3:] not in digest_of(secret)
    assert digest_of(secret) == digest_of(secret) != digest_of(secret + "x")
    assert digest_of("\ud800")


def test_every_secret_in_a_text_is_masked() -> None:
    secret, session = new_secret(), new_secret(SESSION_PREFIX)
    assert masked(f"{secret} and {session}, to_day") == "to_*** and ts_***, to_day"
