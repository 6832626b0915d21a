"""Addresses of databases in files only: every process finds them, none shows them (R29)."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from collection_pipeline.local_db.errors import AddressFileUnreadable
from collection_pipeline.local_db.persistent import local_status
from collection_pipeline.orchestration.queue_address import named_queue
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    dagster_process,
)
from collection_pipeline_tests.kit.stack import Stack

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
QUEUE, DAGSTER = "COLLECTION_DATABASE_URL", "COLLECTION_DAGSTER_DATABASE_URL"


@pytest.fixture
def address_file(store_url: str, tmp_path: Path) -> Path:
    """The queue's address as a container's secret file holds it, with a line end."""
    file = tmp_path / "database_url"
    file.write_text(f"{store_url}\n", encoding="utf-8")
    return file


def test_a_dagster_run_finds_both_databases_through_files(
    open_stack: OpenStack,
    open_instance: OpenInstance,
    dagster_url: str,
    address_file: Path,
    tmp_path: Path,
) -> None:
    """Instance, code and run worker read them; no variable of any process holds an address."""
    stack = open_stack()
    instance = open_instance(stack)
    environment = dagster_environment(stack.environment, dagster_url, tmp_path / "home")
    dagster_file = tmp_path / "dagster_url"
    dagster_file.write_text(dagster_url, encoding="utf-8")
    del environment[QUEUE], environment[DAGSTER]
    environment |= {f"{QUEUE}_FILE": str(address_file), f"{DAGSTER}_FILE": str(dagster_file)}
    module = ("-m", "collection_pipeline.definitions")
    log = tmp_path / "log"
    command = ("dagster", "job", "execute", *module, "-j", "daily_cycle_creation")
    process = dagster_process(environment, *command, output=log)
    assert process.wait(PATIENCE_SECONDS) == 0, log.read_text(encoding="utf-8")
    (run,) = instance.get_runs()
    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert stack.rows("SELECT 1 FROM job_posting_collection_sla_snapshots")


def test_the_resource_names_the_variable_or_nothing(
    address_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R29: Dagster shows a resource's configuration in its UI."""
    monkeypatch.delenv(f"{QUEUE}_FILE", raising=False)
    by_variable = named_queue()
    assert isinstance(by_variable, dg.EnvVar) and by_variable.env_var_name == QUEUE
    monkeypatch.setenv(f"{QUEUE}_FILE", str(address_file))
    assert named_queue() == ""


def test_env_does_not_name_twice_what_a_file_names(
    store_url: str, address_file: Path, tmp_path: Path
) -> None:
    """Spec section 3: after `eval` the next process would refuse to choose between them."""
    (tmp_path / "dagster.yaml").touch()
    files = {f"{QUEUE}_FILE": str(address_file), f"{DAGSTER}_FILE": str(address_file)}
    cli = CommandLine({**files, "DAGSTER_HOME": str(tmp_path)})
    said = cli("env")
    assert (said.code, store_url in said.out) == (0, False)
    assert [line.split("=")[0] for line in said.out.splitlines()] == [
        "export DAGSTER_HOME",
        "export DAGSTER_DISABLE_TELEMETRY",
    ]
    cli.environment["DAGSTER_DISABLE_TELEMETRY"] = "yes"
    assert cli("check").code == 0


def test_no_private_server_is_started_beside_a_named_one(
    store_url: str, address_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spec section 3: a named server is used, whether by variable or by file."""
    monkeypatch.delenv(QUEUE, raising=False)
    monkeypatch.setenv(f"{QUEUE}_FILE", str(address_file))
    local = local_status()
    assert local is not None and (local.url, local.pid) == (store_url, None)
    monkeypatch.setenv(f"{QUEUE}_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(AddressFileUnreadable, match=f"{QUEUE}_FILE"):
        local_status()


def test_dagster_says_which_setting_is_missing(tmp_path: Path) -> None:
    """One sentence that names both variables."""
    environment = dagster_environment({}, "", tmp_path)
    del environment[DAGSTER]
    log = tmp_path / "log"
    (tmp_path / "dagster.yaml").write_text(
        "storage: {custom: {module: collection_pipeline.orchestration.dagster_storage,"
        " class: CollectionDagsterStorage, config: {}}}\n",
        encoding="utf-8",
    )
    process: subprocess.Popen[bytes] = dagster_process(
        environment, "dagster", "instance", "info", output=log
    )
    assert process.wait(PATIENCE_SECONDS) != 0
    assert f"set {DAGSTER} or {DAGSTER}_FILE" in log.read_text(encoding="utf-8")
