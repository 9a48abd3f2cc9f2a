"""Builds the Job and the Secret of an attempt (pure)."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.dispatcher.patterns import compile_pattern
from turnout.errors import InvalidSetting
from turnout.executors.kubernetes.pod_template import CONTAINER, DIRECTIVE, REPLACE, Json, merged, patches_of
from turnout.executors.kubernetes.settings import KubernetesSettings
from turnout.wire.keys import KeyPair

PREFIX = "turnout.dev"
MANAGED_BY = "app.kubernetes.io/managed-by"
INSTANCE, EXECUTOR, RUN, ATTEMPT, HOLDER = (
    f"{PREFIX}/{name}" for name in ("instance", "executor", "run", "attempt", "holder")
)
"""Labels. The instance tells installations apart that share a namespace."""
TASK, TOKEN, KEY = (f"{PREFIX}/{name}" for name in ("task", "token", "worker-key"))
"""Annotations: the task's full name, which is a label too as far as it can be, the attempt's token, and the public key
of its worker."""
IMAGE_LABEL = "image"
"""The label of a rule or task that names an image; other labels are labels of the node."""
SECRET_KEY = "TURNOUT_CURVE_SECRET_KEY"
DEFAULT_POD: Json = {"metadata": {}, "spec": {"automountServiceAccountToken": False}}
"""What a template may change."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9_-]+")
MAX_LABEL = 63
"""Characters of the value of a label."""
DIGEST = 8
"""Characters of a digest in it."""
MAX_TASK_PART = 30
"""Characters of a task's name in the name of its Job."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt that a Job is for."""

    run_id: str
    task_name: str
    """The full name."""
    attempt: int
    token: str
    holder: str
    executor: str
    instance: str

    @property
    def job_name(self) -> str:
        """The name of the Job: the same for every creation of this attempt, and another for any other."""
        digest = hashlib.sha256(f"{self.instance} {self.token}".encode()).hexdigest()[:16]
        task = _NOT_IN_NAMES.sub("-", self.task_name.rpartition("::")[2].lower())[:MAX_TASK_PART].strip("-")
        return f"turnout-{task or 'task'}-{self.attempt}-{digest}"

    @property
    def labels(self) -> dict[str, str]:
        return {
            **selector_labels(self.instance, self.executor),
            RUN: self.run_id,
            TASK: task_label(self.task_name),
            ATTEMPT: str(self.attempt),
            HOLDER: self.holder,
        }


class WorkerCall(msgspec.Struct, frozen=True, kw_only=True):
    """The command line and the environment of an attempt's worker."""

    connect: tuple[str, ...]
    server_key: str
    keys: KeyPair
    modules: tuple[str, ...] = ()


def instance_of(hub_key: str) -> str:
    """Returns the label of an installation, whose orchestrators share the key of their hubs."""
    return hashlib.sha256(hub_key.encode()).hexdigest()[:16]


def selector_labels(instance: str, executor: str) -> dict[str, str]:
    """Returns the labels that all Jobs and Pods of an executor have."""
    return {MANAGED_BY: "turnout", INSTANCE: instance, EXECUTOR: executor}


def selector_text(instance: str, executor: str) -> str:
    return ",".join(f"{name}={value}" for name, value in selector_labels(instance, executor).items())


def task_label(full_name: str) -> str:
    """Returns the full name of a task as the value of a label. One that cannot stand there is shortened, with a digest
    that tells it from others.

    >>> task_label("public::ml::fit::train")
    'public.ml.fit.train'
    """
    plain = ".".join(_NOT_IN_LABELS.sub("_", part) for part in full_name.split("::"))
    if (
        plain.replace(".", "::") == full_name
        and len(plain) <= MAX_LABEL
        and plain[:1].isalnum()
        and plain[-1:].isalnum()
    ):
        return plain
    digest = hashlib.sha256(full_name.encode()).hexdigest()[:DIGEST]
    # The end of a name tells tasks apart better than its beginning.
    kept = plain[-(MAX_LABEL - DIGEST - 1) :].lstrip("._-")
    return f"{kept}-{digest}" if kept else digest


def job_of(
    identity: Identity,
    settings: KubernetesSettings,
    call: WorkerCall,
    *,
    template: Mapping[str, Any],
    labels: Mapping[str, str],
    resources: Mapping[str, Any],
) -> Json:
    """Returns the Job of an attempt. ``template``: the executor's pod template; ``labels`` and ``resources``: those of
    the task. Raises InvalidSetting if no image is named."""
    pod = merged(DEFAULT_POD, template)
    for patch in _patches(settings, identity.task_name, labels, resources):
        pod = merged(pod, patch)
    pod = merged(pod, _own_part(identity, settings, call))
    containers: Sequence[Json] = pod["spec"]["containers"]
    container = next(each for each in containers if each["name"] == CONTAINER)
    if not container.get("image"):
        raise InvalidSetting(
            f"no image is named for {identity.task_name}: set image of the executor, or in its pod_template the image "
            f"of the container {CONTAINER!r}",
            code="no_image",
        )
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": identity.job_name,
            "labels": identity.labels,
            "annotations": _annotations(identity, call),
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "ttlSecondsAfterFinished": settings.ttl,
            "template": {name: pod[name] for name in ("metadata", "spec")},
        },
    }


def secret_of(identity: Identity, call: WorkerCall, job: Mapping[str, Any]) -> Json:
    """Returns the Secret with the worker's secret key. It belongs to the Job, and is removed with it."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "immutable": True,
        "metadata": {
            "name": identity.job_name,
            "labels": identity.labels,
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": identity.job_name,
                    "uid": job["metadata"]["uid"],
                    "controller": True,
                }
            ],
        },
        "stringData": {SECRET_KEY: call.keys.secret},
    }


def _patches(
    settings: KubernetesSettings, task_name: str, labels: Mapping[str, str], resources: Mapping[str, Any]
) -> list[Json]:
    """Returns what changes the template, in order: the executor's options, overrides, the task's own resources and
    labels."""
    own = {
        name: getattr(settings, name) for name in ("image", "env", "node_selector", "tolerations", "service_account")
    }
    patches = patches_of(own)
    for each in settings.overrides:
        if compile_pattern(each["pattern"]).matches(task_name):
            patches += patches_of(each)
    nodes = {name: value for name, value in labels.items() if name != IMAGE_LABEL and not name.startswith("turnout.")}
    return patches + patches_of({"image": labels.get(IMAGE_LABEL), "resources": resources, "node_selector": nodes})


def _annotations(identity: Identity, call: WorkerCall) -> dict[str, str]:
    return {TASK: identity.task_name, TOKEN: identity.token, KEY: call.keys.public}


def _own_part(identity: Identity, settings: KubernetesSettings, call: WorkerCall) -> Json:
    """Returns what no template can change: the identity, the command, the keys, and one start at most."""
    variables = {
        "TURNOUT_CONNECT": ",".join(call.connect),
        "TURNOUT_WORKER_NAME": identity.job_name,
        "TURNOUT_CURVE_SERVER_KEY": call.server_key,
        "TURNOUT_CURVE_PUBLIC_KEY": call.keys.public,
    }
    secret = {"secretKeyRef": {"name": identity.job_name, "key": SECRET_KEY}}
    env: list[Json] = [{"name": name, "value": value} for name, value in variables.items()]
    env.append({"name": SECRET_KEY, "valueFrom": secret, DIRECTIVE: REPLACE})
    # The worker gets a little less than the pod, so that it can still say how its attempt ended.
    grace = max(0.0, settings.grace - 2.0)
    args = ["worker", "--once", identity.token, "--worker-id", identity.holder]
    args += ["--once-timeout", f"{settings.start_timeout:g}s", "--grace", f"{grace:g}s"]
    args += ["--processes" if settings.processes else "--threads"]
    for module in call.modules:
        args += ["--import", module]
    container = {
        "name": CONTAINER,
        "command": [*settings.command, *args],
        "args": None,
        "env": env,
        "restartPolicy": None,
        "restartPolicyRules": None,
    }
    spec: Json = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": math.ceil(settings.grace),
        "containers": [container],
    }
    return {"metadata": {"labels": identity.labels, "annotations": _annotations(identity, call)}, "spec": spec}
