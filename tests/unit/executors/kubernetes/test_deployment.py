"""The manifests that are shipped: valid by the schemas of Kubernetes, and usable by the executor."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from turnout.executors.kubernetes.settings import KubernetesSettings

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "deploy" / "kubernetes"
VERSIONS = ["1.28", "1.31", "1.34"]
DOCUMENTS = [
    (file.name, document) for file in sorted(FOLDER.glob("*.yaml")) for document in yaml.safe_load_all(file.read_text())
]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_valid(version: str) -> None:
    assert {name for name, _ in DOCUMENTS} == {
        "network-policy.yaml",
        "orchestrator.yaml",
        "pod-template.yaml",
        "rbac.yaml",
    }
    for name, document in DOCUMENTS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            pytest.fail(f"{name}, {document['kind']}: {error.message}")


def documents(kind: str) -> list[dict[str, Any]]:
    return [document for _, document in DOCUMENTS if document["kind"] == kind]


def test_pods_of_attempts_have_no_rights() -> None:
    (binding,) = documents("RoleBinding")
    assert [each["name"] for each in binding["subjects"]] == ["turnout-orchestrator"]


def test_the_pod_template_is_one_that_the_executor_takes() -> None:
    template = KubernetesSettings(pod_template=str(FOLDER / "pod-template.yaml")).template()
    assert [each["name"] for each in template["spec"]["containers"]] == ["turnout"]


def test_the_container_file_runs_as_an_ordinary_user_and_starts_turnout_without_a_shell() -> None:
    text = (FOLDER / "Containerfile").read_text()
    instructions = re.findall(r"^([A-Z]+) ", text, re.MULTILINE)
    assert instructions[0] == "FROM" and instructions[-1] == "CMD"
    assert "USER 10001" in text and 'CMD ["turnout", "orchestrate"]' in text
    extras = re.search(r"turnout\[([a-z,]+)\]", text)
    declared = (ROOT / "pyproject.toml").read_text()
    assert extras is not None and all(f"\n{extra} = [" in declared for extra in extras[1].split(","))
