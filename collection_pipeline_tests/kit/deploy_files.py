"""Checks of everything under ``deploy/``: a folder goes in, the rules that it breaks come out.

Invariant: a check reads the files as the tool that uses them would (Terraform's syntax, the schemas
of Compose and Kubernetes, systemd, Dagster, a shell that runs the script), so a rule is broken by
what a file does, not by how it is spelled.
There is no AWS, cluster or container engine in a test run; what only those can say is not claimed.
"""

from collections.abc import Callable
from pathlib import Path

from collection_pipeline_tests.kit.deploy_compose import compose_faults
from collection_pipeline_tests.kit.deploy_cron import cron_faults
from collection_pipeline_tests.kit.deploy_cronjob import cronjob_faults
from collection_pipeline_tests.kit.deploy_image import image_faults
from collection_pipeline_tests.kit.deploy_kubernetes import kubernetes_faults
from collection_pipeline_tests.kit.deploy_kubernetes_files import CRONJOB
from collection_pipeline_tests.kit.deploy_rules import Fault
from collection_pipeline_tests.kit.deploy_systemd import systemd_faults
from collection_pipeline_tests.kit.terraform_rules import terraform_faults

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHECKS: dict[str, Callable[[Path], list[Fault]]] = {
    "aws": terraform_faults,
    "cronjob": cronjob_faults,
    "kubernetes": kubernetes_faults,
    "compose": compose_faults,
    "systemd": systemd_faults,
    "cron": cron_faults,
    "image": image_faults,
}


def check_of(file: str) -> Callable[[Path], list[Fault]]:
    """The check that answers for one file, named relative to ``deploy/``."""
    folder, _, name = file.partition("/")
    if folder.startswith("Dockerfile"):
        return CHECKS["image"]
    return CHECKS["cronjob" if name == CRONJOB else folder]


def faults(deploy: Path) -> list[Fault]:
    """Every rule that the files of one ``deploy`` folder break."""
    return [fault for check in CHECKS.values() for fault in check(deploy)]
