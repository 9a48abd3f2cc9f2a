"""Which graph does today's code draw for a workflow? Made once for as long as the code stays the same."""

from __future__ import annotations

from turnout.authoring.registry import Registry
from turnout.model.graph import Graph


class Graphs:
    """Graphs of the registered workflows, by full name. May be asked from any thread."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._graphs: dict[str, Graph] = {}

    def today(self, full_name: str) -> Graph | None:
        """The graph, or None if this program does not have the workflow."""
        spec = self._registry.spec_of(full_name)
        if spec is None:
            return None
        graph = self._graphs.get(full_name)
        if graph is None or graph.spec is not spec:
            graph = self._graphs[full_name] = Graph(spec)
        return graph
