"""Imports the files of one workflow folder into the store, and marks what they no longer define as removed.

A file is imported when it changes, and once at start if the store has another text: the last change wins, whichever
server sees it. A broken file keeps its findings beside the version that is in force.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from turnout.authoring.yaml.findings import Finding
from turnout.contracts.store import Store
from turnout.errors import StaleDefinition, TurnoutError
from turnout.model.definitions import DefinitionKind, NewDefinition, text_digest
from turnout.runner.definitions.catalog import Catalog
from turnout.runner.definitions.compilation import Attempted, finding_of, findings_text
from turnout.runner.definitions.folder_files import MAX_FILE_BYTES, Due, Stamp, due, look, read_settled
from turnout.runner.definitions.imported_file import Outcome, broken, identifier_of
from turnout.runner.definitions.python_files import PythonFiles
from turnout.runner.workflow_files import BASES, YAML_SUFFIXES

log = logging.getLogger("turnout.definitions")

ACTOR = "file"
RESTART = "the file has changed since it was loaded: restart the server to load it"


class FolderImport:
    """The files of one folder. Used by one thread."""

    def __init__(self, folder: Path, store: Store, catalog: Catalog, *, reload_python: bool = False) -> None:
        self.folder = folder
        self._store = store
        self._catalog = catalog
        self._python = PythonFiles(catalog, reload=reload_python)
        self._settles = not reload_python
        self._done: dict[str, Stamp] = {}
        self._seen: dict[str, Stamp] = {}
        self._names: dict[str, frozenset[str]] = {}
        """Full names of the workflows that each file defines."""
        self._broken: dict[str, tuple[Finding, ...]] = {}
        self._base: str | None = None
        self._revision = 0
        """What was in force when broken files were last compiled."""
        self.problems: dict[str, tuple[Finding, ...]] = {}
        """Of files whose findings no definition can carry: another one has their name."""

    def label(self, file: str) -> str:
        """Returns the name of a file in the store: the same on servers that have the folder in different places."""
        return f"{self.folder.name}/{file}"

    # -- looks at the folder ----------------------------------------------------------------------------------------
    def start(self) -> None:
        """Imports every file, and marks definitions as removed whose files have gone since the last start."""
        now = self._look()
        if now is None:
            return
        self._seen = now
        labels = {self.label(file) for file in now}
        prefix = self.label("")
        for name in self._catalog.names:
            known = self._catalog.known(name)
            file = None if known is None else known.stored.file
            if known is not None and file is not None and not known.stored.removed and file.startswith(prefix):
                if file in labels:
                    rest = file.removeprefix(prefix)
                    self._names[rest] = self._names.get(rest, frozenset()) | {name}
                else:
                    self._remove(name, file)
        self._import(due({}, {}, now, settle=False), now)

    def poll(self) -> bool:
        """Looks at the folder once. Returns True if a file was imported or found to be broken or gone."""
        now = self._look()
        if now is None:
            return False
        changes = due(self._done, self._seen, now, settle=self._settles)
        self._seen = now
        # A file that was broken may be valid once the workflow that it calls exists.
        again = tuple(file for file in self._broken if file in now) if self._catalog.revision != self._revision else ()
        if not (changes.changed or changes.gone or changes.base or again):
            return False
        changed = tuple(sorted({*changes.changed, *again}))
        self._import(msgspec.structs.replace(changes, changed=changed), now)
        return True

    def _look(self) -> dict[str, Stamp] | None:
        now = look(self.folder)
        if now is None and self._seen:
            log.warning("the workflow folder %s cannot be read: its definitions stay as they are", self.folder)
            self._seen = {}
        return now

    # -- files ----------------------------------------------------------------------------------------------------
    def _import(self, changes: Due, now: Mapping[str, Stamp]) -> None:
        if changes.base:
            self._read_base(now)
        for file in changes.gone:
            self._forget(file)
        base_changed = [file for file in now if file.endswith(YAML_SUFFIXES) and changes.base and file not in BASES]
        open_ = sorted({*changes.changed, *base_changed})
        outcomes: dict[str, Outcome] = {}
        # A workflow can be compiled when those that it calls are in force, so what fails is retried as long as
        # anything succeeds.
        while open_:
            self._revision = self._catalog.revision
            outcomes = {file: found for file in open_ if (found := self._outcome(file, now[file])) is not None}
            good = [file for file, outcome in outcomes.items() if outcome.unchanged or self._put(file, outcome)]
            for file in good:
                self._done[file] = now[file]
            open_ = [file for file in outcomes if file not in good] if good else []
        for file, outcome in outcomes.items():
            if outcome.findings:
                self._done[file] = now[file]
                self._report(file, self._findings(file, outcomes))
        self._catalog.refresh()

    def _read_base(self, now: Mapping[str, Stamp]) -> None:
        file = next((each for each in sorted(BASES) if each in now), None)
        self._base = None
        for name in BASES:
            self._done.pop(name, None)
        if file is not None:
            try:
                self._base = read_settled(self.folder / file, now[file])
            except (OSError, UnicodeDecodeError) as error:
                log.warning("%s cannot be read: %s", self.folder / file, error)
            self._done[file] = now[file]

    def _outcome(self, file: str, stamp: Stamp) -> Outcome | None:
        """Returns what the file defines; None if it was changed again meanwhile."""
        if stamp.size > MAX_FILE_BYTES:
            return broken("file_too_large", f"the file has {stamp.size:,} bytes; {MAX_FILE_BYTES:,} are the most")
        try:
            text = read_settled(self.folder / file, stamp)
        except (OSError, UnicodeDecodeError) as error:
            return broken("unreadable_file", f"the file cannot be read: {error}")
        if text is None:
            return None
        return self._python_outcome(file, text) if file.endswith(".py") else self._yaml_outcome(file, text)

    def _yaml_outcome(self, file: str, text: str) -> Outcome:
        if self._is_in_force(file, text_digest(text, self._base)):
            return Outcome(unchanged=True)
        attempted = self._catalog.attempt(text, name=Path(file).stem, base=self._base)
        if not attempted.workflows:
            return Outcome(findings=attempted.findings, text=text)
        return Outcome((self._new(file, text, "yaml", attempted),))

    def _findings(self, file: str, outcomes: Mapping[str, Outcome]) -> tuple[Finding, ...]:
        """Returns the findings of a file that stays broken. A call of another such file is explained by the error in
        that one, or by the circle in which they call one another."""
        own = outcomes[file]
        if own.text is None:
            return own.findings
        pending = {Path(each).stem: found.text for each, found in outcomes.items() if found.text is not None}
        return self._catalog.attempt(own.text, name=Path(file).stem, base=self._base, pending=pending).findings

    def _is_in_force(self, file: str, digest: str) -> bool:
        known = [self._catalog.known(name) for name in self._names.get(file, ())]
        if len(known) != 1 or known[0] is None or known[0].workflow is None:
            return False
        stored, current = known[0].stored, known[0].stored.current
        valid = stored.exists and stored.findings is None and stored.file == self.label(file)
        return valid and current is not None and current.digest == digest

    def _python_outcome(self, file: str, text: str) -> Outcome:
        if file in self._done and not self._python.reload and file not in self._broken:
            return Outcome(findings=(Finding("warning", "restart_needed", RESTART, 1, 1),))
        try:
            workflows = self._python.load(self.folder / file)
        except TurnoutError as error:
            return Outcome(findings=(finding_of(error),))
        return Outcome(tuple(self._new(file, text, "python", Attempted((each,))) for each in workflows))

    def _new(self, file: str, text: str, kind: DefinitionKind, attempted: Attempted) -> NewDefinition:
        workflow = attempted.workflows[0]
        return NewDefinition(
            full_name=self._catalog.full_name(workflow),
            kind=kind,
            origin="file",
            text=text,
            base=self._base if kind == "yaml" else None,
            file=self.label(file),
            spec_version=self._catalog.store_specs(attempted.workflows),
            actor=ACTOR,
        )

    # -- the store --------------------------------------------------------------------------------------------------
    def _put(self, file: str, outcome: Outcome) -> bool:
        """Puts what a file defines in force. False: it has errors, another definition has the name, or was changed
        meanwhile."""
        if outcome.findings:
            return False
        taken = self._taken(file, outcome.new)
        if taken:
            self.problems[file] = self._broken[file] = taken
            self._done[file] = self._seen[file]
            return False
        for new in outcome.new:
            known = self._catalog.known(new.full_name)
            expected = known.stored.version if known is not None and known.stored.exists else 0
            try:
                self._store.put_definition(new, expected)
            except StaleDefinition:
                self._catalog.refresh()
                return False
        for name in self._names.get(file, frozenset()) - {new.full_name for new in outcome.new}:
            self._remove(name, self.label(file))
        self._names[file] = frozenset(new.full_name for new in outcome.new)
        self._broken.pop(file, None)
        self.problems.pop(file, None)
        self._catalog.refresh()
        return True

    def _taken(self, file: str, new: Sequence[NewDefinition]) -> tuple[Finding, ...]:
        found: list[Finding] = []
        for each in new:
            known = self._catalog.known(each.full_name)
            if known is None or known.stored.removed or known.stored.file == each.file:
                continue
            other = known.stored.file
            if other is not None and other.removeprefix(self.label("")) not in self._seen:
                continue  # the file was renamed
            where = "was uploaded through the API" if other is None else f"is defined by {other}"
            message = f"a workflow of the same name {where}: give this one another name, or remove the other"
            found.append(Finding("error", "duplicate_definition", message, 1, 1))
        return tuple(found)

    def _report(self, file: str, findings: tuple[Finding, ...]) -> None:
        said = self._broken.get(file) == findings
        self._broken[file] = findings
        kind: DefinitionKind = "python" if file.endswith(".py") else "yaml"
        names = self._names.get(file) or frozenset({self._catalog.yaml_name(identifier_of(Path(file).stem))})
        for name in names:
            stored = self._store.put_findings(name, kind, self.label(file), findings_text(findings), ACTOR)
            if stored is not None and stored.file != self.label(file):
                self.problems[file] = findings
        self._names[file] = names
        if not said:
            first = next((each for each in findings if each.severity == "error"), findings[0])
            log.warning("%s: line %d: %s", self.folder / file, first.line, first.message)

    def _forget(self, file: str) -> None:
        self._done.pop(file, None)
        self._broken.pop(file, None)
        self.problems.pop(file, None)
        for name in self._names.pop(file, frozenset()):
            self._remove(name, self.label(file))

    def _remove(self, name: str, label: str) -> None:
        """Marks a definition as removed if it still belongs to this file. Its open runs go on."""
        stored = self._store.definition(name)
        if stored is None or stored.file != label:
            return
        if stored.removed:
            self._store.put_findings(name, stored.kind, label, None, ACTOR)
        else:
            self._store.remove_definition(name, None, ACTOR, with_open_runs=True)
            log.info("workflow %s is removed: %s is gone", name, label)
        if stored.kind == "python":
            self._catalog.remove_python(name)
        self._catalog.refresh()
