"""Rules of ``deploy/aws``: each role may do what its work needs, on the resources of that work."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from collection_pipeline_tests.kit.terraform_module import Body, TerraformModule

DOCUMENT = "aws_iam_policy_document"
# Every permission that the module gives, with the only resources that it may be given on.
PERMITTED: dict[str, list[str]] = {
    "ecs:RunTask": ["${aws_ecs_task_definition.program.arn_without_revision}:*"],
    "iam:PassRole": ["${aws_iam_role.execution.arn}"],
    "sqs:SendMessage": ["${var.dead_letter_queue_arn}"],
    "ssm:GetParameters": ["${var.database_url_parameter_arn}", "${local.library_service_key_arn}"],
    "logs:CreateLogStream": ["${aws_cloudwatch_log_group.program.arn}:*"],
    "logs:PutLogEvents": ["${aws_cloudwatch_log_group.program.arn}:*"],
    "kms:Decrypt": ["${var.parameter_encryption_key_arn}"],
    "ecr:BatchCheckLayerAvailability": ["${var.image_repository_arn}"],
    "ecr:BatchGetImage": ["${var.image_repository_arn}"],
    "ecr:GetDownloadUrlForLayer": ["${var.image_repository_arn}"],
    "ecr:GetAuthorizationToken": ["*"],
}
CONDITIONS = {
    "ecs:RunTask": ("ecs:cluster", ["${var.cluster_arn}"]),
    "iam:PassRole": ("iam:PassedToService", ["ecs-tasks.amazonaws.com"]),
}
TRUSTED = {
    "scheduler": ("scheduler.amazonaws.com", {"aws:SourceAccount", "aws:SourceArn"}),
    "execution": ("ecs-tasks.amazonaws.com", {"aws:SourceAccount"}),
}
INLINE = {"aws_iam_role", "aws_iam_role_policy"}


def permissions_are_narrow(module: TerraformModule) -> Iterator[str]:
    """No action beyond the list, none on more than its resources, none without its condition."""
    given: set[str] = set()
    for name in TRUSTED:
        for statement in statements(module.labelled("data", DOCUMENT)[name]):
            for action in statement["actions"]:
                given.add(action)
                if statement["resources"] != PERMITTED.get(action):
                    yield f"{action} on {statement['resources']}"
                if action in CONDITIONS and CONDITIONS[action] not in conditions(statement):
                    yield f"{action} without its condition"
            if statement.get("effect", "Allow") != "Allow" or "not_actions" in statement:
                yield f"{name} has a statement of another form"
    if missing := {"ecs:RunTask", "iam:PassRole", "ssm:GetParameters"} - given:
        yield f"the task cannot start without {sorted(missing)}"


def roles_trust_one_service(module: TerraformModule) -> Iterator[str]:
    """And only when it acts for this account, or for this group of schedules."""
    for name, (service, variables) in TRUSTED.items():
        (statement,) = statements(module.labelled("data", DOCUMENT)[f"{name}_trust"])
        principals = statement["principals"]
        if principals != [{"type": "Service", "identifiers": [service]}]:
            yield f"{name} trusts {principals}"
        if {variable for variable, _ in conditions(statement)} != variables:
            yield f"{name} trusts that service for everybody"


def roles_have_no_other_policy(module: TerraformModule) -> Iterator[str]:
    """Two roles, one policy each, and no managed policy beside it."""
    iam = {one for one in module.resource_types() if one.startswith("aws_iam")}
    if iam != INLINE:
        yield f"the module makes {sorted(iam)}"
    for name in TRUSTED:
        role = module.labelled("resource", "aws_iam_role")[name]
        policy = module.labelled("resource", "aws_iam_role_policy")[name]
        if role["assume_role_policy"] != f"${{data.{DOCUMENT}.{name}_trust.json}}":
            yield f"{name} is trusted by another document"
        if set(role) - {"name", "assume_role_policy"}:
            yield f"{name} has more: {sorted(role)}"
        if policy["policy"] != f"${{data.{DOCUMENT}.{name}.json}}":
            yield f"{name} may do what another document says"
        if policy["role"] != f"${{aws_iam_role.{name}.id}}":
            yield f"the policy {name} belongs to {policy['role']}"
    roles = set(module.labelled("resource", "aws_iam_role"))
    if roles != set(TRUSTED):
        yield f"the roles are {sorted(roles)}"


def statements(document: Body) -> Iterator[Body]:
    """Plain and optional statements alike."""
    yield from document.get("statement", [])
    for block in document.get("dynamic", []):
        # ``x == null ? [] : [x]``: the statement's value is x.
        (value,) = re.findall(r"\? \[\] : \[(var\.\w+)\]\}$", block["statement"]["for_each"])
        for content in block["statement"]["content"]:
            resources = [
                one.replace("statement.value", value) for one in content.get("resources", [])
            ]
            yield content | {"resources": resources}


def conditions(statement: Body) -> list[tuple[str, Any]]:
    """Variable and values of every condition that compares for equality."""
    return [
        (one["variable"], one["values"])
        for one in statement.get("condition", [])
        if one["test"] in {"StringEquals", "ArnEquals"}
    ]


ACCESS_RULES: dict[str, Callable[[TerraformModule], Iterator[str]]] = {
    "permissions are narrow": permissions_are_narrow,
    "each role trusts one service": roles_trust_one_service,
    "roles have no other policy": roles_have_no_other_policy,
}
