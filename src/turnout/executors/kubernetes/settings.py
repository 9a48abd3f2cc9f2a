"""Declares the options of a Kubernetes executor: the cluster, the pods of its Jobs, and how long it waits for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import yaml

from turnout.errors import InvalidSetting
from turnout.executors.kubernetes.pod_template import OVERRIDE_KEYS, check_template
from turnout.model.names import suggest
from turnout.model.setting_types import Count, Natural, NonNegativeSeconds, Seconds, Settings, converted, types_of

Table = dict[str, Any]


def _table() -> Table:
    return {}


def _tables() -> list[Table]:
    return []


class KubernetesSettings(Settings, frozen=True, kw_only=True):
    """The options of an executor with ``use = "kubernetes"``."""

    table: ClassVar[str] = "executors.kubernetes"

    image: str | None = None
    """The image of the container that runs the attempt, unless the template or an override names one."""
    namespace: str | None = None
    """The namespace of Jobs, Pods and Secrets; by default that of the account or of the kubeconfig."""
    kubeconfig: str | None = None
    """A kubeconfig file; by default the service account of the pod, else ``KUBECONFIG``, else ``~/.kube/config``."""
    context: str | None = None
    """The context of the kubeconfig; by default its current one."""
    pod_template: str | Table = msgspec.field(default_factory=_table)
    """A pod template (``metadata``, ``spec``), or a YAML file with one. Its container ``turnout`` runs the worker."""
    env: Table = msgspec.field(default_factory=_table)
    """Environment variables of the container."""
    node_selector: Table = msgspec.field(default_factory=_table)
    """Labels that the node must have."""
    tolerations: list[Table] = msgspec.field(default_factory=_tables)
    """Tolerations of the pod."""
    service_account: str | None = None
    """The service account of the pod. No token of it is mounted unless the template says so."""
    overrides: list[Table] = msgspec.field(default_factory=_tables)
    """Tables with a ``pattern`` of full task names and any of ``image``, ``resources``, ``env``, ``node_selector``,
    ``tolerations``, ``service_account`` and ``pod_template``; all that match apply, the last one prevails."""
    gpu_resource: str = "nvidia.com/gpu"
    """The resource that a task's ``gpu`` asks for."""
    custom_resources: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """The resources of the cluster that a task's own resource names stand for, as ``tpu = "google.com/tpu"``."""
    command: tuple[str, ...] = ("turnout",)
    """The program in the image that is followed by ``worker --once``."""
    modules: tuple[str, ...] = ()
    """Modules that the worker imports; by default the module of the task's function."""
    processes: bool = True
    """Whether Python bodies run in a child process of the worker, so that none can keep it from answering the hub."""
    hub_address: str | None = None
    """The address at which pods reach the hub, if that is not ``hub.advertise``."""
    max_jobs: Count = 100
    """Attempts that this orchestrator has in the cluster at once."""
    start_timeout: Seconds = 600.0
    """Seconds within which the worker of a Job must connect; then the task waits again, with the reason."""
    image_pull_timeout: Seconds = 120.0
    """Seconds for which the pull of an image may fail before the attempt does."""
    grace: NonNegativeSeconds = 30.0
    """Seconds between SIGTERM and SIGKILL for a pod whose attempt is cancelled."""
    ttl: Natural = 600
    """Seconds after which the cluster removes a Job that has ended."""

    def template(self) -> Table:
        """Returns the pod template; one in a file is read. Raises InvalidSetting if it is none."""
        if isinstance(self.pod_template, dict):
            return self.pod_template
        at = f"pod_template, {self.pod_template}"
        try:
            content: Any = yaml.safe_load(Path(self.pod_template).expanduser().read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InvalidSetting(f"{at} cannot be read: {error}", code="bad_pod_template") from error
        if isinstance(content, dict) and content.get("kind") == "PodTemplate":
            content = content.get("template")
        found = check_template(content, at)
        return {name: value for name, value in found.items() if name in ("metadata", "spec")}

    def check_rules(self, path: str) -> None:
        if not self.command:
            raise InvalidSetting(f"{path}.command is empty; name the program in the image", field=f"{path}.command")
        if isinstance(self.pod_template, dict):
            check_template(self.pod_template, f"{path}.pod_template")
        for number, override in enumerate(self.overrides, 1):
            at = f"{path}.overrides, number {number}"
            if not isinstance(override.get("pattern"), str):
                raise InvalidSetting(
                    f'{at}: pattern is missing; write pattern = "*::*::*::train"', field=f"{path}.overrides"
                )
            for name in override:
                if name not in OVERRIDE_KEYS:
                    raise InvalidSetting(
                        f"{at}: there is no key {name!r}{suggest(name, OVERRIDE_KEYS)}", field=f"{path}.overrides"
                    )
            check_template(override.get("pod_template", {}), f"{at}: pod_template")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> KubernetesSettings:
        """Returns the settings of these options, as they stand in a table ``executors.KEY``."""
        known = types_of(cls)
        for name in options:
            if name not in known:
                raise InvalidSetting(
                    f"there is no option {name!r}{suggest(name, known)}", code="unknown_setting", field=name
                )
        found = {name: _read(name, value, known[name]) for name, value in options.items()}
        settings = cls(**found)
        settings.check_rules(cls.table)
        return settings


def _read(name: str, value: Any, annotation: Any) -> Any:
    """Returns a value of a file or a program; tables stand as they are."""
    if isinstance(value, dict):
        return msgspec.convert(value, dict[str, str] if name == "custom_resources" else Table)
    if isinstance(value, list) and name in ("tolerations", "overrides"):
        try:
            return msgspec.convert(value, list[Table])
        except msgspec.ValidationError as error:
            raise InvalidSetting(f"{name} is {value!r}; write a list of tables", field=name) from error
    if name == "pod_template":
        return converted(value, str, name)
    found = converted(value, annotation, name)
    return tuple(found) if isinstance(found, list) else found
