"""The workflow versions that this session has stored: a run is inserted after its version."""

from __future__ import annotations

import msgspec

from turnout.contracts.store import LedgerStore
from turnout.model.graph import Graph
from turnout.orchestration.background import Background
from turnout.orchestration.loading.graph_cache import GraphCache


class StoredVersions:
    """Stores each version once per session."""

    def __init__(self, store: LedgerStore, graphs: GraphCache, background: Background) -> None:
        self._store = store
        self._graphs = graphs
        self._in_thread = background.in_thread
        self._stored: set[str] = set()

    async def store(self, graph: Graph) -> None:
        if graph.version not in self._stored:
            text = msgspec.json.encode(graph.spec).decode()
            await self._in_thread(self._store.put_workflow, graph.version, graph.spec.full_name, text)
            self._stored.add(graph.version)
            self._graphs.add(graph)

    def forget(self) -> None:
        """A new session stores its versions anew, or they might be pruned under it."""
        self._stored.clear()
