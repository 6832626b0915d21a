"""Rules of each ``dagster.yaml`` and workspace that a deployment mounts, read by Dagster itself."""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.instance import InstanceRef
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster._serdes import ConfigurableClassData

Body = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
OWN = {"run_launcher", "local_artifact_storage"}
"""Sections in which a deployment differs from the checkout's ``dagster.yaml``."""
FIRST, ADDED = "collection_pipeline", "collection_worker_"


@cache
def launcher_data(text: str) -> ConfigurableClassData:
    """The run launcher that Dagster would make; raises ``ValueError`` for what it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "dagster.yaml").write_text(text, encoding="utf-8")
        try:
            ref = InstanceRef.from_dir(folder)
        except Exception as refused:
            raise ValueError(f"Dagster refuses it: {refused}") from None
    data = ref.custom_instance_class_data or ref.run_launcher_data
    if data is None:
        raise ValueError("no run launcher")
    return data


@cache
def configuration_faults(text: str) -> tuple[str, ...]:
    """Dagster's own schema, and that of the run launcher's class."""
    data = launcher_data(text)
    schema = resolve_to_config_type(_class_of(data).config_type())
    result = process_config(schema, yaml.safe_load(data.config_yaml))
    if result.success:
        return ()
    return (f"{data.class_name} refuses it: {[one.message for one in result.errors or []]}",)


def _class_of(data: ConfigurableClassData) -> Any:
    module = __import__(data.module_name, fromlist=[data.class_name])
    return getattr(module, data.class_name)


@cache
def difference_faults(text: str) -> tuple[str, ...]:
    """What holds on one host holds on several: storage, monitoring, retention, no telemetry."""
    ours, root = yaml.safe_load(text), yaml.safe_load((ROOT / "dagster.yaml").read_text("utf-8"))
    for body in (ours, root):
        for section in OWN:
            body.pop(section, None)
        body["run_queue"].pop("max_concurrent_runs")
    return tuple(
        f"{section}: {ours.get(section)} instead of {root.get(section)}"
        for section in ours.keys() | root.keys()
        if ours.get(section) != root.get(section)
    )


def slot_faults(text: str, hosts: int) -> Iterator[str]:
    """Dispatch runs of ``hosts`` hosts never take all slots: the capture finds one free (R38)."""
    queue = yaml.safe_load(text)["run_queue"]
    (limit,) = queue["tag_concurrency_limits"]
    if queue["max_concurrent_runs"] < hosts * limit["limit"] + 3:
        yield f"{queue['max_concurrent_runs']} slots for {hosts} host(s) with {limit['limit']} each"


def home_faults(text: str) -> Iterator[str]:
    """Dagster's own files go to the one place that is writable."""
    storage = yaml.safe_load(text)["local_artifact_storage"]
    if not storage["config"]["base_dir"].startswith("/tmp/"):
        yield f"writes to {storage['config']['base_dir']}"


def servers_of(workspace: Path) -> dict[str, tuple[str, int]]:
    """Host and port of each code server, by its location's name, as Dagster reads them."""
    try:
        origins = WorkspaceFileTarget([str(workspace)]).create_origins()
    except Exception as refused:
        raise ValueError(f"Dagster refuses it: {refused}") from None
    found = {}
    for one in origins:
        server: Any = one
        if not getattr(one, "port", None):
            raise ValueError(f"{one.location_name} is no code server")
        if one.location_name in found:
            raise ValueError(f"{one.location_name} is named twice")
        found[one.location_name] = (server.host, server.port)
    return found


def workspace_faults(workspace: Path) -> Iterator[str]:
    """One location with the schedules; every other one only works slices."""
    servers = servers_of(workspace)
    added = {name: server for name, server in servers.items() if name != FIRST}
    if FIRST not in servers:
        yield "no location has the schedules"
    for name, server in added.items():
        if not name.startswith(ADDED):
            yield f"{name}: an added host's location is named {ADDED}<host>"
        if server == servers.get(FIRST):
            yield f"{name} is the first host's code server again"
    if {port for _, port in servers.values()} != {4000}:
        yield f"ports of {servers}"
