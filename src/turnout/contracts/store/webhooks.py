"""Declares where webhooks are kept."""

from __future__ import annotations

from typing import Protocol

from turnout.model.webhooks import Webhook


class WebhookStore(Protocol):
    """Keeps webhooks: the digests of their tokens, never the tokens."""

    def add_webhook(self, webhook: Webhook, digest: str) -> Webhook | None:
        """Stores a webhook, at the database's time. None: another one has its name."""
        ...

    def webhook(self, digest: str) -> Webhook | None:
        """Returns the webhook with this digest of its token."""
        ...

    def webhooks(self) -> list[Webhook]:
        """Returns all webhooks, by name."""
        ...

    def rotate_webhook(self, webhook_id: str, digest: str) -> Webhook | None:
        """Replaces the digest: the token that it had is unknown from then on. None: no such webhook is there."""
        ...

    def delete_webhook(self, webhook_id: str) -> bool:
        """Deletes a webhook; runs that it has started stay. False: no such webhook is there."""
        ...
