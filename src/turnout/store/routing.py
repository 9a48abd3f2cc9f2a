"""Reads and writes routing rules: those that all orchestrators share, and the record of every version."""

from __future__ import annotations

from turnout.errors import PreconditionFailed
from turnout.model.routing import StoredRouting
from turnout.store.database import Database
from turnout.store.revision import lock_revision, next_revision


class Routing:
    """The routing rules. Changes of the shared ones pass the counter of revisions one after the other, as those of
    definitions do."""

    _database: Database

    def shared_routing(self) -> StoredRouting:
        return StoredRouting(*self._database.read("shared_routing")[0])

    def put_shared_routing(
        self, config: str | None, expected: int | None, *, actor: str, session_id: str
    ) -> StoredRouting:
        with self._database.transaction() as execute:
            lock_revision(execute)
            known = StoredRouting(*execute("shared_routing")[0])
            if expected is not None and expected != known.version:
                raise PreconditionFailed(
                    f"the routing rules were changed since version {expected} was read: their version is "
                    f"{known.version}; read them again",
                    version=known.version,
                )
            if config == known.config:
                return known
            if config is not None:
                execute("record_routing", session=session_id, config=config)
            next_revision(self._database, execute)
            return StoredRouting(*execute("put_shared_routing", config=config, actor=actor)[0])

    def record_routing(self, session_id: str, config: str) -> int:
        return int(self._database.write("record_routing", session=session_id, config=config)[0][0])
