"""Knows the routing rules that an orchestrator decides by: those of its program, else those that all orchestrators on
its database share, else those of its configuration."""

from __future__ import annotations

import logging
import threading
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.contracts.store import RoutingStore
from turnout.dispatcher import DefaultDispatcher, RoutingConfig
from turnout.errors import DefinitionError, InvalidRouting
from turnout.model.routing import StoredRouting

log = logging.getLogger("turnout.routing")

RoutingOrigin: TypeAlias = Literal["program", "database", "config"]


class RulesInForce(msgspec.Struct, frozen=True, kw_only=True):
    """Routing rules, and where they come from."""

    routing: RoutingConfig
    origin: RoutingOrigin
    """``program``: given to this Runner. ``database``: shared by orchestrators. ``config``: of the configuration."""
    version: int
    """The version of the shared rules; a change names the one that it replaces."""
    updated_at: float | None = None
    """Seconds since 1970 at which the shared rules were last changed."""
    updated_by: str | None = None
    problem: str | None = None
    """Why the shared rules are not in force here, if they cannot work with the executors of this orchestrator."""


class RoutingRules:
    """The rules of one orchestrator. May be used from any thread; what reads or writes the store blocks."""

    def __init__(self, store: RoutingStore, dispatcher: DefaultDispatcher, *, given: bool) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._configured = dispatcher.routing
        self.in_force = RulesInForce(routing=dispatcher.routing, origin="program" if given else "config", version=0)
        """The rules that this orchestrator decides by now."""
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Puts the shared rules in force here, unless the program gave others."""
        self._follow(self._store.shared_routing())

    def share(self, routing: RoutingConfig | None, expected: int | None, *, actor: str, session_id: str) -> list[str]:
        """Makes these rules those of all orchestrators, with None those of each configuration, if the shared ones have
        the expected version; None: whichever they have. Returns warnings. Raises InvalidRouting if they cannot work
        here, PreconditionFailed for another version."""
        if self.in_force.origin == "program":
            raise DefinitionError(
                "the program of this server gave it its routing rules: it does not follow shared ones",
                code="routing_from_program",
            )
        warnings = [] if routing is None else self._dispatcher.check(routing)
        text = None if routing is None else msgspec.json.encode(routing).decode()
        self._follow(self._store.put_shared_routing(text, expected, actor=actor, session_id=session_id))
        return warnings

    def use(self, routing: RoutingConfig) -> list[str]:
        """Makes these the rules of this orchestrator alone, until it ends. Returns warnings."""
        with self._lock:
            warnings = self._dispatcher.set_routing(routing)
            self.in_force = RulesInForce(routing=routing, origin="program", version=self.in_force.version)
            return warnings

    def _follow(self, stored: StoredRouting) -> None:
        with self._lock:
            known = self.in_force
            if known.origin == "program" or stored.version < known.version:
                return
            if stored.version == known.version and known.problem is None:
                return
            self.in_force = self._followed(stored, known)

    def _followed(self, stored: StoredRouting, known: RulesInForce) -> RulesInForce:
        about: dict[str, Any] = {
            "version": stored.version,
            "updated_at": stored.updated_at,
            "updated_by": stored.updated_by,
        }
        try:
            shared = None if stored.config is None else msgspec.json.decode(stored.config, type=RoutingConfig)
            routing = self._configured if shared is None else shared
            self._dispatcher.set_routing(routing)
        except (InvalidRouting, msgspec.MsgspecError) as error:
            # The last rules that work stay in force: other orchestrators may have the executors that these name.
            log.error("version %d of the shared routing rules cannot work here: %s", stored.version, error)
            return msgspec.structs.replace(known, problem=str(error), **about)
        origin: RoutingOrigin = "config" if shared is None else "database"
        log.info("routing rules of the %s are in force, version %d", origin, stored.version)
        return RulesInForce(routing=routing, origin=origin, **about)
