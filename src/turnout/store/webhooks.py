"""Reads and writes webhooks."""

from __future__ import annotations

from typing import Any

import msgspec

from turnout.model.webhooks import Signature, Webhook
from turnout.store.database import Database, json_text


class Webhooks:
    """Webhooks by the digest of their token, by id and by name."""

    _database: Database

    def add_webhook(self, webhook: Webhook, digest: str) -> Webhook | None:
        with self._database.transaction() as execute:
            added = execute(
                "add_webhook",
                id=webhook.id,
                name=webhook.name,
                workflow=webhook.workflow,
                digest=digest,
                mapping=json_text(webhook.mapping),
                signature=None if webhook.signature is None else json_text(webhook.signature),
                delivery_headers=json_text(webhook.delivery_headers),
                created_by=webhook.created_by,
            )
            return _webhook(execute("webhook", id=webhook.id)[0]) if added else None

    def webhook(self, digest: str) -> Webhook | None:
        rows = self._database.read("webhook_of", digest=digest)
        return _webhook(rows[0]) if rows else None

    def webhooks(self) -> list[Webhook]:
        return [_webhook(row) for row in self._database.read("webhooks")]

    def rotate_webhook(self, webhook_id: str, digest: str) -> Webhook | None:
        with self._database.transaction() as execute:
            changed = execute("rotate_webhook", id=webhook_id, digest=digest)
            return _webhook(execute("webhook", id=webhook_id)[0]) if changed else None

    def delete_webhook(self, webhook_id: str) -> bool:
        return bool(self._database.write("delete_webhook", id=webhook_id))


_mapping = msgspec.json.Decoder(dict[str, str]).decode
_signature = msgspec.json.Decoder(Signature).decode
_headers = msgspec.json.Decoder(tuple[str, ...]).decode


def _webhook(row: tuple[Any, ...]) -> Webhook:
    id, name, workflow, mapping, signature, headers, created_at, created_by, rotated_at = row
    return Webhook(
        id=id,
        name=name,
        workflow=workflow,
        mapping=_mapping(mapping),
        signature=None if signature is None else _signature(signature),
        delivery_headers=_headers(headers),
        created_at=created_at,
        created_by=created_by,
        rotated_at=rotated_at,
    )
