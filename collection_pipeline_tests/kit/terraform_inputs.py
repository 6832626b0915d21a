"""Rules of ``deploy/aws``: variables are described and checked, the key goes to one place only."""

import re
from collections.abc import Callable, Iterator

from collection_pipeline_tests.kit.terraform_module import TerraformModule

KEY = re.compile(r"var\.library_service_key\b(?!_)")
ACCOUNT = re.compile(r"\b\d{12}\b|\bAKIA[0-9A-Z]{12,}")
HAVE_NO_DEFAULT = (
    "region",
    "cluster_arn",
    "subnet_ids",
    "security_group_ids",
    "image",
    "database_url_parameter_arn",
)


def variables_are_told_and_checked(module: TerraformModule) -> Iterator[str]:
    """Type, description, and a validation of all that has one."""
    for name, body in module.variables.items():
        for part in ("type", "description"):
            if not body.get(part):
                yield f"{name} has no {part}"
        # The key has none on purpose; see the next rule.
        may_be_anything = body.get("type") == "bool" or name == "library_service_key"
        if not may_be_anything and not body.get("validation"):
            yield f"{name} takes anything"
    for name in HAVE_NO_DEFAULT:
        if "default" in module.variables[name]:
            yield f"{name} differs between accounts and has a default"


def key_stays_in_its_parameter(module: TerraformModule) -> Iterator[str]:
    """A sensitive variable, used for a SecureString and for nothing that is shown.

    A validation of it is refused: Terraform prints the value that a validation turns down.
    """
    variable = module.variables["library_service_key"]
    if variable.get("sensitive") is not True:
        yield "the variable is not sensitive"
    if variable.get("validation"):
        yield "a validation prints the key that it refuses"
    if "default" not in variable or variable["default"] is not None:
        yield "the variable must be given"
    for name, parameter in module.labelled("resource", "aws_ssm_parameter").items():
        if parameter.get("type") != "SecureString":
            yield f"{name} is a {parameter.get('type')}"
    for file, text in module.texts.items():
        allowed = {"secrets.tf": 1, "variables.tf": 1}.get(file, 0)
        if len(KEY.findall(text)) != allowed:
            yield f"{file} uses the key"


def no_account_is_named(module: TerraformModule) -> Iterator[str]:
    """Neither an account's number nor an access key."""
    for file, text in module.texts.items():
        for found in ACCOUNT.findall(text):
            yield f"{file} names {found}"


def releases_are_bounded(module: TerraformModule) -> Iterator[str]:
    """A new major release of the provider is taken up by hand."""
    (terraform,) = module.blocks("terraform")
    if not re.match(r">= \d", terraform["required_version"]):
        yield f"Terraform {terraform['required_version']}"
    version = terraform["required_providers"][0]["aws"]["version"]
    if not re.fullmatch(r"~> \d+\.\d+", version):
        yield f"the provider may be {version}"


INPUT_RULES: dict[str, Callable[[TerraformModule], Iterator[str]]] = {
    "variables are told and checked": variables_are_told_and_checked,
    "the key stays in its parameter": key_stays_in_its_parameter,
    "no account is named": no_account_is_named,
    "releases are bounded": releases_are_bounded,
}
