"""Webhooks: their tokens, the way from a body to parameters, and the ids of deliveries."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.errors import InvalidInput
from turnout.model.access import TOKEN_PATTERN, masked
from turnout.model.secret_reference import SecretReference
from turnout.model.webhooks import (
    Signature,
    Webhook,
    checked,
    delivery_id,
    mapped_input,
    new_webhook_token,
)


def hook(**options: Any) -> Webhook:
    return Webhook(**{"id": "5f1c", "name": "shop", "workflow": "fulfil", **options})


def test_a_token_has_256_bits_and_is_masked_whole_or_in_part() -> None:
    token = new_webhook_token()
    assert token != new_webhook_token() and len(token) == 3 + 43 and TOKEN_PATTERN.fullmatch(token)
    for shown in (token, token[:20], f"{token}x"):
        assert masked(f"/api/v1/hooks/{shown}") == "/api/v1/hooks/th_***"
    assert masked("/api/v1/hooks/5f1c0d2a9b47") == "/api/v1/hooks/5f1c0d2a9b47"


@pytest.mark.parametrize(
    ("mapping", "body", "expected"),
    [
        ({}, {"order": 7, "sender": "x"}, {"order": 7}),
        ({}, {}, {}),
        ({"order": "$.data.id"}, {"data": {"id": 7}, "order": 1}, {"order": 7}),
        ({"order": "$.items[0].id"}, {"items": [{"id": 3}]}, {"order": 3}),
        ({"order": "$[1]"}, [1, 2], {"order": 2}),
        ({"order": "$"}, {"a": 1}, {"order": {"a": 1}}),
        ({"order": "$"}, "text", {"order": "text"}),
        ({"order": "$.missing", "note": "$.note"}, {"note": "n"}, {"note": "n"}),
    ],
)
def test_a_body_becomes_parameters(mapping: dict[str, str], body: Any, expected: dict[str, Any]) -> None:
    assert mapped_input(hook(mapping=mapping), body, {"order", "note"}) == expected


def test_a_workflow_in_context_style_takes_every_field() -> None:
    assert mapped_input(hook(), {"anything": 1}, None) == {"anything": 1}


@pytest.mark.parametrize("body", [[1], "text", 7, None, True])
def test_a_body_that_is_no_object_needs_a_mapping(body: Any) -> None:
    with pytest.raises(InvalidInput) as found:
        mapped_input(hook(), body, {"order"})
    assert found.value.code == "webhook_mismatch" and "mapping" in found.value.message


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"name": "  "}, "bad_webhook", "name"),
        ({"name": "a\0b"}, "text_nul", "name"),
        ({"mapping": {"order": "data.id"}}, "bad_webhook_mapping", "mapping.order"),
        ({"mapping": {"order": "$.data..id"}}, "bad_webhook_mapping", "mapping.order"),
        ({"mapping": {f"p{n}": "$" for n in range(101)}}, "bad_webhook", "mapping"),
        ({"delivery_headers": ("X Y",)}, "bad_webhook", "delivery_headers"),
        ({"delivery_headers": ("X",) * 11}, "bad_webhook", "delivery_headers"),
        ({"signature": Signature("hunter2")}, "bad_secret_reference", "signature.secret"),
        ({"signature": Signature("env:")}, "bad_secret_reference", "signature.secret"),
        ({"signature": Signature("env:A B")}, "bad_secret_reference", "signature.secret"),
    ],
)
def test_a_webhook_that_cannot_work_is_refused(options: dict[str, Any], code: str, field: str) -> None:
    with pytest.raises(InvalidInput) as found:
        checked(hook(**options))
    assert (found.value.code, found.value.fields["field"]) == (code, field)
    assert "hunter2" not in found.value.message, "what was given may be the secret itself"


def test_a_secret_is_named_by_its_place() -> None:
    assert SecretReference.parse("env:KEY", "secret") == SecretReference("env", "KEY")
    assert str(SecretReference.parse("file:/run/secrets/key", "secret")) == "file:/run/secrets/key"


def test_the_first_header_of_the_list_names_the_delivery() -> None:
    headers = {"webhook-id": "m1", "x-github-delivery": "g1"}
    assert delivery_id(hook(), headers) == "g1"
    assert delivery_id(hook(delivery_headers=("Webhook-Id",)), headers) == "m1"
    assert delivery_id(hook(), {}) is None


@pytest.mark.parametrize("given", ["", " a", "a\n", "ä", "x" * 256])
def test_a_delivery_id_is_printable_ascii(given: str) -> None:
    with pytest.raises(InvalidInput) as found:
        delivery_id(hook(), {"webhook-id": given})
    assert found.value.code == "bad_delivery_id"
