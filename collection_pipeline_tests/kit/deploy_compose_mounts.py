"""Rules of what the Compose files mount: configuration of Dagster, workspaces, secrets, SQL."""

import re
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

# It ships no types.
from docker.models.containers import _create_container_args

from collection_pipeline.settings import InvalidSetting, load_settings
from collection_pipeline_tests.kit.deploy_compose_files import Compose
from collection_pipeline_tests.kit.deploy_dagster import (
    configuration_faults,
    difference_faults,
    home_faults,
    launcher_data,
    servers_of,
    slot_faults,
    workspace_faults,
)
from collection_pipeline_tests.kit.deploy_secrecy import file_faults, value_faults

CONFIGURATIONS = {"dagster.yaml": 2, "dagster-docker.yaml": 1}
"""How many hosts each file is for."""
WORKSPACES = ("workspace.yaml", "workspace-hosts.yaml")
PASSWORDS = ("mysql_root_password", "collection_password", "dagster_password", "operations_token")


def dagster_reads_its_files(compose: Compose) -> Iterator[str]:
    """Its own schema, that of the launcher's class, and the checkout's values."""
    for name, hosts in CONFIGURATIONS.items():
        text = (compose.folder / name).read_text("utf-8")
        try:
            faults = [*configuration_faults(text), *difference_faults(text), *home_faults(text)]
            faults += slot_faults(text, hosts)
        except (ValueError, yaml.YAMLError) as refused:
            faults = [str(refused)]
        yield from (f"{name}: {fault}" for fault in faults)


def schedules_are_in_one_place(compose: Compose) -> Iterator[str]:
    """And the named first code server is the service that Compose starts."""
    for name in WORKSPACES:
        yield from (f"{name}: {fault}" for fault in workspace_faults(compose.folder / name))
        host, _ = servers_of(compose.folder / name)["collection_pipeline"]
        if host not in compose.bodies["compose.yaml"]["services"]:
            yield f"{name}: no service {host}"
    if len(servers_of(compose.folder / WORKSPACES[0])) != 1:
        yield "one host has one code server"


def run_containers_are_confined(compose: Compose) -> Iterator[str]:
    """The containers of single runs, as the engine's client would ask for them."""
    text = (compose.folder / "dagster-docker.yaml").read_text("utf-8")
    config: dict[str, Any] = yaml.safe_load(launcher_data(text).config_yaml)
    options = config["container_kwargs"]
    plain = {key: value for key, value in options.items() if key != "stop_timeout"}
    command = ["dagster", "api", "execute_run", "{}"]
    try:
        asked = _create_container_args(
            {**plain, "image": config["image"], "command": command, "version": "1.44"}
        )
    except TypeError as refused:
        yield f"the engine's client refuses it: {refused}"
        return
    host = asked["host_config"]
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", asked["user"]) or not host["ReadonlyRootfs"]:
        yield "runs as root, or may write"
    if host["CapDrop"] != ["ALL"] or host["SecurityOpt"] != ["no-new-privileges:true"]:
        yield "keeps capabilities, or may become root"
    if host.get("Privileged") or not host.get("Memory"):
        yield "has privileges, or no limit of memory"
    if asked["entrypoint"] != ["/usr/bin/env"]:
        yield "the image's entry point would take Dagster's command for its own"
    if options.get("stop_timeout", 10) < 60:
        yield "is killed too soon"
    networks = compose.bodies["compose.yaml"]
    if config["network"] != f"{networks['name']}_{next(iter(networks['networks']))}":
        yield f"is in the network {config['network']}"


def run_containers_get_files(compose: Compose) -> Iterator[str]:
    """The secrets of single runs are mounted one by one, for reading (R29)."""
    text = (compose.folder / "dagster-docker.yaml").read_text("utf-8")
    config: dict[str, Any] = yaml.safe_load(launcher_data(text).config_yaml)
    environment = dict(one.split("=", 1) for one in config["env_vars"])
    mounts = [one.split(":") for one in config["container_kwargs"]["volumes"]]
    files = frozenset(target.rpartition("/")[2] for _, target, _ in mounts)
    yield from value_faults(environment)
    yield from file_faults(environment, "/run/secrets", files)
    sources = {body["file"] for body in compose.bodies["compose.yaml"]["secrets"].values()}
    for source, _, mode in mounts:
        if source not in sources or mode != "ro":
            yield f"{source} is mounted {mode}"
    program = compose.bodies["compose.yaml"]["services"]["code-server"]["environment"]
    missing = {name for name in program if name.endswith("_FILE")} - set(environment)
    if missing:
        yield f"runs are not told {sorted(missing)}"


def what_is_named_is_there(compose: Compose) -> Iterator[str]:
    """Files of the folder, and the secrets that make-secrets.sh makes."""
    made = {path.name for path in made_secrets(compose.folder / "make-secrets.sh")}
    for file, body in compose.bodies.items():
        for name, config in body.get("configs", {}).items():
            if not (compose.folder / config["file"]).is_file():
                yield f"{file}: no file for {name}"
        for name, secret in body.get("secrets", {}).items():
            if secret["file"] != f"/etc/collection-pipeline/secrets/{name}" or name not in made:
                yield f"{file}: {name} is not made"
    for file, _, service in compose.services():
        body = compose.bodies[file]
        used = {one["source"] for one in service.get("configs", [])} - set(body["configs"])
        used |= set(service.get("secrets", [])) - set(body["secrets"])
        if used:
            yield f"{file}: not declared: {sorted(used)}"


def passwords_are_random_and_private(compose: Compose) -> Iterator[str]:
    """Each its own, in a folder for root alone; a second call changes nothing (R29)."""
    with tempfile.TemporaryDirectory() as folder:
        first = _made(compose.folder / "make-secrets.sh", Path(folder) / "s")
        again = _made(compose.folder / "make-secrets.sh", Path(folder) / "s")
        if first != again:
            yield "a second call changes what is there"
        if stat.S_IMODE((Path(folder) / "s").stat().st_mode) != 0o700:
            yield "others may look into the folder"
        for path in (Path(folder) / "s").iterdir():
            # Read by a container's own user, changed by nobody.
            if stat.S_IMODE(path.stat().st_mode) != 0o444:
                yield f"{path.name} has mode {stat.S_IMODE(path.stat().st_mode):o}"
        files = {
            f"COLLECTION_{name.upper()}_FILE": str(Path(folder) / "s" / name)
            for name in ("database_url", "dagster_database_url")
        }
        try:
            settings = load_settings(files)
        except InvalidSetting as refused:
            yield str(refused)
            return
    if len({first[name] for name in PASSWORDS}) != len(PASSWORDS):
        yield "a password is used twice"
    if not all(re.fullmatch(r"[0-9a-f]{48}", first[name]) for name in PASSWORDS):
        yield "a password is weak"
    for url, name in (
        (settings.database_url, "collection_password"),
        (settings.dagster_database_url, "dagster_password"),
    ):
        if f":{first[name]}@mysql:3306/" not in (url or ""):
            yield f"an address has not the password {name}"


def accounts_are_narrow(compose: Compose) -> Iterator[str]:
    """One database each; what is no plain password is refused before any SQL (R29)."""
    good = initial_sql(compose.folder / "mysql-init.sh", "queue-word", "dagster-word")
    if good is None:
        yield "it refuses plain passwords"
        return
    grants = re.findall(r"GRANT (.*?) ON (\S+) TO '(\w+)'@'%'", good)
    if grants != [
        ("ALL PRIVILEGES", "`collection`.*", "collection"),
        ("ALL PRIVILEGES", r"`collection\_dagster`.*", "collection_dagster"),
    ]:
        yield f"grants {grants}"
    users = dict(re.findall(r"CREATE USER '(\w+)'@'%' IDENTIFIED BY '([^']*)'", good))
    if users != {"collection": "queue-word", "collection_dagster": "dagster-word"}:
        yield "accounts have other passwords"
    if good.count("CHARACTER SET utf8mb4") != 2:
        yield "a database is not in utf8mb4"
    for bad in ("", "it's", "a b", "back\\slash", "$(id)"):
        if initial_sql(compose.folder / "mysql-init.sh", bad, "dagster-word") is not None:
            yield f"it takes {bad!r}"


def initial_sql(script: Path, queue: str, dagster: str) -> str | None:
    """What the first start's script would run, None where it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        for name, value in (("collection_password", queue), ("dagster_password", dagster)):
            (Path(folder) / name).write_text(value, encoding="utf-8")
        text = script.read_text("utf-8").replace("/run/secrets", folder)
        (Path(folder) / "script").write_text(text, encoding="utf-8")
        # The image's entry point reads the script into itself, with this function at hand.
        whole = 'docker_process_sql() { cat; }; . "$1"'
        done = subprocess.run(
            ["bash", "-c", whole, "entrypoint", f"{folder}/script"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    return done.stdout if done.returncode == 0 else None


def made_secrets(script: Path) -> list[Path]:
    """Names of what the script makes."""
    with tempfile.TemporaryDirectory() as folder:
        return [Path(name) for name in _made(script, Path(folder) / "secrets")]


def _made(script: Path, folder: Path) -> dict[str, str]:
    command = ["sh", str(script), str(folder)]
    subprocess.run(command, capture_output=True, timeout=20, check=False)
    return {path.name: path.read_text("utf-8") for path in folder.iterdir()}


RULES: dict[str, Callable[[Compose], Iterator[str]]] = {
    "Dagster reads Compose's files": dagster_reads_its_files,
    "Compose's schedules are in one place": schedules_are_in_one_place,
    "Compose's run containers are confined": run_containers_are_confined,
    "Compose's run containers get files": run_containers_get_files,
    "what Compose names is there": what_is_named_is_there,
    "Compose's passwords are random and private": passwords_are_random_and_private,
    "Compose's accounts are narrow": accounts_are_narrow,
}
