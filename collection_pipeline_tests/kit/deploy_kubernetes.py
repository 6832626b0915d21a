"""Rules of the Kubernetes manifests: each process once, confined, watched, narrow rights."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

# It ships no types.
import kubernetes_validate
import yaml

from collection_pipeline_tests.kit.deploy_kubernetes_files import Body, Manifests
from collection_pipeline_tests.kit.deploy_kubernetes_names import RULES as NAME_RULES
from collection_pipeline_tests.kit.deploy_processes import (
    ROLES,
    command_faults,
    role_faults,
    understood,
)
from collection_pipeline_tests.kit.deploy_rules import UNREADABLE, Fault, broken_rules

RELEASES = ("1.29", "1.37")
"""The oldest with which the manifests work, and the newest whose schema is there."""


def kubernetes_faults(deploy: Path) -> list[Fault]:
    """The rules that the manifests of the processes break."""
    try:
        manifests = Manifests.read(deploy)
    except yaml.YAMLError as unreadable:
        return [Fault(UNREADABLE, str(unreadable))]
    return broken_rules(RULES, manifests)


def follow_the_schema(manifests: Manifests) -> Iterator[str]:
    """The API's own schema, without any field that it does not know."""
    for body in [*manifests.bodies, manifests.example, manifests.run_job()]:
        for release in RELEASES:
            if refused := schema_refuses(json.dumps(body), release):
                yield f"{release}: {body['kind']} {body['metadata']['name']}: {refused}"


@cache
def schema_refuses(body: str, release: str) -> str | None:
    """Why, for one object; each check reads a dozen that no change has touched."""
    try:
        kubernetes_validate.validate(json.loads(body), release, strict=True)
    except (
        kubernetes_validate.ValidationError,
        kubernetes_validate.SchemaNotFoundError,
    ) as refused:
        return f"{type(refused).__name__} {refused}"[:300]
    return None


def every_process_once(manifests: Manifests) -> Iterator[str]:
    """And never two daemons or code servers, not even while one is replaced."""
    files = workspace_files(manifests)
    lines = {
        name: manifests.command(body["spec"]["template"]["spec"])
        for name, body in manifests.workloads().items()
    }
    if len(lines) != len(ROLES):
        yield f"there are {sorted(lines)}"
    commands = understood(lines, files)
    yield from role_faults(commands.values())
    for name, body in manifests.of("Deployment").items():
        if body["spec"].get("replicas") != 1:
            yield f"{name} runs {body['spec'].get('replicas')} times"
        alone = name in commands and commands[name].role in {"daemon", "code server"}
        if alone and body["spec"]["strategy"] != {"type": "Recreate"}:
            yield f"{name} runs twice while it is replaced"


def commands_are_real(manifests: Manifests) -> Iterator[str]:
    """Commands and probes, as the installed programs read them."""
    files = workspace_files(manifests)
    for _, pod in manifests.pods():
        words = manifests.command(pod)
        if words[:3] != ["dagster", "api", "execute_run"]:
            yield from command_faults(words, files)
        for kind, probe in probes(pod).items():
            if "exec" in probe:
                yield from (f"{kind}: {one}" for one in command_faults(probe["exec"]["command"]))


def pods_are_confined(manifests: Manifests) -> Iterator[str]:
    """As the namespace asks, and with nothing writable but a bounded /tmp."""
    labels = manifests.of("Namespace")["collection"]["metadata"]["labels"]
    if labels.get("pod-security.kubernetes.io/enforce") != "restricted":
        yield "the namespace admits anything"
    for name, pod in manifests.pods():
        whole, own = pod["securityContext"], pod["containers"][0]["securityContext"]
        if whole.get("runAsNonRoot") is not True or not whole.get("runAsUser"):
            yield f"{name} may run as root"
        if whole.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{name} may use any system call"
        if own.get("readOnlyRootFilesystem") is not True or own.get("privileged"):
            yield f"{name} may write, or has privileges"
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"{name} may become root"
        if own.get("capabilities") != {"drop": ["ALL"]}:
            yield f"{name} keeps capabilities"
        if {"hostNetwork", "hostPID", "hostIPC"} & set(pod):
            yield f"{name} is on its node's network or among its processes"
        for volume in pod["volumes"]:
            bounded = "sizeLimit" in volume.get("emptyDir", {"sizeLimit": ""})
            if not bounded or not {"emptyDir", "secret", "configMap"} & set(volume):
                yield f"{name} has the volume {volume['name']}"


def pods_are_watched(manifests: Manifests) -> Iterator[str]:
    """Every process that stays is asked whether it lives; servers also whether they answer."""
    for name in manifests.of("Deployment"):
        pod = dict(manifests.pods())[name]
        found = probes(pod)
        serves = bool(pod["containers"][0].get("ports"))
        needed = {"livenessProbe", "readinessProbe"} if serves else {"livenessProbe"}
        if not needed <= set(found):
            yield f"{name} has {sorted(found)}"
        if found.get("livenessProbe", {}).get("httpGet", {}).get("path") == "/healthz":
            yield f"{name} would be restarted for a database that is away"
        (port,) = [one["containerPort"] for one in pod["containers"][0].get("ports", [])] or [None]
        for kind, probe in found.items():
            asked = [body["port"] for way, body in probe.items() if way in WAYS]
            if asked not in ([], [port]):
                yield f"{kind} of {name} asks port {asked}"


def pods_may_end_slowly(manifests: Manifests) -> Iterator[str]:
    """A slice ends with its request in flight (R18); no run is started again (R35)."""
    for name, pod in manifests.pods():
        if pod.get("terminationGracePeriodSeconds", 30) < 60:
            yield f"{name} is killed too soon"
    job = manifests.run_job()["spec"]
    if job.get("backoffLimit") != 0 or job["template"]["spec"].get("restartPolicy") != "Never":
        yield "a run is started again by the cluster"


def resources_are_bounded(manifests: Manifests) -> Iterator[str]:
    """Requests and limits of both."""
    for name, pod in manifests.pods():
        for part in ("requests", "limits"):
            if set(pod["containers"][0]["resources"].get(part, {})) != {"cpu", "memory"}:
                yield f"{name} has no {part}"


def images_are_pinned(manifests: Manifests) -> Iterator[str]:
    """One release for all, runs too: another one might be behind the schema."""
    images = {pod["containers"][0]["image"] for _, pod in manifests.pods()}
    for pod in dict(manifests.pods()).values():
        environment = pod["containers"][0].get("env", [])
        images |= {one["value"] for one in environment if one["name"] == "DAGSTER_CURRENT_IMAGE"}
    if len(images) != 1 or not re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+", next(iter(images))):
        yield f"images {sorted(images)}"


WAYS = frozenset({"grpc", "httpGet", "tcpSocket"})


def probes(pod: Body) -> dict[str, Body]:
    """The container's probes by kind."""
    container: Body = pod["containers"][0]
    return {name: body for name, body in container.items() if name.endswith("Probe")}


def workspace_files(manifests: Manifests) -> dict[str, Path]:
    """Where a process finds the workspace; only its being there is asked here."""
    data = manifests.of("ConfigMap")["collection-dagster"]["data"]
    return {f"/etc/dagster/{name}": Path(__file__) for name in data}


RULES: dict[str, Callable[[Manifests], Iterator[str]]] = {
    "the manifests follow Kubernetes' schema": follow_the_schema,
    "Kubernetes runs every process once": every_process_once,
    "Kubernetes' commands are real": commands_are_real,
    "Kubernetes' pods are confined": pods_are_confined,
    "Kubernetes' pods are watched": pods_are_watched,
    "Kubernetes' pods may end slowly": pods_may_end_slowly,
    "Kubernetes' resources are bounded": resources_are_bounded,
    "Kubernetes' images are pinned": images_are_pinned,
    **NAME_RULES,
}
