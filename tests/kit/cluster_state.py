"""The objects of an emulated cluster, and the history that watches read: what an API server keeps."""

from __future__ import annotations

import copy
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]
KINDS = {"jobs": ("batch/v1", "Job"), "pods": ("v1", "Pod"), "secrets": ("v1", "Secret"), "nodes": ("v1", "Node")}


class Change(NamedTuple):
    version: int
    plural: str
    kind: str
    item: Json


class Conflict(Exception):
    """The name is taken."""


class ClusterState:
    """Objects by kind and name, of one namespace. Every change has the next version, and wakes those who wait."""

    interval = 0.02
    """Seconds between two looks of the Job controller while nothing changes."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.version = 1
        self.compacted = 0
        """The history up to here is forgotten: a watch that would continue there gets 410."""
        self._objects: dict[str, dict[str, Json]] = {plural: {} for plural in KINDS}
        self._history: list[Change] = []
        self.created: list[tuple[str, str]] = []
        """Every creation that succeeded: kind and name."""

    def get(self, plural: str, name: str) -> Json | None:
        with self.changed:
            return copy.deepcopy(self._objects[plural].get(name))

    def all(self, plural: str, selector: Mapping[str, str] | None = None) -> list[Json]:
        with self.changed:
            found = [each for each in self._objects[plural].values() if _fits(each, selector or {})]
            return copy.deepcopy(found)

    def create(self, plural: str, item: Json) -> Json:
        with self.changed:
            name = item["metadata"]["name"]
            if name in self._objects[plural]:
                raise Conflict(name)
            made = copy.deepcopy(item)
            made["apiVersion"], made["kind"] = KINDS[plural]
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            made["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": stamp, "namespace": "default"}
            self._objects[plural][name] = made
            self.created.append((plural, name))
            return self._record("ADDED", plural, made)

    def update(self, plural: str, name: str, change: Callable[[Json], None]) -> Json | None:
        with self.changed:
            item = self._objects[plural].get(name)
            if item is None:
                return None
            change(item)
            return self._record("MODIFIED", plural, item)

    def remove(self, plural: str, name: str) -> Json | None:
        with self.changed:
            item = self._objects[plural].pop(name, None)
            return None if item is None else self._record("DELETED", plural, item)

    def _record(self, kind: str, plural: str, item: Json) -> Json:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        kept = copy.deepcopy(item)
        self._history.append(Change(self.version, plural, kind, kept))
        self.changed.notify_all()
        return copy.deepcopy(kept)

    def compact(self) -> None:
        """Forgets the history, as etcd does."""
        with self.changed:
            self.version += 1
            self.compacted = self.version
            self._history.clear()
            self.changed.notify_all()

    def since(self, plural: str, version: int, selector: Mapping[str, str]) -> list[Change] | None:
        """The changes after a version; None if that is too old."""
        with self.changed:
            if version < self.compacted:
                return None
            return [
                each
                for each in self._history
                if each.version > version and each.plural == plural and _fits(each.item, selector)
            ]


def selector_of(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if part)


def _fits(item: Json, selector: Mapping[str, str]) -> bool:
    labels = item["metadata"].get("labels") or {}
    return all(labels.get(name) == value for name, value in selector.items())
