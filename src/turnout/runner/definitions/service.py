"""Puts together what follows stored definitions: the catalog, the editor and the watch over workflow folders."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType

from turnout.authoring.registry import Registry
from turnout.authoring.yaml.findings import Finding
from turnout.contracts.store import Store
from turnout.model.limits import LimitSize
from turnout.runner.definitions.catalog import Catalog
from turnout.runner.definitions.compilation import AnyTask, AnyWorkflow, Compile
from turnout.runner.definitions.editor import NO_SIZES, Editor
from turnout.runner.definitions.folder_import import FolderImport
from turnout.runner.definitions.folder_watch import RELOAD_INTERVAL, WATCH_INTERVAL, FolderWatch
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.runner.yaml_targets import DeclaredTasks


class Definitions:
    """The stored definitions of one orchestrator."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        settings: DefinitionSettings,
        compile: Compile,
        *,
        tenant: str,
        workflows: Iterable[AnyWorkflow],
        hub: bool,
        limits: Mapping[str, LimitSize] = NO_SIZES,
    ) -> None:
        own = list(workflows)
        tasks = _declared(own, settings.modules)
        self.catalog = Catalog(store, registry, compile, tenant=tenant, workflows=own, tasks=tasks)
        self.editor = Editor(
            store, self.catalog, hub=hub, allow_local_execution=settings.allow_local_execution, limits=limits
        )
        imports = [
            FolderImport(folder, store, self.catalog, reload_python=settings.reload) for folder in settings.folders
        ]
        self._folders = FolderWatch(imports, RELOAD_INTERVAL if settings.reload else WATCH_INTERVAL)

    @property
    def problems(self) -> dict[str, tuple[Finding, ...]]:
        """Findings of files that no definition can carry, by file."""
        return self._folders.problems

    def load(self) -> None:
        """Puts what is stored in force, then imports the folders. Called before any run is claimed."""
        with self.catalog.loading():
            self.catalog.refresh()
            self._folders.start()

    def stop(self) -> None:
        self._folders.stop()


def _declared(workflows: Sequence[AnyWorkflow], modules: Sequence[ModuleType]) -> dict[str, AnyTask]:
    """Returns the tasks that these modules and those of the workflows declare."""
    names = sorted({str(each.source.home.get("__name__")) for each in workflows})
    homes = [sys.modules[name] for name in names if name in sys.modules]
    return dict(DeclaredTasks(lambda: [*homes, *modules]))
