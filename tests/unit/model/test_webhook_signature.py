"""Signatures of webhooks: as GitHub makes them, and by Standard Webhooks."""

from __future__ import annotations

import pytest

from turnout.errors import AccessDenied
from turnout.model.webhook_signature import github_signature, standard_signature, verify

BODY = b'{"test": 2432232314}'
SECRET, MESSAGE, TIME = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"


def test_the_published_examples_verify() -> None:
    # GitHub, "Validating webhook deliveries": the secret and the payload of its test values.
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert github_signature("It's a Secret to Everybody", b"Hello, World!") == expected
    assert standard_signature(SECRET, MESSAGE, TIME, BODY) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def headers(**changes: str) -> dict[str, str]:
    signature = standard_signature(SECRET, MESSAGE, TIME, BODY)
    given = {"webhook-id": MESSAGE, "webhook-timestamp": TIME, "webhook-signature": f"v1,other {signature}"}
    return {**given, **{name.replace("_", "-"): value for name, value in changes.items()}}


def test_a_standard_signature_is_valid_for_five_minutes() -> None:
    verify("standard", SECRET, headers(), BODY, int(TIME) + 299)
    for now in (int(TIME) + 301, int(TIME) - 301):
        with pytest.raises(AccessDenied) as found:
            verify("standard", SECRET, headers(), BODY, now)
        assert found.value.code == "stale_signature"


def test_a_time_that_is_no_number_is_no_replay() -> None:
    signed = headers(webhook_timestamp="noon", webhook_signature=standard_signature(SECRET, MESSAGE, "noon", BODY))
    with pytest.raises(AccessDenied, match="whole seconds since 1970") as found:
        verify("standard", SECRET, signed, BODY, int(TIME))
    assert found.value.code == "bad_signature"


@pytest.mark.parametrize(
    ("secret", "given", "body"),
    [
        ("another", headers(), BODY),
        (SECRET, headers(), BODY + b" "),
        (SECRET, headers(webhook_id="msg_other"), BODY),
        (SECRET, headers(webhook_timestamp="1614265331"), BODY),
        (SECRET, headers(webhook_signature=""), BODY),
        (SECRET, {}, BODY),
    ],
)
def test_anything_else_is_refused(secret: str, given: dict[str, str], body: bytes) -> None:
    with pytest.raises(AccessDenied) as found:
        verify("standard", secret, given, body, float(TIME))
    assert found.value.code == "bad_signature" and secret not in found.value.message


@pytest.mark.parametrize("given", [{}, {"x-hub-signature-256": "sha256=00"}, {"x-hub-signature-256": "\udc80"}])
def test_a_body_without_its_signature_of_github_is_refused(given: dict[str, str]) -> None:
    verify("github", "key", {"x-hub-signature-256": github_signature("key", BODY)}, BODY, 0.0)
    with pytest.raises(AccessDenied) as found:
        verify("github", "key", given, BODY, 0.0)
    assert found.value.code == "bad_signature"
