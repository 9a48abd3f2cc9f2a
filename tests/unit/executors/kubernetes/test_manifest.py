"""The Job and the Secret of an attempt: merged as Kubernetes merges, and valid by its own schemas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidSetting
from turnout.executors.kubernetes.manifest import (
    ATTEMPT,
    HOLDER,
    KEY,
    RUN,
    TASK,
    Identity,
    WorkerCall,
    instance_of,
    job_of,
    secret_of,
    task_label,
)
from turnout.executors.kubernetes.pod_template import merged
from turnout.executors.kubernetes.quantities import cpu_quantity, number_of, requirements
from turnout.executors.kubernetes.settings import KubernetesSettings
from turnout.wire.keys import KeyPair

VERSION = "1.31"
PAIR = KeyPair("P" * 40, "S" * 40)
CALL = WorkerCall(connect=("tcp://hub:5890",), server_key="H" * 40, keys=PAIR, modules=("shop.tasks",))
IDENTITY = Identity(
    run_id="01a1ed81-6bd2-7fef-b598-ef14361b274b",
    task_name="public::ml::fit::Train_Model",
    attempt=3,
    token="01a1ed81-6bd2-7fef-b598-ef14361b274b.0:3",
    holder="8cc05c75998d4f97bd45e29c4c2a8317",
    executor="kubernetes",
    instance=instance_of("H" * 40),
)


def job(settings: KubernetesSettings | None = None, **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"template": {}, "labels": {}, "resources": {}} | more
    return job_of(IDENTITY, settings or KubernetesSettings(image="shop:1"), CALL, **given)


def pod(made: dict[str, Any]) -> dict[str, Any]:
    return made["spec"]["template"]["spec"]


def container(made: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in pod(made)["containers"] if each["name"] == "turnout")


def variables(made: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in container(made)["env"]}


def test_a_job_starts_its_worker_once_and_names_its_attempt() -> None:
    made = job()
    kubernetes_validate.validate(made, VERSION, strict=True)
    assert (made["spec"]["backoffLimit"], pod(made)["restartPolicy"]) == (0, "Never")
    assert made["spec"]["ttlSecondsAfterFinished"] == 600
    command = container(made)["command"]
    assert command[:3] == ["turnout", "worker", "--once"] and command[3] == IDENTITY.token
    assert command[-2:] == ["--import", "shop.tasks"]
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
    assert made["metadata"]["labels"][HOLDER] == IDENTITY.holder
    assert made["metadata"]["annotations"][KEY] == PAIR.public
    assert pod(made)["automountServiceAccountToken"] is False
    assert variables(made)["TURNOUT_CONNECT"] == "tcp://hub:5890"


def test_the_secret_key_is_in_the_secret_and_nowhere_else() -> None:
    made = {**job(), "metadata": {**job()["metadata"], "uid": "u"}}
    secret = secret_of(IDENTITY, CALL, made)
    kubernetes_validate.validate(secret, VERSION, strict=True)
    assert PAIR.secret not in msgspec.json.encode(made).decode()
    assert secret["stringData"] == {"TURNOUT_CURVE_SECRET_KEY": PAIR.secret}
    assert secret["metadata"]["ownerReferences"][0]["uid"] == "u"
    reference = next(each for each in container(made)["env"] if each["name"] == "TURNOUT_CURVE_SECRET_KEY")
    assert reference["valueFrom"]["secretKeyRef"]["name"] == secret["metadata"]["name"]


@given(st.text(max_size=80), st.integers(1, 10**9))
def test_a_job_has_a_name_that_a_cluster_takes_and_no_other_attempt_has(task: str, attempt: int) -> None:
    identity = msgspec.structs.replace(IDENTITY, task_name=f"a::b::c::{task}", attempt=attempt)
    name = identity.job_name
    assert len(name) <= 63 and name == name.lower() and name.replace("-", "").isalnum() and name.isascii()
    assert name == msgspec.structs.replace(identity).job_name
    assert name != msgspec.structs.replace(identity, token=f"{identity.token}0").job_name


def test_template_options_overrides_and_the_tasks_own_are_merged_in_this_order() -> None:
    template = {
        "metadata": {"annotations": {"team": "data"}},
        "spec": {
            "containers": [
                {"name": "turnout", "image": "template:1", "env": [{"name": "A", "value": "template"}]},
                {"name": "proxy", "image": "proxy:1"},
            ],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "old", "operator": "Exists"}],
        },
    }
    settings = KubernetesSettings(
        env={"A": "option", "B": 1},
        service_account="runner",
        overrides=[
            {"pattern": "**::ml::**", "image": "ml:2", "node_selector": {"gpu": "true"}},
            {"pattern": "**::other", "image": "other:1"},
            {
                "pattern": "**::Train_*",
                "resources": {"limits": {"memory": "4Gi"}},
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "pod_template": {"spec": {"volumes": [{"name": "models", "emptyDir": {}}]}},
            },
        ],
    )
    made = job(settings, template=template, labels={"disk": "ssd"}, resources={"requests": {"cpu": "4"}})
    kubernetes_validate.validate(made, VERSION, strict=True)
    assert container(made)["image"] == "ml:2"
    assert (variables(made)["A"], variables(made)["B"]) == ("option", "1")
    assert [each["name"] for each in pod(made)["containers"]] == ["turnout", "proxy"]
    assert [each["name"] for each in pod(made)["volumes"]] == ["data", "models"]
    assert pod(made)["nodeSelector"] == {"zone": "a", "gpu": "true", "disk": "ssd"}
    assert [each["key"] for each in pod(made)["tolerations"]] == ["gpu"]
    assert pod(made)["serviceAccountName"] == "runner"
    assert container(made)["resources"] == {"limits": {"memory": "4Gi"}, "requests": {"cpu": "4"}}
    assert made["spec"]["template"]["metadata"]["annotations"]["team"] == "data"


def test_a_rule_may_name_the_image_and_labels_of_the_node() -> None:
    made = job(labels={"image": "rule:3", "zone": "b", "turnout.worker": "w"})
    assert container(made)["image"] == "rule:3"
    assert pod(made)["nodeSelector"] == {"zone": "b"}


def test_no_template_can_change_what_keeps_a_body_from_beginning_twice() -> None:
    mine = {"name": "turnout", "image": "x:1", "command": ["sh"], "args": ["-c", "true"]}
    made = job(template={"spec": {"containers": [mine]}})
    assert "args" not in container(made) and container(made)["command"][0] == "turnout"
    with pytest.raises(InvalidSetting, match="restartPolicy"):
        KubernetesSettings(pod_template={"spec": {"restartPolicy": "OnFailure"}}).check_rules("executors.k")


@pytest.mark.parametrize("more", [{"restartPolicy": "Always"}, {"restartPolicyRules": [{"action": "Restart"}]}])
def test_a_restart_of_the_container_itself_is_refused_and_never_sent(more: dict[str, Any]) -> None:
    template = {"spec": {"containers": [{"name": "turnout", "image": "x:1", **more}]}}
    with pytest.raises(InvalidSetting, match="restartPolicy"):
        KubernetesSettings(pod_template=template).check_rules("executors.k")
    with pytest.raises(InvalidSetting, match="restartPolicy"):
        KubernetesSettings(overrides=[{"pattern": "**", "pod_template": template}]).check_rules("executors.k")
    assert not set(container(job(template=template))) & set(more)


def test_a_variable_has_a_value_or_a_source_and_the_later_one_counts() -> None:
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    other = {"configMapKeyRef": {"name": "c", "key": "k"}}
    template = template_with(env=[{"name": "A", "valueFrom": source}, {"name": "B", "value": "1"}])
    later = template_with(env=[{"name": "B", "valueFrom": source}])
    settings = KubernetesSettings(
        image="x:1", env={"A": "2"}, overrides=[{"pattern": "**", "pod_template": later, "env": {"C": 3}}]
    )
    made = job(settings, template=template)
    kubernetes_validate.validate(made, VERSION, strict=True)
    found = {each["name"]: each for each in container(made)["env"]}
    assert found["A"] == {"name": "A", "value": "2"} and found["B"] == {"name": "B", "valueFrom": source}
    assert found["C"]["value"] == "3"
    assert merged({"env": [{"name": "A", "valueFrom": source}]}, {"env": [{"name": "A", "valueFrom": other}]}) == {
        "env": [{"name": "A", "valueFrom": other}]
    }


def test_a_volume_has_one_source_and_the_later_one_counts() -> None:
    base = {"volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}]}
    claimed = {"name": "data", "persistentVolumeClaim": {"claimName": "models"}}
    assert merged(base, {"volumes": [claimed]}) == {"volumes": [claimed]}
    assert merged(base, {"volumes": [{"name": "data", "emptyDir": {"medium": "Memory"}}]}) == {
        "volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}}]
    }


def template_with(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "turnout", **fields}]}}


@pytest.mark.parametrize(
    ("template", "task", "expected"),
    [
        (
            {"limits": {"cpu": 1, "memory": "1Gi"}},
            {"requests": {"cpu": "4"}},
            {"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "4"}},
        ),
        (
            {"requests": {"memory": "8Gi"}},
            {"limits": {"memory": "4Gi"}},
            {"limits": {"memory": "4Gi"}, "requests": {"memory": "4Gi"}},
        ),
        (
            {"limits": {"cpu": "8"}},
            {"requests": {"cpu": "4"}},
            {"limits": {"cpu": "8"}, "requests": {"cpu": "4"}},
        ),
        (
            {"requests": {"nvidia.com/gpu": 1}},
            {"limits": {"nvidia.com/gpu": "2"}},
            {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}},
        ),
        (
            {"limits": {"cpu": "a lot"}},
            {"requests": {"cpu": "4"}},
            {"limits": {"cpu": "a lot"}, "requests": {"cpu": "4"}},
        ),
    ],
)
def test_what_a_task_asks_for_is_never_above_a_limit_of_the_template(
    template: dict[str, Any], task: dict[str, Any], expected: dict[str, Any]
) -> None:
    made = job(template=template_with(resources=template), resources=task)
    assert container(made)["resources"] == expected


LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def test_the_labels_of_a_job_name_its_run_task_and_attempt() -> None:
    labels = job()["metadata"]["labels"]
    assert (labels[RUN], labels[TASK], labels[ATTEMPT]) == (IDENTITY.run_id, "public.ml.fit.Train_Model", "3")
    assert job()["metadata"]["annotations"][TASK] == IDENTITY.task_name


@given(st.text(max_size=100), st.text(max_size=100))
def test_every_task_has_a_label_of_its_own(first: str, second: str) -> None:
    labels = [task_label(each) for each in (first, second)]
    assert all(LABEL.fullmatch(each) for each in labels), labels
    assert (labels[0] == labels[1]) == (first == second)


@pytest.mark.parametrize("name", ["a::b::c::x.y", "a::b::c_::d", "ä::b", "a" * 64, "", "_", "a::b::"])
def test_a_name_that_no_label_can_have_gets_a_digest(name: str) -> None:
    found = task_label(name)
    assert LABEL.fullmatch(found)
    assert (found == name.replace("::", ".")) == (name == "a::b::c_::d")


def test_a_job_without_an_image_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="no image is named for public::ml::fit::Train_Model"):
        job(KubernetesSettings())


def test_a_template_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("kind: PodTemplate\ntemplate:\n  spec:\n    containers: [{name: turnout, image: 'file:1'}]\n")
    settings = KubernetesSettings.of({"pod_template": str(file)})
    assert container(job(settings, template=settings.template()))["image"] == "file:1"
    file.write_text("containers: []\n")
    with pytest.raises(InvalidSetting, match="containers belong below spec"):
        settings.template()
    with pytest.raises(InvalidSetting, match="cannot be read"):
        KubernetesSettings(pod_template=str(tmp_path / "none.yaml")).template()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"imagee": "x"}, "did you mean 'image'"),
        ({"max_jobs": 0}, "max_jobs is 0"),
        ({"overrides": [{"image": "x"}]}, "pattern is missing"),
        ({"overrides": [{"pattern": "**", "imag": "x"}]}, "there is no key 'imag'"),
        ({"tolerations": ["x"]}, "tolerations is"),
        ({"pod_template": {"spec": {"containers": "x"}}}, "write a list of tables"),
        ({"start_timeout": "soon"}, "start_timeout is 'soon'"),
        ({"command": []}, "command"),
    ],
)
def test_options_that_cannot_work_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        KubernetesSettings.of(options)


def test_options_are_read_as_files_write_them() -> None:
    found = KubernetesSettings.of({"start_timeout": "5m", "modules": ["shop.tasks"], "custom_resources": {"a": "x/a"}})
    assert (found.start_timeout, found.modules, found.custom_resources) == (300.0, ("shop.tasks",), {"a": "x/a"})


# -- merges ----------------------------------------------------------------------------------------------------------
JSON = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.text(max_size=3)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)
TABLES = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(TABLES, TABLES)
def test_a_merge_has_everything_of_the_patch_and_merging_it_again_changes_nothing(
    base: dict[str, Any], patch: dict[str, Any]
) -> None:
    once = merged(base, patch)
    assert merged(once, patch) == once
    assert merged(base, {}) == base
    assert set(once) == {*base, *patch}


def test_named_items_are_merged_by_name_and_other_lists_replaced() -> None:
    base = {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["x", "y"]}
    assert merged(base, {"env": [{"name": "B", "value": "3"}, {"name": "C"}], "args": ["z"]}) == {
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C"}],
        "args": ["z"],
    }
    assert merged(base, {"args": None}) == {"env": base["env"]}


@pytest.mark.parametrize(
    ("base", "patch", "expected"),
    [
        (
            {"volumes": [{"name": "a"}, {"name": "b"}]},
            {"volumes": [{"name": "a", "$patch": "delete"}, {"name": "gone", "$patch": "delete"}]},
            {"volumes": [{"name": "b"}]},
        ),
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"env": [{"$patch": "replace"}, {"name": "C", "value": "3"}]},
            {"env": [{"name": "C", "value": "3"}]},
        ),
        (
            {"containers": [{"name": "p", "image": "p:1", "args": ["x"]}, {"name": "q"}]},
            {"containers": [{"name": "p", "image": "p:2", "$patch": "replace"}]},
            {"containers": [{"name": "p", "image": "p:2"}, {"name": "q"}]},
        ),
        (
            {"nodeSelector": {"zone": "a", "disk": "ssd"}},
            {"nodeSelector": {"$patch": "replace", "zone": "b"}},
            {"nodeSelector": {"zone": "b"}},
        ),
        (
            {"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]},
            {"ports": [{"containerPort": 80}]},
            {
                "ports": [
                    {"containerPort": 53, "protocol": "TCP"},
                    {"containerPort": 53, "protocol": "UDP"},
                    {"containerPort": 80},
                ]
            },
        ),
        ({"nodeSelector": {"zone": "a"}, "x": 1}, {"nodeSelector": {"$patch": "delete"}}, {"x": 1}),
        (
            {},
            {"env": [{"name": "A", "$patch": "delete"}], "x": {"$patch": "replace", "y": 1}},
            {"env": [], "x": {"y": 1}},
        ),
    ],
)
def test_a_patch_may_delete_or_replace_items_and_tables(
    base: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert merged(base, patch) == expected


def test_an_override_removes_a_sidecar_of_the_template() -> None:
    template = {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}
    removal = {"spec": {"containers": [{"name": "proxy", "$patch": "delete"}]}}
    settings = KubernetesSettings(image="x:1", overrides=[{"pattern": "**", "pod_template": removal}])
    settings.check_rules("executors.k")
    made = job(settings, template=template)
    kubernetes_validate.validate(made, VERSION, strict=True)
    assert [each["name"] for each in pod(made)["containers"]] == ["turnout"]


def test_a_directive_that_is_not_supported_is_refused() -> None:
    for directive in ({"$patch": "merge"}, {"$retainKeys": ["name"]}):
        template = {"spec": {"volumes": [{"name": "data", **directive}]}}
        with pytest.raises(InvalidSetting, match="directives of a merge"):
            KubernetesSettings(pod_template=template).check_rules("executors.k")


# -- quantities ------------------------------------------------------------------------------------------------------
@given(st.floats(0.001, 1000))
def test_cores_survive_the_way_there_and_back(cpu: float) -> None:
    assert abs(number_of(cpu_quantity(cpu)) - cpu) <= 0.0005 + 1e-9


def test_resources_become_requests_and_limits() -> None:
    found = requirements(
        cpu=0.5,
        memory=2**30,
        gpu=2.0,
        custom={"tpu": 1.0},
        gpu_resource="nvidia.com/gpu",
        names={"tpu": "google.com/tpu"},
    )
    assert found == {
        "requests": {"cpu": "500m", "memory": "1073741824", "nvidia.com/gpu": "2", "google.com/tpu": "1"},
        "limits": {"memory": "1073741824", "nvidia.com/gpu": "2", "google.com/tpu": "1"},
    }
    nothing: dict[str, float] = {}
    assert requirements(cpu=None, memory=None, gpu=None, custom=nothing, gpu_resource="g/g", names={}) == {}
    with pytest.raises(InvalidSetting, match="whole devices"):
        requirements(cpu=None, memory=None, gpu=0.5, custom=nothing, gpu_resource="g/g", names={})
    with pytest.raises(InvalidSetting, match="custom_resources"):
        requirements(cpu=None, memory=None, gpu=None, custom={"tpu": 1}, gpu_resource="g/g", names={})


@pytest.mark.parametrize("text", ["", "x", "1Zi", "-1"])
def test_text_that_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        number_of(text)
