"""Merges pod templates by the strategic merge of Kubernetes: lists of named items by name, others as a whole (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from turnout.errors import InvalidSetting
from turnout.executors.kubernetes.quantities import in_proportion

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
UNIONS = {"env": ("value", "valueFrom"), "volumes": None}
"""Lists whose items have one of several fields, of which a patch replaces any other. None: all but the key."""
ATOMIC = ("valueFrom",)
"""Tables that a patch replaces."""
DIRECTIVE = "$patch"
"""The field of a patch that says ``delete`` or ``replace``."""
DELETE, REPLACE = "delete", "replace"
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
    """Returns the base with the patch in it. A null removes what it stands for, and so does a table or a named item
    with ``$patch: delete``; one with ``$patch: replace`` replaces it.

    >>> merged({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "B", "value": "2"}], "x": None})
    {'env': [{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}]}
    """
    result: Json = {} if patch.get(DIRECTIVE) in (DELETE, REPLACE) else dict(base)
    for field, value in patch.items():
        before = result.get(field)
        if field == DIRECTIVE:
            continue
        if value is None or (isinstance(value, Mapping) and cast("Json", value).get(DIRECTIVE) == DELETE):
            result.pop(field, None)
        elif isinstance(value, Mapping):
            table = cast("Mapping[str, Any]", value)
            inner = cast("Json", before) if isinstance(before, Mapping) and field not in ATOMIC else {}
            found = merged(inner, table)
            result[field] = in_proportion(found, table) if field == "resources" else found
        elif isinstance(value, list) and field in MERGE_KEYS:
            listed = cast("list[Json]", before) if isinstance(before, list) else []
            result[field] = _merged_list(listed, cast("list[Json]", value), field)
        else:
            result[field] = value
    return result


def _merged_list(base: Sequence[Json], patch: Sequence[Json], field: str) -> list[Json]:
    key = MERGE_KEYS[field]
    replaced = any(item.get(DIRECTIVE) == REPLACE and key not in item for item in patch)
    result = [] if replaced else [dict(each) for each in base]
    for item in patch:
        if DIRECTIVE in item and key not in item:
            continue
        position = next((at for at, each in enumerate(result) if each.get(key) == item.get(key)), None)
        if item.get(DIRECTIVE) == DELETE:
            result = [each for each in result if each.get(key) != item.get(key)]
        elif position is None:
            result.append(merged({}, item))
        else:
            result[position] = merged(_without_others(result[position], item, field), item)
    return result


def _without_others(base: Json, patch: Json, field: str) -> Json:
    """Returns an item without what excludes a field of its patch."""
    if field not in UNIONS:
        return base
    union = set(UNIONS[field] or {*base, *patch} - {MERGE_KEYS[field]})
    chosen = {name for name in union if patch.get(name) is not None}
    return {name: value for name, value in base.items() if not chosen or name not in union or name in chosen}


def patches_of(options: Mapping[str, Any]) -> list[Json]:
    """Returns the options of an executor, or of one of its overrides, as patches of the pod template, in order."""
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
    return [options.get("pod_template") or {}, {"spec": spec}]


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
    own = [each for each in cast("Json", spec).get("containers", []) if each.get("name") == CONTAINER]
    for at, part in ((f"{path}.spec", cast("Json", spec)), *((f"{path}.spec.containers, {CONTAINER}", e) for e in own)):
        policy = part.get("restartPolicy") or "Never"
        if policy != "Never" or part.get("restartPolicyRules"):
            raise InvalidSetting(
                f"{at}: restartPolicy is {policy!r}; only Never, without rules, keeps the cluster from starting a body "
                "twice",
                field=path,
            )
    _check_directives(table, path)
    return table


def _check_directives(value: Any, path: str) -> None:
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            _check_directives(each, path)
    elif isinstance(value, dict):
        for name, inner in cast("Json", value).items():
            if name.startswith("$") and (name != DIRECTIVE or inner not in (DELETE, REPLACE)):
                raise InvalidSetting(
                    f"{path} has {name}: {inner!r}; the directives of a merge are {DIRECTIVE}: {DELETE} and "
                    f"{DIRECTIVE}: {REPLACE}",
                    field=path,
                )
            _check_directives(inner, path)
