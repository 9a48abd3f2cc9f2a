"""Tokens and the audit: digests only, one first token, revocation with all that was made with a token."""

from __future__ import annotations

import threading
import time

import pytest

from tests.conformance.test_store_retention import query
from turnout.contracts.store import Store
from turnout.errors import StoreRejected
from turnout.model.access import AuditRow, NewToken, Role, TokenState
from turnout.store import connect


def new(id: str, **options: object) -> NewToken:
    given = {"name": f"token {id}", "role": Role.OPERATOR, "digest": f"digest of {id}", **options}
    return NewToken(id=id, **given)  # type: ignore[arg-type]


def entry(target: str, actor: str = "a") -> AuditRow:
    return AuditRow(
        at=0.0,
        actor=actor,
        actor_name="ci",
        method="POST",
        target=target,
        status=201,
        code="",
        request_id="r1",
        address="127.0.0.1",
    )


def test_a_token_is_found_by_the_digest_of_its_secret_only(store: Store) -> None:
    before = time.time()
    made = store.add_token(new("a", created_by="admin"))
    assert (made.id, made.name, made.role, made.state) == ("a", "token a", Role.OPERATOR, TokenState.USABLE)
    assert made.created_by == "admin" and abs(made.created_at - before) < 60 and made.expires_at is None
    assert store.token("digest of a") == made
    assert store.token("a") is None and store.token("token a") is None


def test_the_database_has_no_secret(store: Store, store_url: str) -> None:
    store.add_token(new("a", digest="0f" * 32))
    rows = query(store_url, "select * from access_token")
    assert len(rows) == 1 and not any("to_" in str(value) for value in rows[0])


def test_an_id_or_a_digest_that_is_taken_is_refused(store: Store) -> None:
    store.add_token(new("a"))
    with pytest.raises(StoreRejected):
        store.add_token(new("a", digest="another"))
    with pytest.raises(StoreRejected):
        store.add_token(new("b", digest="digest of a"))
    assert [row.id for row in store.tokens()] == ["a"]


def test_a_token_expires(store: Store) -> None:
    store.add_token(new("short", lifetime=-1.0))
    store.add_token(new("long", lifetime=1000.0))
    assert store.token("digest of short").state is TokenState.EXPIRED  # type: ignore[union-attr]
    assert store.usable_tokens(["short", "long", "none"]) == {"long"}
    assert [(row.id, row.state) for row in store.tokens()] == [
        ("short", TokenState.EXPIRED),
        ("long", TokenState.USABLE),
    ]


def test_a_revoked_token_stays_revoked(store: Store) -> None:
    store.add_token(new("a"))
    assert store.has_usable_token()
    assert store.revoke_token("a")
    assert not store.revoke_token("a") and not store.revoke_token("none")
    found = store.token("digest of a")
    assert found is not None and found.state is TokenState.REVOKED and found.revoked_at is not None
    assert store.usable_tokens(["a"]) == frozenset() and not store.has_usable_token()


def test_the_session_of_a_browser_ends_with_its_token(store: Store) -> None:
    store.add_token(new("a"))
    store.add_token(new("browser", parent="a", lifetime=1000.0))
    assert [row.id for row in store.tokens()] == ["a"]
    assert store.usable_tokens(["browser"]) == {"browser"}
    store.revoke_token("a")
    assert store.token("digest of browser").state is TokenState.REVOKED  # type: ignore[union-attr]
    assert store.usable_tokens(["browser"]) == frozenset()


def test_a_session_of_an_expired_token_has_expired(store: Store, store_url: str) -> None:
    store.add_token(new("a"))
    store.add_token(new("browser", parent="a", lifetime=1000.0))
    query(store_url, "update access_token set expires_at = 1 where id = 'a'")
    assert store.token("digest of browser").state is TokenState.EXPIRED  # type: ignore[union-attr]
    assert store.usable_tokens(["browser"]) == frozenset()


def test_a_browser_cannot_sign_in_with_a_token_that_is_not_usable(store: Store) -> None:
    store.add_token(new("a"))
    store.revoke_token("a")
    with pytest.raises(StoreRejected):
        store.add_token(new("browser", parent="a"))
    assert store.token("digest of browser") is None


def test_sessions_that_ended_are_forgotten_and_tokens_are_kept(store: Store, store_url: str) -> None:
    store.add_token(new("a"))
    store.add_token(new("old", parent="a", lifetime=-1.0))
    store.add_token(new("out", parent="a"))
    store.revoke_token("out")
    store.add_token(new("b"))
    assert {row[0] for row in query(store_url, "select id from access_token")} == {"a", "b"}


def test_of_several_that_start_at_once_one_makes_the_first_token(store: Store, store_url: str) -> None:
    others = [connect(store_url) for _ in range(4)]
    for other in others:
        other.open()
    start = threading.Barrier(len(others))
    made: list[bool] = []

    def make(number: int) -> None:
        start.wait()
        made.append(others[number].add_first_token(new(f"first-{number}")))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(len(others))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert sorted(made) == [False, False, False, True]
    assert len(store.tokens()) == 1


def test_there_is_no_first_token_after_another_one(store: Store) -> None:
    store.add_token(new("a"))
    store.revoke_token("a")
    assert not store.add_first_token(new("b"))
    assert [row.id for row in store.tokens()] == ["a"]


def test_the_last_use_is_the_latest_that_was_recorded(store: Store) -> None:
    store.add_token(new("a"))
    store.record_use({"a": 200.0, "none": 1.0})
    store.record_use({"a": 100.0})
    assert store.token("digest of a").last_used_at == 200.0  # type: ignore[union-attr]


def test_the_audit_is_read_from_the_newest_page_by_page(store: Store) -> None:
    store.add_audit([entry(f"/{number}", actor="b" if number % 2 else "a") for number in range(5)])
    first = store.audit(limit=2)
    assert [each.target for each in first] == ["/4", "/3"] and first[0].at > 1.0
    second = store.audit(limit=2, before=first[-1].id)
    assert [each.target for each in second] == ["/2", "/1"]
    assert [each.target for each in store.audit(actor="b")] == ["/3", "/1"]
    assert store.audit(actor="none") == []


def test_old_entries_of_the_audit_are_deleted(store: Store, store_url: str) -> None:
    store.add_audit([entry("/old"), entry("/new")])
    query(store_url, "update audit set at = 1 where target = '/old'")
    assert store.prune_audit(86_400.0) == 1
    assert [each.target for each in store.audit()] == ["/new"]
