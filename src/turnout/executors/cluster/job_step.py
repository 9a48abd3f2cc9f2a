"""Translates an attempt into the step that a supervisor gets: a job that any node with the code can run."""

from __future__ import annotations

from typing import Any

import msgspec

from turnout.contracts.executor import Work
from turnout.executors.process import job_of
from turnout.model.spec import Body, TaskSpec
from turnout.runtime.messages import Job
from turnout.wire.documents import Step
from turnout.wire.step_codec import step_of

JOB_HANDLER = "turnout.job"
"""The handler of such steps: their configuration is the job, and what it asks of its node."""

_decode = msgspec.json.Decoder(Step).decode
encode_step = msgspec.json.Encoder().encode


def step_of_job(work: Work, token: str, resources: dict[str, float], max_output_bytes: int) -> Step:
    """Returns the attempt as a step. Raises NotImportable if no other process can find its functions."""
    plain = step_of(work, token=token)
    # The job has these, and the time until which it may begin is that of its node.
    metadata = msgspec.structs.replace(
        plain.metadata, args={}, positional=(), labels={}, saved=None, condition=None, context=None
    )
    config: dict[str, Any] = {
        "job": msgspec.to_builtins(job_of(work)),
        "resources": resources,
        "max_output_bytes": max_output_bytes,
    }
    return msgspec.structs.replace(
        plain,
        handler_class=JOB_HANDLER,
        handler_config=config,
        task_context={},
        previous_results={},
        metadata=metadata,
    )


def resources_of(step: Step) -> dict[str, float]:
    """Returns what the step asks of its node, by the cluster's own names."""
    return step.handler_config.get("resources", {})


class NodeJob(msgspec.Struct, frozen=True):
    """The job of one attempt, with its token."""

    token: str
    job: Job
    max_output_bytes: int


def decode_job(data: bytes) -> NodeJob:
    step = _decode(data)
    config = step.handler_config
    return NodeJob(step.token, msgspec.convert(config["job"], Job), config["max_output_bytes"])


def task_of(job: Job) -> TaskSpec:
    """Returns as much of the task as a node needs."""
    return TaskSpec(name=job.name, body=Body("python", f"{job.body.module}:{job.body.qualname}"))
