"""Knows the tokens of requests: looks them up, makes and revokes them, and watches those of open streams."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import msgspec

from turnout.contracts.store import AccessStore
from turnout.errors import AccessDenied, InvalidInput, StoreError, StoreRejected, TokenNotFound
from turnout.model.access import (
    SESSION_PREFIX,
    NewToken,
    Role,
    TokenRow,
    TokenState,
    digest_of,
    new_secret,
    new_token_id,
)
from turnout.model.durations import seconds
from turnout.model.texts import checked_text
from turnout.runner.server_settings import ServerSettings

log = logging.getLogger("turnout.server")

T = TypeVar("T")
InThread = Callable[..., Awaitable[Any]]

CHECK_INTERVAL = 1.0
"""Seconds for which a token that was looked up counts as usable: a revocation takes effect within that time."""
USE_INTERVAL = 60.0
"""Seconds between two writes of when tokens were last used."""
MAX_KNOWN = 10_000
"""Tokens that are remembered between look-ups; all are forgotten at once when there are more."""
MAX_NAME_LENGTH = 100
CODE_LIFETIME = 600.0
"""Seconds for which the code of a sign-in link is valid."""
MAX_CODES = 100


class Made(msgspec.Struct, frozen=True):
    """A new token with its secret, which is shown once."""

    secret: str
    row: TokenRow


class Access:
    """The tokens of one server. Its coroutines run on the server's loop."""

    def __init__(self, store: AccessStore, settings: ServerSettings, in_thread: InThread) -> None:
        self._store = store
        self._settings = settings
        self._in_thread = in_thread
        self._known: dict[str, tuple[float, TokenRow]] = {}
        """By digest: when it was looked up, and what was found."""
        self._used: dict[str, float] = {}
        self._written = time.monotonic()
        self._writing: asyncio.Task[None] | None = None
        self._watched: dict[str, set[asyncio.Event]] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._codes: dict[str, tuple[float, TokenRow]] = {}
        """Digests of codes of sign-in links, each with the time until which it is valid and its token."""

    # -- look-ups -----------------------------------------------------------------------------------------------
    async def token_of(self, secret: str) -> TokenRow:
        """Returns the usable token with this secret. Raises AccessDenied if there is none."""
        digest = digest_of(secret)
        found_at, row = self._known.get(digest, (0.0, None))
        if row is None or time.monotonic() - found_at > CHECK_INTERVAL:
            row = await self._in_thread(self._store.token, digest)
            self._remember(digest, row)
        return _usable(row)

    def _remember(self, digest: str, row: TokenRow | None) -> None:
        if row is None:
            self._known.pop(digest, None)
            return
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[digest] = time.monotonic(), row

    def note_use(self, token: TokenRow) -> None:
        """Remembers that the token was used; written now and then."""
        self._used[token.id] = time.time()
        if token.parent is not None:
            self._used[token.parent] = self._used[token.id]
        if time.monotonic() - self._written > USE_INTERVAL and (self._writing is None or self._writing.done()):
            self._writing = asyncio.get_running_loop().create_task(self.write_uses(), name="turnout-token-uses")

    async def write_uses(self) -> None:
        """Stores when tokens were last used."""
        used, self._used, self._written = self._used, {}, time.monotonic()
        if not used:
            return
        try:
            await self._in_thread(self._store.record_use, used)
        except StoreError as error:
            log.warning("the times at which tokens were used could not be stored: %s", error)

    # -- tokens -------------------------------------------------------------------------------------------------
    async def create(self, name: str, role: Role, *, by: str, lifetime: float | None = None) -> Made:
        return await self._in_thread(create_token, self._store, name, role, by=by, lifetime=lifetime)

    async def tokens(self) -> list[TokenRow]:
        return await self._in_thread(self._store.tokens)

    async def revoke(self, wanted: str) -> TokenRow:
        """Revokes the token with this id or name. Raises TokenNotFound."""
        row = await self._in_thread(revoke_token, self._store, wanted)
        self._known.clear()
        return row

    # -- browsers -----------------------------------------------------------------------------------------------
    def new_code(self, token: TokenRow) -> str:
        """Returns the code of a link that signs a browser in once, with the role of this token."""
        now = time.monotonic()
        self._codes = {digest: each for digest, each in self._codes.items() if each[0] > now}
        if len(self._codes) >= MAX_CODES:
            self._codes.clear()
        code = secrets.token_urlsafe(24)
        self._codes[digest_of(code)] = now + CODE_LIFETIME, token
        return code

    def redeem(self, code: str) -> TokenRow:
        """Returns the token of a code, which is valid once. Raises AccessDenied for one that is unknown or used."""
        until, token = self._codes.pop(digest_of(code), (0.0, None))
        if token is None or until < time.monotonic():
            raise AccessDenied(
                "this sign-in code is unknown, used or too old: each works once; start again for a new link, or sign "
                "in with a token",
                code="unknown_code",
            )
        return token

    async def sign_in(self, row: TokenRow) -> Made:
        """Returns a session for a browser; it ends with the token."""
        new = NewToken(
            id=new_token_id(),
            name=row.name,
            role=row.role,
            digest="",
            created_by=row.id,
            lifetime=seconds(self._settings.session_lifetime),
            parent=row.id,
        )
        secret = new_secret(SESSION_PREFIX)
        try:
            return Made(secret, await self._in_thread(self._store.add_token, _with_digest(new, secret)))
        except StoreRejected as error:  # the token was revoked since it was looked up
            raise AccessDenied(f"the token {row.name!r} was revoked", code="revoked_token") from error

    async def sign_out(self, session_id: str) -> None:
        await self._in_thread(self._store.revoke_token, session_id)
        self._known.clear()

    # -- open streams -------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def watch(self, token_id: str) -> Iterator[asyncio.Event]:
        """Yields an event that is set within two seconds after the token was revoked or has expired."""
        revoked = asyncio.Event()
        self._watched.setdefault(token_id, set()).add(revoked)
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.get_running_loop().create_task(self._watch(), name="turnout-access")
        try:
            yield revoked
        finally:
            left = self._watched[token_id]
            left.discard(revoked)
            if not left:
                del self._watched[token_id]

    async def _watch(self) -> None:
        """Checks watched tokens, all in one statement, for as long as there are any."""
        while self._watched:
            await asyncio.sleep(CHECK_INTERVAL)
            wanted = list(self._watched)
            try:
                usable = await self._in_thread(self._store.usable_tokens, wanted)
            except StoreError:
                continue  # an outage revokes nothing: requests fail meanwhile, and streams have nothing to send
            for token_id in wanted:
                if token_id not in usable:
                    for event in self._watched.get(token_id, ()):
                        event.set()


def csrf_token(secret: str) -> str:
    """Returns what a page has to send beside the cookie with this secret: another site cannot read it."""
    return hmac.new(secret.encode(), b"turnout csrf", hashlib.sha256).hexdigest()


def create_token(store: AccessStore, name: str, role: Role, *, by: str = "", lifetime: float | None = None) -> Made:
    """Stores a new token, and returns it with its secret. Raises InvalidInput for a name that says nothing."""
    if not name.strip():
        raise InvalidInput(
            "the name of the token is empty: write that of the person or program that uses it", field="name"
        )
    checked_text(name, "name", longest=MAX_NAME_LENGTH)
    secret = new_secret()
    new = NewToken(id=new_token_id(), name=name, role=role, digest="", created_by=by, lifetime=lifetime)
    return Made(secret, store.add_token(_with_digest(new, secret)))


def create_first_token(store: AccessStore) -> str | None:
    """Returns the secret of the first admin token; None if a token was stored before, here or elsewhere."""
    secret = new_secret()
    new = NewToken(id=new_token_id(), name="first", role=Role.ADMIN, digest="", created_by="first start")
    return secret if store.add_first_token(_with_digest(new, secret)) else None


def revoke_token(store: AccessStore, wanted: str) -> TokenRow:
    """Revokes the token with this id, or with this name if it is the only one."""
    rows = [row for row in store.tokens() if row.state is not TokenState.REVOKED]
    found = [row for row in rows if row.id == wanted] or [row for row in rows if row.name == wanted]
    if len(found) > 1:
        ids = ", ".join(row.id for row in found)
        raise TokenNotFound(f"{len(found)} tokens are named {wanted!r}: give the id, {ids}", code="ambiguous_token")
    if not found or not store.revoke_token(found[0].id):
        raise TokenNotFound(f"there is no token {wanted!r} that is not revoked", token=wanted)
    return next((row for row in store.tokens() if row.id == found[0].id), found[0])


def _with_digest(new: NewToken, secret: str) -> NewToken:
    return msgspec.structs.replace(new, digest=digest_of(secret))


def _usable(row: TokenRow | None) -> TokenRow:
    if row is None:
        raise AccessDenied("this token is unknown here: check that all of it was copied", code="unknown_token")
    if row.state is TokenState.REVOKED:
        raise AccessDenied(f"the token {row.name!r} was revoked", code="revoked_token")
    if row.state is TokenState.EXPIRED:
        raise AccessDenied(f"the token {row.name!r} has expired", code="expired_token")
    return row
