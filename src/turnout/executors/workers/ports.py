"""What the hub gets from its orchestrator before it starts."""

from __future__ import annotations

from turnout.contracts.executor import Loader
from turnout.contracts.workers import Holders


class OrchestratorPorts:
    """The loader of attempts, and the store's side of workers. Both are bound once."""

    loader: Loader
    holders: Holders
