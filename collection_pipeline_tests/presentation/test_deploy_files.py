"""Everything under ``deploy/``: what is written there is safe to switch on, and off until then.

Invariant: every check is shown to refuse. Each file has a broken copy beside this test, and each
rule has a small change that breaks that rule and no other.
"""

import re
import shutil
from difflib import ndiff
from pathlib import Path

import pytest

from collection_pipeline_tests.kit.deploy_breakages import BREAKAGES, Breakage
from collection_pipeline_tests.kit.deploy_compose import RULES as COMPOSE_RULES
from collection_pipeline_tests.kit.deploy_cron import RULES as CRON_RULES
from collection_pipeline_tests.kit.deploy_cronjob import RULES as CRONJOB_RULES
from collection_pipeline_tests.kit.deploy_files import DEPLOY, check_of, faults
from collection_pipeline_tests.kit.deploy_image import RULES as IMAGE_RULES
from collection_pipeline_tests.kit.deploy_kubernetes import RULES as KUBERNETES_RULES
from collection_pipeline_tests.kit.deploy_systemd import RULES as SYSTEMD_RULES
from collection_pipeline_tests.kit.terraform_module import TerraformModule
from collection_pipeline_tests.kit.terraform_rules import RULES as TERRAFORM_RULES

BROKEN = Path(__file__).parent / "broken_deploy_files"
RULES = {*TERRAFORM_RULES, *CRONJOB_RULES, *CRON_RULES, *IMAGE_RULES}
RULES |= {*COMPOSE_RULES, *KUBERNETES_RULES, *SYSTEMD_RULES}
# What the one fault of each broken copy is.
BROKEN_RULE = {
    "Dockerfile": "the image is not root",
    "Dockerfile.dockerignore": "nothing secret is sent to the image",
    "aws/iam.tf": "permissions are narrow",
    "aws/outputs.tf": "the key stays in its parameter",
    "aws/schedule.tf": "the schedule runs the documented command",
    "aws/secrets.tf": "the key stays in its parameter",
    "aws/task.tf": "secrets reach the task through parameters only",
    "aws/variables.tf": "the schedule is off until its variable says otherwise",
    "aws/versions.tf": "releases are bounded",
    "compose/compose.yaml": "Compose's containers may end slowly",
    "compose/dagster-docker.yaml": "Compose's run containers are confined",
    "compose/dagster.yaml": "Dagster reads Compose's files",
    "compose/docker-runs.yaml": "the Compose files follow the specification",
    "compose/first-host.yaml": "Compose's ports stay private",
    "compose/make-secrets.sh": "Compose's passwords are random and private",
    "compose/mysql-init.sh": "Compose's accounts are narrow",
    "compose/worker-host.yaml": "Compose runs every process once",
    "compose/workspace-hosts.yaml": "Compose's schedules are in one place",
    "compose/workspace.yaml": "Compose's schedules are in one place",
    "cron/library-ingest.crontab": "cron calls the script each hour",
    "cron/library-ingest.env.example": "cron starts nothing until it is switched on",
    "cron/library-ingest.sh": "cron repeats only what may be tried later",
    "kubernetes/access.yaml": "Kubernetes' rights are narrow",
    "kubernetes/code-server.yaml": "Kubernetes' pods are watched",
    "kubernetes/configuration.yaml": "the manifests follow Kubernetes' schema",
    "kubernetes/daemon.yaml": "Kubernetes' commands are real",
    "kubernetes/library-ingest-cronjob.yaml": "the CronJob is created suspended",
    "kubernetes/migrate-job.yaml": "Kubernetes' images are pinned",
    "kubernetes/namespace.yaml": "Kubernetes' pods are confined",
    "kubernetes/operations.yaml": "the manifests follow Kubernetes' schema",
    "kubernetes/secret.yaml.example": "Kubernetes' secrets are files",
    "kubernetes/webserver.yaml": "Kubernetes' pods are confined",
    "systemd/collection-.service.d/10-shared.conf": "systemd's secrets are credentials",
    "systemd/collection-code-server.service": "systemd's services are restarted",
    "systemd/collection-daemon.service": "systemd has no complaint",
    "systemd/collection-migrate.service": "systemd's commands are real",
    "systemd/collection-operations.service": "systemd's secrets are credentials",
    "systemd/collection-webserver.service": "systemd's addresses are private",
    "systemd/collection-worker.service": "systemd's addresses are private",
    "systemd/settings.env.example": "systemd's settings are told",
    "systemd/workspace.yaml": "systemd's schedules are in one place",
}


def test_the_deploy_files_keep_every_rule() -> None:
    """R29, R46, R47, R50."""
    assert faults(DEPLOY) == []


def test_each_deploy_file_has_a_broken_copy() -> None:
    """Pages aside, which nothing executes."""
    ours = {name for name in files_of(DEPLOY) if not name.endswith(".md")}
    assert ours == files_of(BROKEN) == set(BROKEN_RULE)


@pytest.mark.parametrize("file", sorted(BROKEN_RULE))
def test_a_broken_copy_is_refused_for_its_fault_alone(file: str, tmp_path: Path) -> None:
    """The copy is the file with one line changed, so nothing else can be what is refused."""
    real, broken = (folder.joinpath(file).read_text("utf-8") for folder in (DEPLOY, BROKEN))
    changes = [line[0] for line in ndiff(real.splitlines(), broken.splitlines())]
    assert changes.count("-") == 1 and changes.count("+") <= 1, "bring the broken copy up to date"
    deploy = copied(tmp_path)
    shutil.copyfile(BROKEN / file, deploy / file)
    assert {fault.rule for fault in check_of(file)(deploy)} == {BROKEN_RULE[file]}


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda one: one.name)
def test_a_change_that_breaks_a_rule_is_refused(breakage: Breakage, tmp_path: Path) -> None:
    """And only that rule speaks, so that a refusal says what is wrong."""
    deploy = copied(tmp_path)
    target = deploy / breakage.file
    text = target.read_text("utf-8")
    assert text.count(breakage.old) == 1
    target.write_text(text.replace(breakage.old, breakage.new), "utf-8")
    assert {fault.rule for fault in check_of(breakage.file)(deploy)} == {breakage.rule}


def test_each_rule_has_a_change_that_breaks_it() -> None:
    """A rule that nothing breaks may be checking nothing."""
    assert {one.rule for one in BREAKAGES} | set(BROKEN_RULE.values()) >= RULES


def test_the_page_tells_every_variable_and_its_default() -> None:
    """A variable that the page leaves out is found by nobody."""
    page = (DEPLOY / "aws/README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, re.MULTILINE)
    told = {name: default.strip().strip("`") for name, default in rows}
    variables = TerraformModule.read(DEPLOY / "aws").variables
    assert told == {name: shown(body) for name, body in variables.items()}


def test_the_page_says_where_the_key_can_still_be_read() -> None:
    """State, parameter and the running task."""
    page = (DEPLOY / "aws/README.md").read_text("utf-8")
    (section,) = re.findall(r"^## Where the key can be read\n(.*?)^## ", page, re.M | re.S)
    for place in ("state", "plan", "ssm:GetParameter", "environment", "execute-command"):
        assert place in section


def copied(folder: Path) -> Path:
    """The deploy files, to be broken."""
    return shutil.copytree(DEPLOY, folder / "deploy")


def files_of(folder: Path) -> set[str]:
    """Every file below, by its path."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def shown(variable: dict[str, object]) -> str:
    """How the page writes a default."""
    if "default" not in variable:
        return "none, required"
    default = variable["default"]
    return "null" if default is None else str(default).lower() if default is False else str(default)
