"""Rules of what the manifests name: configuration, secrets, rights, services."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from collection_pipeline_tests.kit.deploy_dagster import (
    configuration_faults,
    difference_faults,
    home_faults,
    launcher_data,
    servers_of,
    slot_faults,
    workspace_faults,
)
from collection_pipeline_tests.kit.deploy_kubernetes_files import Body, Manifests
from collection_pipeline_tests.kit.deploy_secrecy import (
    ADDRESSES,
    file_faults,
    literal_faults,
    value_faults,
)

SECRET, SETTINGS, DAGSTER = "collection-pipeline", "collection-settings", "collection-dagster"
MOUNT = "/run/secrets/collection"
NARROW = {
    "jobs": {"create", "delete", "get", "list", "watch"},
    "jobs/status": {"get"},
    "pods": {"delete", "get", "list", "watch"},
    "pods/log": {"get"},
    "pods/status": {"get"},
    "events": {"list"},
}
"""What the run launcher calls; above all no secrets, no pods of its own making, no exec."""


def dagster_reads_its_files(manifests: Manifests) -> Iterator[str]:
    """Its own schema, that of the launcher's class, and the checkout's values."""
    text = manifests.dagster_yaml()
    yield from configuration_faults(text)
    yield from difference_faults(text)
    yield from home_faults(text)
    yield from slot_faults(text, 1)
    config: Body = yaml.safe_load(launcher_data(text).config_yaml)
    settings = manifests.of("ConfigMap")[SETTINGS]["data"]
    if config["dagster_home"] != settings["DAGSTER_HOME"]:
        yield f"runs have their home in {config['dagster_home']}"
    if settings.get("DAGSTER_DISABLE_TELEMETRY") != "yes":
        yield "Dagster tells outside"


def schedules_are_in_one_place(manifests: Manifests) -> Iterator[str]:
    """The workspace names the code server's own service."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace.yaml"
        text = manifests.of("ConfigMap")[DAGSTER]["data"]["workspace.yaml"]
        workspace.write_text(text, encoding="utf-8")
        yield from workspace_faults(workspace)
        for host, port in servers_of(workspace).values():
            service = manifests.of("Service").get(host, {"spec": {"ports": []}})
            if [one["port"] for one in service["spec"]["ports"]] != [port]:
                yield f"no service {host}:{port}"


def secrets_are_files(manifests: Manifests) -> Iterator[str]:
    """Of one Secret, which no manifest holds; variables name its files (R29)."""
    if manifests.of("Secret"):
        yield "a manifest holds a secret"
    keys = frozenset(manifests.example["stringData"])
    if any(manifests.example["stringData"].values()) or manifests.example.get("data"):
        yield "the example holds values"
    for name, pod in manifests.pods():
        container = pod["containers"][0]
        sources = [one["configMapRef"]["name"] for one in container.get("envFrom", [])]
        environment = dict(manifests.of("ConfigMap")[SETTINGS]["data"])
        own = {one["name"]: one.get("value", "") for one in container.get("env", [])}
        if sources != [SETTINGS] or any("valueFrom" in one for one in container.get("env", [])):
            yield f"{name} has settings from elsewhere"
        environment |= own
        yield from value_faults(environment)
        yield from file_faults(environment, MOUNT, keys)
        if not environment.keys() >= ADDRESSES:
            yield f"{name} is not told where its databases are"
        mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
        volumes = {one["name"]: one for one in pod["volumes"]}
        secret = volumes[mounts[MOUNT]]["secret"]
        if secret["secretName"] != SECRET or secret.get("defaultMode") != 0o440:
            yield f"{name} mounts {secret}"
    for name, text in manifests.texts.items():
        yield from (f"{name}: {fault}" for fault in literal_faults(text))


def rights_are_narrow(manifests: Manifests) -> Iterator[str]:
    """Only who launches or ends runs has a token, and its rights end at the namespace."""
    for role in manifests.of("Role").values():
        for rule in role["rules"]:
            for resource in rule["resources"]:
                if set(rule["verbs"]) - NARROW.get(resource, set()):
                    yield f"{rule['verbs']} on {resource}"
    if manifests.of("ClusterRole") or manifests.of("ClusterRoleBinding"):
        yield "rights in the whole cluster"
    for binding in manifests.of("RoleBinding").values():
        names = [(one["kind"], one["name"]) for one in binding["subjects"]]
        if names != [("ServiceAccount", "collection-launcher")]:
            yield f"rights of {names}"
    for name, pod in manifests.pods():
        launches = name in {"collection-daemon", "collection-webserver"}
        account = "collection-launcher" if launches else "collection-run"
        if pod["serviceAccountName"] != account:
            yield f"{name} is {pod['serviceAccountName']}"
        if pod.get("automountServiceAccountToken") is not launches:
            yield f"{name}: token {pod.get('automountServiceAccountToken')}"
    for name, body in manifests.of("ServiceAccount").items():
        if body.get("automountServiceAccountToken") is not False:
            yield f"every pod of {name} has a token"


def what_is_named_is_there(manifests: Manifests) -> Iterator[str]:
    """One namespace; services find pods, accounts and configuration exist."""
    for body in [*manifests.bodies, manifests.example]:
        here = body["metadata"].get("namespace", body["metadata"]["name"])
        if here != "collection":
            yield f"{body['kind']} {body['metadata']['name']} is in {here}"
    config: Body = yaml.safe_load(launcher_data(manifests.dagster_yaml()).config_yaml)
    if (config["job_namespace"], config["instance_config_map"]) != ("collection", DAGSTER):
        yield f"runs are in {config['job_namespace']}, with {config['instance_config_map']}"
    labels = {
        name: body["spec"]["template"]["metadata"]["labels"]
        for name, body in manifests.of("Deployment").items()
    }
    for name, body in manifests.of("Deployment").items():
        if body["spec"]["selector"]["matchLabels"] != labels[name]:
            yield f"{name} selects other pods"
    for name, service in manifests.of("Service").items():
        if labels.get(name) != service["spec"]["selector"] or "type" in service["spec"]:
            yield f"the service {name} finds no pods, or is open to outside"
    for name, pod in manifests.pods():
        maps = {one["configMap"]["name"] for one in pod["volumes"] if "configMap" in one}
        if maps - set(manifests.of("ConfigMap")):
            yield f"{name} mounts {sorted(maps)}"
        if pod["serviceAccountName"] not in manifests.of("ServiceAccount"):
            yield f"{name}: no account {pod['serviceAccountName']}"


def code_server_is_walled(manifests: Manifests) -> Iterator[str]:
    """It asks for no password, so only daemon and webserver may reach it."""
    policy = manifests.of("NetworkPolicy")["collection-code-server"]["spec"]
    server = manifests.of("Deployment")["collection-code-server"]["spec"]
    if policy["podSelector"]["matchLabels"] != server["selector"]["matchLabels"]:
        yield "the policy is for other pods"
    (rule,) = policy["ingress"]
    (source,) = rule["from"]
    (expression,) = source["podSelector"]["matchExpressions"]
    if set(source) != {"podSelector"} or expression["values"] != ["daemon", "webserver"]:
        yield f"admits {source}"
    if rule["ports"] != [{"port": 4000}] or policy["policyTypes"] != ["Ingress"]:
        yield f"ports {rule['ports']}"


RULES: dict[str, Callable[[Manifests], Iterator[str]]] = {
    "Dagster reads Kubernetes' files": dagster_reads_its_files,
    "Kubernetes' schedules are in one place": schedules_are_in_one_place,
    "Kubernetes' secrets are files": secrets_are_files,
    "Kubernetes' rights are narrow": rights_are_narrow,
    "what the manifests name is there": what_is_named_is_there,
    "Kubernetes' code server is walled": code_server_is_walled,
}
