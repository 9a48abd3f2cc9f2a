"""Merges pod templates as Kubernetes does: lists of named things by name, other lists as a whole (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from turnout.errors import InvalidSetting

CONTAINER = "turnout"
"""The name of the container that runs the attempt."""
MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""The fields of a pod that are merged by an item's key; all other lists are replaced."""
OVERRIDE_KEYS = (
    "pattern",
    "image",
    "resources",
    "env",
    "node_selector",
    "tolerations",
    "service_account",
    "pod_template",
)

Json = dict[str, Any]


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """Returns the base with the patch in it. A null removes what it stands for.

    >>> merged({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "B", "value": "2"}], "x": None})
    {'env': [{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}]}
    """
    result: Json = dict(base)
    for field, value in patch.items():
        before = result.get(field)
        if value is None:
            result.pop(field, None)
        elif isinstance(value, Mapping):
            inner = cast("Mapping[str, Any]", before) if isinstance(before, Mapping) else {}
            result[field] = merged(inner, cast("Mapping[str, Any]", value))
        elif isinstance(value, list) and isinstance(before, list) and field in MERGE_KEYS:
            result[field] = _merged_list(cast("list[Json]", before), cast("list[Json]", value), MERGE_KEYS[field])
        else:
            result[field] = value
    return result


def _merged_list(base: Sequence[Json], patch: Sequence[Json], key: str) -> list[Json]:
    result = [dict(each) for each in base]
    positions = {each.get(key): number for number, each in enumerate(result)}
    for item in patch:
        position = positions.get(item.get(key))
        if position is None:
            positions[item.get(key)] = len(result)
            result.append(merged({}, item))
        else:
            result[position] = merged(result[position], item)
    return result


def patch_of(options: Mapping[str, Any]) -> Json:
    """Returns the options of an executor, or of one of its overrides, as a patch of the pod template."""
    container: Json = {"name": CONTAINER}
    if options.get("image"):
        container["image"] = options["image"]
    if options.get("resources"):
        container["resources"] = options["resources"]
    if options.get("env"):
        container["env"] = [{"name": name, "value": str(value)} for name, value in options["env"].items()]
    spec: Json = {"containers": [container]}
    if options.get("node_selector"):
        spec["nodeSelector"] = {name: str(value) for name, value in options["node_selector"].items()}
    if options.get("tolerations"):
        spec["tolerations"] = options["tolerations"]
    if options.get("service_account"):
        spec["serviceAccountName"] = options["service_account"]
    template: Json = options.get("pod_template") or {}
    return merged(template, {"spec": spec})


def check_template(template: Any, path: str) -> Json:
    """Returns the template. Raises InvalidSetting for a value that cannot be one."""
    if not isinstance(template, dict):
        raise InvalidSetting(f"{path} is {template!r}; write a table with metadata and spec", field=path)
    table = cast("Json", template)
    for name in table:
        if name not in ("apiVersion", "kind", "metadata", "spec"):
            raise InvalidSetting(
                f"{path} has {name!r}; a pod template has metadata and spec, and containers belong below spec",
                field=path,
            )
    spec = table.get("spec", {})
    if not isinstance(spec, dict):
        raise InvalidSetting(f"{path}.spec is {spec!r}; write the spec of a pod", field=path)
    for name in MERGE_KEYS:
        listed = cast("Json", spec).get(name, [])
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in cast("list[Any]", listed)):
            raise InvalidSetting(f"{path}.spec.{name} is {listed!r}; write a list of tables", field=path)
    policy = cast("Json", spec).get("restartPolicy", "Never")
    if policy != "Never":
        raise InvalidSetting(
            f"{path}.spec.restartPolicy is {policy!r}; only Never keeps the cluster from starting a body twice",
            field=path,
        )
    return table
