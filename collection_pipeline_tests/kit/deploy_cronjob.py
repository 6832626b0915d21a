"""Rules of the Kubernetes CronJob: monthly, one at a time, off, confined, keys by reference."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from collection_pipeline_tests.kit.deploy_rules import (
    LIBRARY_COMMAND,
    SECRETS,
    UNREADABLE,
    Fault,
    broken_rules,
)

Body = dict[str, Any]


def cronjob_faults(deploy: Path) -> list[Fault]:
    """The rules that the manifest breaks."""
    text = (deploy / "kubernetes/library-ingest-cronjob.yaml").read_text("utf-8")
    try:
        (manifest,) = yaml.safe_load_all(text)
    except (yaml.YAMLError, ValueError) as unreadable:
        return [Fault(UNREADABLE, str(unreadable))]
    return broken_rules(RULES, manifest)


def is_a_cronjob(manifest: Body) -> Iterator[str]:
    """Of the stable API, with a name that a Job's suffix still fits behind (52 characters)."""
    if (manifest["apiVersion"], manifest["kind"]) != ("batch/v1", "CronJob"):
        yield f"{manifest['apiVersion']} {manifest['kind']}"
    if len(manifest["metadata"]["name"]) > 52:
        yield "the name is too long"


def off_by_default(manifest: Body) -> Iterator[str]:
    """R50."""
    if manifest["spec"].get("suspend") is not True:
        yield "not suspended"


def monthly_in_seoul(manifest: Body) -> Iterator[str]:
    """R46."""
    if manifest["spec"]["schedule"] != "0 4 1 * *":
        yield f"starts at {manifest['spec']['schedule']}"
    if manifest["spec"].get("timeZone") != "Asia/Seoul":
        yield "not in Seoul's time"


def one_at_a_time(manifest: Body) -> Iterator[str]:
    """Beside the lock, not instead of it."""
    if manifest["spec"].get("concurrencyPolicy") != "Forbid":
        yield "runs may overlap"


def nothing_is_repeated(manifest: Body) -> Iterator[str]:
    """A repeated request costs calls of the key."""
    job = manifest["spec"]["jobTemplate"]["spec"]
    if job.get("backoffLimit") != 0:
        yield f"repeated {job.get('backoffLimit', 6)} times"
    if job["template"]["spec"].get("restartPolicy") != "Never":
        yield "the container is restarted"


def ends_in_time(manifest: Body) -> Iterator[str]:
    """A hanging run ends, and a late start is given up."""
    deadline = manifest["spec"]["jobTemplate"]["spec"].get("activeDeadlineSeconds", 0)
    if not 60 <= deadline <= 7200:
        yield f"ends after {deadline} s"
    if not 60 <= manifest["spec"].get("startingDeadlineSeconds", 0) <= 7200:
        yield "may start at any later time"
    if pod(manifest).get("terminationGracePeriodSeconds", 30) < 60:
        yield "is killed before a request has ended"


def runs_the_ingest(manifest: Body) -> Iterator[str]:
    """The image's entry point with the documented arguments."""
    body = container(manifest)
    if body.get("args") != LIBRARY_COMMAND or "command" in body:
        yield f"runs {body.get('command')} {body.get('args')}"
    if ":" not in body["image"] or body["image"].endswith(":latest"):
        yield "the image has no fixed tag"


def secrets_come_by_reference(manifest: Body) -> Iterator[str]:
    """``secretKeyRef`` and nothing beside it (R29, R47)."""
    body = container(manifest)
    if {entry["name"] for entry in body["env"]} != SECRETS or "envFrom" in body:
        yield "other variables than the two secrets"
    for entry in body["env"]:
        reference = entry.get("valueFrom", {}).get("secretKeyRef", {})
        if "value" in entry or not reference.get("name") or not reference.get("key"):
            yield f"{entry['name']} is not a reference"
        if reference.get("optional"):
            yield f"{entry['name']} may be missing"


def container_is_confined(manifest: Body) -> Iterator[str]:
    """Not root, nothing writable but the spool's place, no token of the cluster."""
    whole, own = pod(manifest)["securityContext"], container(manifest)["securityContext"]
    if whole.get("runAsNonRoot") is not True or not whole.get("runAsUser"):
        yield "may run as root"
    if whole.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "may use any system call"
    if own.get("readOnlyRootFilesystem") is not True:
        yield "the root file system is writable"
    if own.get("allowPrivilegeEscalation") is not False or own.get("privileged"):
        yield "may become root"
    if own.get("capabilities") != {"drop": ["ALL"]}:
        yield "keeps capabilities"
    if pod(manifest).get("automountServiceAccountToken") is not False:
        yield "holds a token of the cluster"
    volumes = {one["name"]: one for one in pod(manifest)["volumes"]}
    mounts = {one["mountPath"]: volumes[one["name"]] for one in container(manifest)["volumeMounts"]}
    if set(mounts) != {"/tmp"} or "sizeLimit" not in mounts["/tmp"].get("emptyDir", {}):
        yield f"writable places: {mounts}"


def resources_are_bounded(manifest: Body) -> Iterator[str]:
    """Requests and limits of both."""
    for part in ("requests", "limits"):
        if set(container(manifest)["resources"].get(part, {})) != {"cpu", "memory"}:
            yield f"no {part}"


def pod(manifest: Body) -> Body:
    """The pod's specification."""
    body: Body = manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return body


def container(manifest: Body) -> Body:
    """The pod's one container."""
    (body,) = pod(manifest)["containers"]
    assert isinstance(body, dict)
    return body


RULES: dict[str, Callable[[Body], Iterator[str]]] = {
    "the manifest is a CronJob": is_a_cronjob,
    "the CronJob is created suspended": off_by_default,
    "the CronJob starts at 04:00 in Seoul on the first": monthly_in_seoul,
    "the CronJob runs one at a time": one_at_a_time,
    "the CronJob repeats nothing": nothing_is_repeated,
    "the CronJob ends in time": ends_in_time,
    "the CronJob runs the documented command": runs_the_ingest,
    "the CronJob's secrets come by reference": secrets_come_by_reference,
    "the CronJob's container is confined": container_is_confined,
    "the CronJob's resources are bounded": resources_are_bounded,
}
