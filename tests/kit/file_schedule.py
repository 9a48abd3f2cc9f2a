"""Gives whole test files to the processes of pytest-xdist, also after one of them has died.

The scheduler of pytest-xdist 3.8 puts everything that a dead process ever had back into its queue. Files that were done
become empty assignments, which no process can complete, and a last file of one test is never followed by the signal
that lets its process run it: the session waits for ever (pytest-xdist issues 784, 1323, 1327 and 1378).
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class FileSchedule(LoadFileScheduling):
    """A file goes to one process. A test that its process died in has failed; others run the rest of its files."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Returns the test in which the process died; None if it had none left."""
        files = self.assigned_work.pop(node)
        pending = {file: {test: False for test, done in tests.items() if not done} for file, tests in files.items()}
        died_in = next((test for tests in pending.values() for test in tests), None)
        for file, tests in reversed(pending.items()):
            tests.pop(died_in or "", None)
            if tests:
                self.workqueue[file] = tests
                self.workqueue.move_to_end(file, last=False)
        for other in self.nodes:
            self._reschedule(other)
        return died_in

    def _reschedule(self, node: WorkerController) -> None:
        """Gives the process more files when it is at its last test, and tells it to end when there are no more.

        A process begins a test only when it knows the next, or that there is none."""
        if node.shutting_down or node not in self.registered_collections:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= 1:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()
