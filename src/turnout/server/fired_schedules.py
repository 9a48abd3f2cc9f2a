"""Checks the run that an operator asks a schedule for, before it is stored."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from turnout.model.schedule_rows import StoredSchedule
from turnout.model.schedules import params_at
from turnout.runner.core import Core
from turnout.runner.submitter import Options


def check_fire(core: Core, schedule: StoredSchedule, params: Mapping[str, Any]) -> None:
    """Raises InputError if the workflow would refuse a run of the schedule. A workflow that this server does not have
    is left to those that have it."""
    definition = core.registry.workflows.get(schedule.workflow)
    if definition is not None:
        core.submitter.request_named(definition, params_at(schedule.spec, time.time(), params), Options(answered=False))
