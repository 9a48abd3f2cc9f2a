"""Loads the Python files of workflow folders, and loads them again where that is asked for."""

from __future__ import annotations

from pathlib import Path

from turnout.runner.definitions.catalog import Catalog
from turnout.runner.definitions.compilation import AnyWorkflow
from turnout.runner.modules import load_module, reload_file
from turnout.runner.targets import workflows_of
from turnout.runner.yaml_targets import DeclaredTasks


class PythonFiles:
    """The modules of Python files. A module that was loaded once is loaded again only with ``reload``: runs that were
    submitted before keep their functions, but other modules that it imports stay as they are."""

    def __init__(self, catalog: Catalog, *, reload: bool) -> None:
        self._catalog = catalog
        self.reload = reload
        self._loaded: set[Path] = set()

    def load(self, path: Path) -> list[AnyWorkflow]:
        """Returns the workflows of the file, registered; none if it only has what others import. Raises
        InvalidTarget if it cannot be imported, DefinitionError if a workflow is not valid."""
        again = path in self._loaded
        module = reload_file(path) if again else load_module(str(path))
        self._loaded.add(path)
        found = [each for each in workflows_of(module).values() if each.source.home is vars(module)]
        self._catalog.add_python(found, dict(DeclaredTasks(lambda: [module])), replace=again)
        return found
