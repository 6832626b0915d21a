"""Rules of the Compose files: every process once, confined, watched, with secrets in files."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

# They ship no types.
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import validators

from collection_pipeline_tests.kit.deploy_compose_files import (
    SECRETS_FOLDER,
    Body,
    Compose,
    seconds,
)
from collection_pipeline_tests.kit.deploy_compose_mounts import RULES as MOUNT_RULES
from collection_pipeline_tests.kit.deploy_dagster import launcher_data
from collection_pipeline_tests.kit.deploy_processes import command_faults, role_faults, understood
from collection_pipeline_tests.kit.deploy_rules import UNREADABLE, Fault, broken_rules
from collection_pipeline_tests.kit.deploy_secrecy import (
    ADDRESSES,
    file_faults,
    literal_faults,
    value_faults,
)


def compose_faults(deploy: Path) -> list[Fault]:
    """The rules that the files below ``compose/`` break."""
    try:
        compose = Compose.read(deploy)
    except yaml.YAMLError as unreadable:
        return [Fault(UNREADABLE, str(unreadable))]
    return broken_rules(RULES, compose)


def follows_the_specification(compose: Compose) -> Iterator[str]:
    """The Compose specification's own schema."""
    schema = get_builtin_schema("vendor.compose-spec")
    validator = validators.validator_for(schema)(schema)
    for file, body in compose.bodies.items():
        for error in validator.iter_errors(body):
            yield f"{file}: {error.json_path}: {error.message[:200]}"


def every_process_once(compose: Compose) -> Iterator[str]:
    """And exactly one daemon: a fixed name, with which Compose refuses to start a second."""
    for file, expected in (
        ("compose.yaml", ("code server", "daemon", "migration", "operations", "webserver")),
        ("worker-host.yaml", ("added host",)),
    ):
        services = [(name, body) for where, name, body in compose.programs() if where == file]
        if len(services) != len(expected):
            yield f"{file} has {[name for name, _ in services]}"
        files = {
            path: local
            for _, body in services
            for path, local in compose.mounted(file, body).items()
        }
        lines = {name: compose.command(body) for name, body in services}
        commands = understood(lines, files)
        yield from role_faults(commands.values(), expected)
        for name, body in services:
            is_daemon = name in commands and commands[name].role == "daemon"
            if is_daemon and not body.get("container_name"):
                yield "a second daemon could be started"


def commands_are_real(compose: Compose) -> Iterator[str]:
    """Commands and health checks, as the installed programs read them."""
    for file, _, body in compose.programs():
        yield from command_faults(compose.command(body), compose.mounted(file, body))
        test = body.get("healthcheck", {}).get("test", ["CMD", "python"])
        if test[1] == "python":
            compile(test[3] if len(test) > 2 else "", "health check", "exec")
        else:
            yield from command_faults(test[1:])


def containers_are_confined(compose: Compose) -> Iterator[str]:
    """Not root, nothing writable but what is thrown away and the database's own folder."""
    for file, name, body in compose.services():
        if not re.fullmatch(r"mysql|[1-9]\d*:[1-9]\d*", str(body.get("user"))):
            yield f"{file}: {name} runs as {body.get('user', 'the image says')}"
        if body.get("read_only") is not True or body.get("cap_drop") != ["ALL"]:
            yield f"{file}: {name} may write or keeps capabilities"
        if "no-new-privileges:true" not in body.get("security_opt", []):
            yield f"{file}: {name} may become root"
        forbidden = {
            "privileged",
            "cap_add",
            "network_mode",
            "pid",
            "ipc",
            "devices",
            "userns_mode",
        }
        if forbidden & set(body):
            yield f"{file}: {name} has {sorted(forbidden & set(body))}"
        places = [volume.split(":")[0] for volume in body.get("volumes", [])]
        if places != (["mysql"] if name == "mysql" else []):
            yield f"{file}: {name} mounts {places}"


def ports_stay_private(compose: Compose) -> Iterator[str]:
    """Loopback, or the private network by its address: code servers have no other wall."""
    for file, port in compose.ports():
        address = r"\$\{PRIVATE_ADDRESS:\?[^}]+\}" if file != "compose.yaml" else r"127\.0\.0\.1"
        if not re.fullmatch(address + r":(\d+):\1", port):
            yield f"{file}: {port}"


def containers_may_end_slowly(compose: Compose) -> Iterator[str]:
    """A slice ends with its request in flight; a killed one is found by its lease only (R18)."""
    for file, name, body in compose.services():
        if seconds(body.get("stop_grace_period", "10s")) < 60:
            yield f"{file}: {name} is killed too soon"
        runs = "grpc" in body.get("command", [])
        tells = body.get("environment", {}).get("TINI_KILL_PROCESS_GROUP") == "1"
        if runs and not (tells and body.get("init") is True):
            yield f"{file}: the runs of {name} are not told to stop"


def containers_are_watched(compose: Compose) -> Iterator[str]:
    """Restarted, and asked whether they are well; the migration ends by itself."""
    for file, name, body in compose.services():
        if name == "migrate":
            if body.get("restart") != "no":
                yield "the migration is repeated"
            continue
        if body.get("restart") != "unless-stopped":
            yield f"{file}: {name} is not restarted"
        check = body.get("healthcheck", {})
        if check.get("disable") or not {"test", "interval", "timeout", "retries"} <= set(check):
            yield f"{file}: {name} is not asked"
        if body.get("logging", {}).get("options", {}).keys() != {"max-size", "max-file"}:
            yield f"{file}: the log of {name} grows"


def the_order_is_safe(compose: Compose) -> Iterator[str]:
    """Nothing works on a schema that is behind, and nothing asks a code server that is not up."""
    services = compose.bodies["compose.yaml"]["services"]
    needs = {
        "migrate": {"mysql": "service_healthy"},
        "code-server": {"mysql": "service_healthy", "migrate": "service_completed_successfully"},
        "daemon": {"code-server": "service_healthy"},
        "webserver": {"code-server": "service_healthy"},
        "operations": {"migrate": "service_completed_successfully"},
    }
    for name, expected in needs.items():
        found = services[name].get("depends_on", {})
        if {one: state["condition"] for one, state in found.items()} != expected:
            yield f"{name} waits for {found}"


def secrets_are_files(compose: Compose) -> Iterator[str]:
    """Variables name mounted files, and each process has only those that it names (R29)."""
    for file, name, body in compose.services():
        environment: Body = body.get("environment", {})
        held = frozenset(body.get("secrets", []))
        yield from value_faults(environment)
        yield from file_faults(environment, SECRETS_FOLDER, held)
        named = {
            str(value).rpartition("/")[2] for key, value in environment.items() if "_FILE" in key
        }
        if name != "mysql" and (held - named or not environment.keys() >= ADDRESSES):
            yield f"{file}: {name} holds {sorted(held)} and names {sorted(named)}"
    for path in sorted(compose.folder.iterdir()):
        yield from literal_faults(path.read_text("utf-8"))


def images_are_pinned(compose: Compose) -> Iterator[str]:
    """A release each: MySQL 8.4, and one image for all of the project's processes."""
    services = list(compose.services())
    runs = launcher_data((compose.folder / "dagster-docker.yaml").read_text("utf-8"))
    ours = {body["image"] for _, name, body in services if name != "mysql"}
    ours.add(yaml.safe_load(runs.config_yaml)["image"])
    if len(ours) != 1 or not re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+", next(iter(ours))):
        yield f"images {sorted(ours)}"
    for _, name, body in services:
        if name == "mysql" and not re.fullmatch(r"mysql:8\.4\.\d+", body["image"]):
            yield body["image"]


def nothing_is_told_outside(compose: Compose) -> Iterator[str]:
    """Dagster's telemetry is off by the variable too, before any file is read."""
    for file, name, body in compose.programs():
        runs_dagster = body.get("entrypoint", [""])[0].startswith("dagster")
        if runs_dagster and body["environment"].get("DAGSTER_DISABLE_TELEMETRY") != "yes":
            yield f"{file}: {name}"


RULES: dict[str, Callable[[Compose], Iterator[str]]] = {
    "the Compose files follow the specification": follows_the_specification,
    "Compose runs every process once": every_process_once,
    "Compose's commands are real": commands_are_real,
    "Compose's containers are confined": containers_are_confined,
    "Compose's ports stay private": ports_stay_private,
    "Compose's containers may end slowly": containers_may_end_slowly,
    "Compose's containers are watched": containers_are_watched,
    "Compose's order is safe": the_order_is_safe,
    "Compose's secrets are files": secrets_are_files,
    "Compose's images are pinned": images_are_pinned,
    "Compose tells nothing outside": nothing_is_told_outside,
    **MOUNT_RULES,
}
