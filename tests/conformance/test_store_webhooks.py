"""Webhooks in the store: digests only, one of each name, rotation and deletion."""

from __future__ import annotations

import threading
import time

from tests.conformance.test_store_retention import query
from turnout.contracts.store import Store
from turnout.model.webhooks import Signature, Webhook
from turnout.store import connect


def hook(id: str = "a", name: str = "shop") -> Webhook:
    return Webhook(
        id=id,
        name=name,
        workflow="fulfil",
        mapping={"order": "$.data.id"},
        signature=Signature("env:KEY", "standard"),
        delivery_headers=("X-Delivery",),
        created_by="admin",
    )


def test_a_webhook_is_found_by_the_digest_of_its_token_only(store: Store, store_url: str) -> None:
    made = store.add_webhook(hook(), "digest")
    assert made is not None and abs(made.created_at - time.time()) < 60 and made.rotated_at is None
    assert (made.mapping, made.signature, made.delivery_headers) == (
        {"order": "$.data.id"},
        Signature("env:KEY", "standard"),
        ("X-Delivery",),
    )
    assert store.webhook("digest") == made and store.webhooks() == [made]
    assert store.webhook("a") is None and store.webhook("") is None
    assert "th_" not in str(query(store_url, "select * from webhook"))


def test_a_name_is_taken_once(store: Store) -> None:
    assert store.add_webhook(hook(), "one") is not None
    assert store.add_webhook(hook("b"), "two") is None and store.webhook("two") is None
    assert store.add_webhook(hook("b", "other"), "two") is not None
    assert [each.name for each in store.webhooks()] == ["other", "shop"]


def test_of_several_that_make_one_at_once_one_succeeds(store: Store, store_url: str) -> None:
    made: list[Webhook | None] = []

    def make(number: int) -> None:
        other = connect(store_url)
        other.open()
        made.append(other.add_webhook(hook(f"id{number}"), f"digest {number}"))
        other.close()

    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(each is not None for each in made) == 1 and len(store.webhooks()) == 1


def test_a_rotated_webhook_has_its_new_token_only(store: Store) -> None:
    store.add_webhook(hook(), "old")
    made = store.rotate_webhook("a", "new")
    assert made is not None and made.rotated_at is not None and store.webhook("new") == made
    assert store.webhook("old") is None and store.rotate_webhook("missing", "x") is None


def test_a_deleted_webhook_is_gone(store: Store) -> None:
    store.add_webhook(hook(), "digest")
    assert store.delete_webhook("a") and not store.delete_webhook("a")
    assert store.webhook("digest") is None and store.webhooks() == []
