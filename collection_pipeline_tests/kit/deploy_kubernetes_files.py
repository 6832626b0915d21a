"""The Kubernetes manifests of the processes, and the Job that the run launcher makes of a run."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from dagster_k8s import K8sRunLauncher
from dagster_k8s.container_context import K8sContainerContext
from dagster_k8s.job import construct_dagster_k8s_job

# It ships no types.
from kubernetes.client import ApiClient

from collection_pipeline_tests.kit.deploy_dagster import launcher_data

Body = dict[str, Any]
CRONJOB = "library-ingest-cronjob.yaml"
"""It has a check of its own, and is switched on apart from the rest."""
EXAMPLE = "secret.yaml.example"
IMAGE_ENTRY = "collection-pipeline"
CLUSTER = """
apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none, user: none}}]
clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: none, user: {}}]
"""
"""A cluster that is never asked: the launcher wants one before it makes anything."""


@dataclass(frozen=True)
class Manifests:
    """``bodies`` of all files but the CronJob's; ``example`` is the secret's."""

    bodies: list[Body]
    example: Body
    texts: dict[str, str]

    @classmethod
    def read(cls, deploy: Path) -> "Manifests":
        """Raises ``yaml.YAMLError``."""
        folder = deploy / "kubernetes"
        texts = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
        bodies: list[Body] = []
        for name in sorted(texts):
            if name.endswith(".yaml") and name != CRONJOB:
                bodies += documents(texts[name])
        (example,) = documents(texts[EXAMPLE])
        return cls(bodies, example, texts)

    def of(self, kind: str) -> dict[str, Body]:
        """The objects of one kind by name."""
        return {one["metadata"]["name"]: one for one in self.bodies if one["kind"] == kind}

    def workloads(self) -> dict[str, Body]:
        """Deployments and Jobs by name."""
        return {**self.of("Deployment"), **self.of("Job")}

    def pods(self) -> Iterator[tuple[str, Body]]:
        """Name and pod of each workload, the run launcher's Job among them."""
        for name, body in {**self.workloads(), "a run": self.run_job()}.items():
            yield name, body["spec"]["template"]["spec"]

    def command(self, pod: Body) -> list[str]:
        """The command line of the pod's one container."""
        (container,) = pod["containers"]
        command = container.get("command", [IMAGE_ENTRY])
        words = [*command, *container.get("args", [])]
        return words[1:] if words[0] == "/usr/bin/env" else words

    def dagster_yaml(self) -> str:
        """Dagster's configuration, out of its ConfigMap."""
        text: str = self.of("ConfigMap")["collection-dagster"]["data"]["dagster.yaml"]
        return text

    def run_job(self) -> Body:
        """What the launcher would ask the cluster for, made by the launcher's own code."""
        return run_job(self.dagster_yaml())


@cache
def documents(text: str) -> tuple[Body, ...]:
    """The objects of one file; nobody changes them."""
    return tuple(yaml.safe_load_all(text))


@cache
def run_job(dagster_yaml: str) -> Body:
    """The Job of a run under one configuration of Dagster."""
    config: Body = yaml.safe_load(launcher_data(dagster_yaml).config_yaml)
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder) / "cluster"
        cluster.write_text(CLUSTER, encoding="utf-8")
        launcher = K8sRunLauncher(
            **{**config, "load_incluster_config": False, "kubeconfig_file": str(cluster)}
        )
    run = dg.DagsterRun(job_name="collection_dispatch")
    context = K8sContainerContext.create_for_run(run, launcher, include_run_tags=True)
    job = construct_dagster_k8s_job(
        job_config=context.get_k8s_job_config(job_image=None, run_launcher=launcher),
        args=["dagster", "api", "execute_run", "{}"],
        job_name="a-run",
        user_defined_k8s_config=context.run_k8s_config,
    )
    made: Body = ApiClient().sanitize_for_serialization(job)
    return made
