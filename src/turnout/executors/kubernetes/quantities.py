"""Converts resources of tasks to quantities of Kubernetes and back (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnout.errors import InvalidSetting

_QUANTITY = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E)?")
_FACTORS = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}


def number_of(quantity: str) -> float:
    """Returns a quantity as a number.

    >>> number_of("500m"), number_of("2Gi")
    (0.5, 2147483648.0)
    """
    match = _QUANTITY.fullmatch(quantity.strip())
    if match is None:
        raise ValueError(f"{quantity!r} is no quantity")
    return float(match[1]) * _FACTORS[match[2] or ""]


def cpu_quantity(cpu: float) -> str:
    """Returns a number of cores in thousandths, which is the smallest unit of the cluster.

    >>> cpu_quantity(0.5), cpu_quantity(4)
    ('500m', '4')
    """
    thousandths = max(1, round(cpu * 1000))
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)


def requirements(
    *,
    cpu: float | None,
    memory: int | None,
    gpu: float | None,
    custom: Mapping[str, float],
    gpu_resource: str,
    names: Mapping[str, str],
) -> dict[str, dict[str, str]]:
    """Returns the ``resources`` of a container. Memory and devices are requests and limits; cores are a request only,
    so that a body may use what is idle. Raises InvalidSetting for a share of a device, or a name without a resource."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if cpu is not None:
        requests["cpu"] = cpu_quantity(cpu)
    if memory is not None:
        requests["memory"] = limits["memory"] = str(memory)
    devices = {name: amount for name, amount in custom.items() if amount}
    if gpu:
        limits[gpu_resource] = requests[gpu_resource] = _whole(gpu, "gpu")
    for name, amount in sorted(devices.items()):
        resource = names.get(name, name if "/" in name else "")
        if not resource:
            raise InvalidSetting(
                f"the cluster has no resource for {name!r}: name one in custom_resources, as "
                f'{name} = "example.com/{name}"',
                code="unknown_resource",
                field="custom_resources",
            )
        limits[resource] = requests[resource] = _whole(amount, name)
    return {name: table for name, table in (("requests", requests), ("limits", limits)) if table}


def in_proportion(resources: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Returns merged ``resources`` without a request above its limit, which no server accepts: of the two, the one that
    the patch does not name follows the other. Requests and limits of devices are equal.

    >>> in_proportion({"requests": {"cpu": "4"}, "limits": {"cpu": "1"}}, {"requests": {"cpu": "4"}})
    {'requests': {'cpu': '4'}, 'limits': {'cpu': '4'}}
    """
    result = {name: dict(table) if isinstance(table, Mapping) else table for name, table in resources.items()}
    requests, limits = result.get("requests"), result.get("limits")
    if not isinstance(requests, dict) or not isinstance(limits, dict):
        return result
    given = {name: patch.get(name) or {} for name in ("requests", "limits")}
    for name in requests.keys() & limits.keys():
        if not _is_disproportionate(name, requests[name], limits[name]):
            continue
        if name in given["requests"] and name not in given["limits"]:
            limits[name] = requests[name]
        elif name in given["limits"] and name not in given["requests"]:
            requests[name] = limits[name]
    return result


def _is_disproportionate(name: str, request: Any, limit: Any) -> bool:
    try:
        asked, most = number_of(str(request)), number_of(str(limit))
    except ValueError:
        return False  # the server says what is wrong with it
    return asked != most if "/" in name else asked > most


def _whole(amount: float, name: str) -> str:
    if amount != int(amount):
        raise InvalidSetting(
            f"resources.{name} is {amount:g}; a Kubernetes cluster gives whole devices only", code="bad_resources"
        )
    return str(int(amount))
