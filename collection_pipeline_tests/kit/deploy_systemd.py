"""Rules of the systemd units, read by systemd itself in a folder that stands for the root."""

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collection_pipeline_tests.kit.deploy_dagster import servers_of, workspace_faults
from collection_pipeline_tests.kit.deploy_processes import (
    PROGRAMS,
    ROLES,
    Command,
    command_faults,
    role_faults,
    understood,
)
from collection_pipeline_tests.kit.deploy_rules import Fault, broken_rules
from collection_pipeline_tests.kit.deploy_secrecy import (
    ADDRESSES,
    file_faults,
    literal_faults,
    value_faults,
)

SHARED = "collection-.service.d/10-shared.conf"
BIN = "opt/collection-pipeline/bin"
SECRETS = "/etc/collection-pipeline/secrets"
WORST_EXPOSURE = 20
"""Of 100, by `systemd-analyze security`; a unit that says nothing has 96."""
STUBS = ("basic", "multi-user", "network-online", "shutdown", "sysinit")


@dataclass(frozen=True)
class Units:
    """``settings`` of each unit, the shared ones first: (section, key, value) in their order."""

    folder: Path
    settings: dict[str, list[tuple[str, str, str]]]

    @classmethod
    def read(cls, deploy: Path) -> "Units":
        """Raises ``ValueError`` for a line that is no setting."""
        folder = deploy / "systemd"
        shared = _settings(folder / SHARED)
        units = sorted(folder.glob("*.service"))
        return cls(folder, {path.name: [*shared, *_settings(path)] for path in units})

    def values(self, unit: str, key: str) -> list[str]:
        """Every value of a key, in its order."""
        return [value for _, name, value in self.settings[unit] if name == key]

    def last(self, unit: str, key: str) -> str | None:
        """The value that holds."""
        values = self.values(unit, key)
        return values[-1] if values else None

    def words(self, unit: str) -> list[str]:
        """The command line."""
        (line,) = self.values(unit, "ExecStart")
        return shlex.split(line)

    @property
    def commands(self) -> dict[str, Command]:
        """What the programs make of the command lines, by unit."""
        return understood({unit: self.words(unit) for unit in self.settings}, self.files)

    @property
    def files(self) -> dict[str, Path]:
        """What the steps put to where the units look for it."""
        return {"/etc/collection-pipeline/workspace.yaml": self.folder / "workspace.yaml"}

    def environment(self, unit: str) -> dict[str, str]:
        """Variables that the unit sets by itself."""
        pairs = [shlex.split(value) for value in self.values(unit, "Environment")]
        return dict(pair.split("=", 1) for line in pairs for pair in line)


def _settings(path: Path) -> list[tuple[str, str, str]]:
    found, section = [], ""
    for line in path.read_text("utf-8").splitlines():
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if line.startswith("["):
            section = line.strip("[]")
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"{path.name}: {line}")
        found.append((section, key, value))
    return found


def systemd_faults(deploy: Path) -> list[Fault]:
    """The rules that the files below ``systemd/`` break."""
    return broken_rules(RULES, Units.read(deploy))


def systemd_has_no_complaint(units: Units) -> Iterator[str]:
    """It ignores what it cannot read and says so; to be silent is to have read all."""
    with tempfile.TemporaryDirectory() as root:
        said = _analyzed(units, Path(root), "verify", "--man=no", *units.settings)
    if said:
        yield said[:500].replace(root, "")


def units_are_confined(units: Units) -> Iterator[str]:
    """Not root, and as little of the host as systemd's own reckoning asks for."""
    with tempfile.TemporaryDirectory() as root:
        report = _analyzed(units, Path(root), "security", "--offline=true", *units.settings)
    exposures = re.findall(r"exposure level for (\S+): (\d+\.\d+)", report)
    if {name for name, _ in exposures} != set(units.settings):
        yield f"judged {exposures}"
    for name, exposure in exposures:
        if float(exposure) * 10 > WORST_EXPOSURE:
            yield f"{name} is exposed by {exposure}"
    for name in units.settings:
        if units.last(name, "User") in {None, "", "root", "0"}:
            yield f"{name} is root"
        if units.last(name, "LimitCORE") != "0":
            yield f"{name} may leave its memory in a file"


def _analyzed(units: Units, root: Path, *arguments: str) -> str:
    """What systemd-analyze says about the units in a root that has nothing else."""
    system = root / "etc/systemd/system"
    shutil.copytree(units.folder, system)
    for name in STUBS:
        (system / f"{name}.target").write_text("[Unit]\nDescription=stub\n", encoding="utf-8")
    (root / BIN).mkdir(parents=True)
    for name in PROGRAMS:
        (root / BIN / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (root / BIN / name).chmod(0o755)
    command = ["systemd-analyze", "--no-pager", arguments[0], f"--root={root}", *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def every_process_once(units: Units) -> Iterator[str]:
    """One unit each, and one for the code server of an added host."""
    expected = (*ROLES, "added host")
    if len(units.settings) != len(expected):
        yield f"there are {sorted(units.settings)}"
    yield from role_faults(units.commands.values(), expected)


def commands_are_real(units: Units) -> Iterator[str]:
    """As the installed programs read them, from the folder where the steps put them."""
    for unit in units.settings:
        yield from command_faults(units.words(unit), units.files)


def addresses_are_private(units: Units) -> Iterator[str]:
    """Loopback; an added host's code server at the address that its settings name."""
    for unit, command in units.commands.items():
        expected = "${WORKER_ADDRESS}" if command.role == "added host" else "127.0.0.1"
        if command.host not in {None, expected}:
            yield f"{unit} listens on {command.host}"


def services_are_restarted(units: Units) -> Iterator[str]:
    """For ever, with a pause; the migration ends by itself."""
    for unit in units.settings:
        if unit == "collection-migrate.service":
            if units.last(unit, "Type") != "oneshot" or units.last(unit, "Restart"):
                yield "the migration is repeated"
            continue
        found = [units.last(unit, key) for key in ("Restart", "StartLimitIntervalSec")]
        if found != ["always", "0"] or not units.last(unit, "RestartSec"):
            yield f"{unit}: {found}"
        if units.last(unit, "WantedBy") != "multi-user.target":
            yield f"{unit} does not start with the host"


def services_may_end_slowly(units: Units) -> Iterator[str]:
    """Runs are processes of the code server's unit: they are told, and have time (R18)."""
    for unit in units.settings:
        if int(units.last(unit, "TimeoutStopSec") or 90) < 60:
            yield f"{unit} is killed too soon"
        told = (units.last(unit, "KillMode"), units.last(unit, "KillSignal"))
        if told != ("control-group", "SIGTERM"):
            yield f"{unit}: {told}"


def secrets_are_credentials(units: Units) -> Iterator[str]:
    """Files that systemd opens; the settings' file has none (R29)."""
    for unit in units.settings:
        credentials = dict(one.split(":", 1) for one in units.values(unit, "LoadCredential"))
        environment = units.environment(unit)
        yield from value_faults(environment)
        yield from file_faults(environment, "%d", frozenset(credentials))
        if not environment.keys() >= ADDRESSES:
            yield f"{unit} is not told where its databases are"
        for name, path in credentials.items():
            if path != f"{SECRETS}/{name}":
                yield f"{unit}: {name} is at {path}"
        if environment.get("DAGSTER_DISABLE_TELEMETRY") != "yes":
            yield f"{unit} tells outside"
    example = (units.folder / "settings.env.example").read_text("utf-8")
    for line in example.splitlines():
        yield from value_faults({line.lstrip("#").split("=")[0]: ""} if "=" in line else {})
    for file in units.folder.rglob("*.*"):
        yield from literal_faults(file.read_text("utf-8") if file.is_file() else "")


def schedules_are_in_one_place(units: Units) -> Iterator[str]:
    """The workspace names the first host's code server where its unit listens."""
    yield from workspace_faults(units.folder / "workspace.yaml")
    first = servers_of(units.folder / "workspace.yaml")["collection_pipeline"]
    for unit, command in units.commands.items():
        if command.role == "code server" and (command.host, command.port) != first:
            yield f"{unit} is not at {first}"


def the_settings_are_told(units: Units) -> Iterator[str]:
    """What a unit takes from the settings' file stands in the example, switched off."""
    example = (units.folder / "settings.env.example").read_text("utf-8")
    asked = {
        name
        for unit in units.settings
        for word in units.words(unit)
        for name in re.findall(r"\$\{(\w+)\}", word)
    }
    for name in asked:
        if not re.search(rf"^#{name}=", example, re.MULTILINE):
            yield f"{name} is not in the example"
    for unit in units.settings:
        if units.last(unit, "EnvironmentFile") != "-/etc/collection-pipeline/settings.env":
            yield f"{unit} reads {units.last(unit, 'EnvironmentFile')}"


RULES: dict[str, Callable[[Units], Iterator[str]]] = {
    "systemd has no complaint": systemd_has_no_complaint,
    "systemd's services are confined": units_are_confined,
    "systemd runs every process once": every_process_once,
    "systemd's commands are real": commands_are_real,
    "systemd's addresses are private": addresses_are_private,
    "systemd's services are restarted": services_are_restarted,
    "systemd's services may end slowly": services_may_end_slowly,
    "systemd's secrets are credentials": secrets_are_credentials,
    "systemd's schedules are in one place": schedules_are_in_one_place,
    "systemd's settings are told": the_settings_are_told,
}
