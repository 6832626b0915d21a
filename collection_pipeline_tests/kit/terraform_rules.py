"""Rules of ``deploy/aws``: what starts when, with which command, and where the secrets are."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lark.exceptions import LarkError

from collection_pipeline_tests.kit.deploy_rules import (
    LIBRARY_COMMAND,
    SECRETS,
    UNREADABLE,
    Fault,
    broken_rules,
)
from collection_pipeline_tests.kit.terraform_access import ACCESS_RULES
from collection_pipeline_tests.kit.terraform_inputs import INPUT_RULES
from collection_pipeline_tests.kit.terraform_module import Body, TerraformModule

SCHEDULE = "aws_scheduler_schedule"
SECRET_WORDS = re.compile(r"key|secret|password|database_url|service", re.IGNORECASE)


def terraform_faults(deploy: Path) -> list[Fault]:
    """The rules that ``deploy/aws`` breaks."""
    try:
        module = TerraformModule.read(deploy / "aws")
    except LarkError as unreadable:
        return [Fault(UNREADABLE, str(unreadable))]
    return broken_rules(RULES, module)


def off_by_default(module: TerraformModule) -> Iterator[str]:
    """One variable switches the schedule, and nothing else does."""
    state = module.variables["schedule_state"]
    if state.get("default") != "DISABLED":
        yield f"schedule_state defaults to {state.get('default')}"
    if module.only(SCHEDULE).get("state") != "${var.schedule_state}":
        yield "the schedule's state is not var.schedule_state"


def monthly_in_seoul(module: TerraformModule) -> Iterator[str]:
    """04:00 KST on the first (R46)."""
    schedule = module.only(SCHEDULE)
    if schedule["schedule_expression"] != "cron(0 4 1 * ? *)":
        yield f"starts at {schedule['schedule_expression']}"
    if schedule.get("schedule_expression_timezone") != "Asia/Seoul":
        yield "not in Seoul's time"
    if schedule["flexible_time_window"][0]["mode"] != "OFF":
        yield "starts within a window, not at its time"


def calls_run_task(module: TerraformModule) -> Iterator[str]:
    """The universal target, whose members begin with a capital, at every depth."""
    target = module.only(SCHEDULE)["target"][0]
    if target["arn"] != "arn:aws:scheduler:::aws-sdk:ecs:runTask":
        yield f"the target is {target['arn']}"
    request = run_task_request(module)
    for member in members(request):
        if not member[0].isupper():
            yield f"the SDK knows no member {member}"
    expected = {
        "Cluster": "${var.cluster_arn}",
        "TaskDefinition": "${aws_ecs_task_definition.program.arn}",
        "LaunchType": "FARGATE",
        "Count": 1,
    }
    for member, value in expected.items():
        if request.get(member) != value:
            yield f"{member} is {request.get(member)}"


def runs_the_ingest(module: TerraformModule) -> Iterator[str]:
    """The documented command, in the one container; a task without an override only looks."""
    (override,) = run_task_request(module)["Overrides"]["ContainerOverrides"]
    if override["Command"] != LIBRARY_COMMAND:
        yield f"the command is {override['Command']}"
    if override["Name"] != container(module)["name"]:
        yield f"there is no container {override['Name']}"
    if set(override) != {"Name", "Command"}:
        yield f"overrides {sorted(override)}"
    if container(module)["command"] != ["check"]:
        yield "a task without an override does more than look"


def start_is_not_repeated_for_long(module: TerraformModule) -> Iterator[str]:
    """The call is repeated twice within the hour; a failed start may be kept in a queue."""
    target = module.only(SCHEDULE)["target"][0]
    retry = target["retry_policy"][0]
    if not 0 <= retry["maximum_retry_attempts"] <= 2:
        yield f"{retry['maximum_retry_attempts']} repeats"
    if retry["maximum_event_age_in_seconds"] > 3600:
        yield f"still started after {retry['maximum_event_age_in_seconds']} s"
    if not any("dead_letter_config" in block for block in target.get("dynamic", [])):
        yield "a failed start cannot be kept"


def secrets_come_from_parameters(module: TerraformModule) -> Iterator[str]:
    """By ``valueFrom`` only, never in the command or the environment (R29, R47)."""
    body = container(module)
    sources = {one["name"]: one for one in body["secrets"]}
    if set(sources) != SECRETS:
        yield f"the secrets are {sorted(sources)}"
    for name, source in sources.items():
        if set(source) != {"name", "valueFrom"} or not source["valueFrom"].endswith("_arn}"):
            yield f"{name} does not come from a parameter's ARN"
    for entry in body["environment"]:
        if SECRET_WORDS.search(f"{entry['name']} {entry.get('value', '')}"):
            yield f"{entry['name']} stands in the environment"
    for word in body["command"]:
        if "${" in word or SECRET_WORDS.search(word):
            yield f"{word} stands in the command"


def container_is_confined(module: TerraformModule) -> Iterator[str]:
    """Not root, nothing writable but the spool's place, no shell from outside."""
    body, definition = container(module), module.only("aws_ecs_task_definition")
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", body.get("user", "")):
        yield f"runs as {body.get('user', 'root')}"
    if body.get("readonlyRootFilesystem") is not True:
        yield "the root file system is writable"
    mounts = {one["sourceVolume"]: one["containerPath"] for one in body["mountPoints"]}
    if mounts != {"tmp": "/tmp"} or definition["volume"] != [{"name": "tmp"}]:
        yield f"writable places: {mounts}"
    if body.get("privileged") or body["linuxParameters"]["capabilities"] != {"drop": ["ALL"]}:
        yield "keeps capabilities"
    if "task_role_arn" in definition:
        yield "has a role of its own"
    if run_task_request(module).get("EnableExecuteCommand") is not False:
        yield "a shell can be opened in it"
    if body["logConfiguration"]["logDriver"] != "awslogs":
        yield "its output is not kept"


def run_task_request(module: TerraformModule) -> Body:
    """What the schedule sends to RunTask."""
    request = module.encoded(module.only(SCHEDULE)["target"][0]["input"])
    assert isinstance(request, dict)
    return request


def container(module: TerraformModule) -> Body:
    """The task definition's one container."""
    (body,) = module.encoded(module.only("aws_ecs_task_definition")["container_definitions"])
    assert isinstance(body, dict)
    return body


def members(value: Any) -> Iterator[str]:
    """Every key at any depth."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from members(one)


RULES: dict[str, Callable[[TerraformModule], Iterator[str]]] = {
    "the schedule is off until its variable says otherwise": off_by_default,
    "the schedule starts at 04:00 in Seoul on the first": monthly_in_seoul,
    "the schedule calls RunTask": calls_run_task,
    "the schedule runs the documented command": runs_the_ingest,
    "the start is not repeated for long": start_is_not_repeated_for_long,
    "secrets reach the task through parameters only": secrets_come_from_parameters,
    "the container is confined": container_is_confined,
    **ACCESS_RULES,
    **INPUT_RULES,
}
