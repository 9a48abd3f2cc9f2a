"""The graphs of stored workflow versions, each decoded once."""

from __future__ import annotations

from turnout.contracts.store import ReadStore
from turnout.errors import RunNotFound
from turnout.model.graph import Graph
from turnout.model.spec import decode_spec


class GraphCache:
    """Graphs by version. May be used from any thread."""

    def __init__(self, store: ReadStore) -> None:
        self._store = store
        self._graphs: dict[str, Graph] = {}

    def add(self, graph: Graph) -> None:
        self._graphs[graph.version] = graph

    def decoded(self, version: str, spec: str) -> Graph:
        """The graph of this version, whose stored text is at hand."""
        graph = self._graphs.get(version)
        if graph is None:
            graph = self._graphs[version] = Graph(decode_spec(spec), version)
        return graph

    def stored(self, version: str) -> Graph:
        """The graph of this version. Reads the store if it is not known yet; blocks."""
        graph = self._graphs.get(version)
        if graph is not None:
            return graph
        text = self._store.workflow(version)
        if text is None:
            raise RunNotFound(f"workflow version {version} is not stored", version=version)
        return self.decoded(version, text)
