"""The Compose files' way to a first run, without containers: their secrets, SQL and Dagster home.

Invariant: each step is the shipped file itself, on a real server; only its address is another.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    dagster_process,
)
from collection_pipeline_tests.kit.deploy_compose_mounts import initial_sql
from collection_pipeline_tests.kit.deploy_files import DEPLOY
from collection_pipeline_tests.kit.deploy_kubernetes_files import Manifests

COMPOSE = DEPLOY / "compose"
ACCOUNTS = ("collection", "collection_dagster")
EXECUTE = ("dagster", "job", "execute", "-m", "collection_pipeline.definitions", "-j")


@pytest.fixture
def secrets(database_server: PrivateServer, tmp_path: Path) -> Iterator[Path]:
    """The folder that make-secrets.sh makes, with the accounts that mysql-init.sh makes of it."""
    folder = tmp_path / "secrets"
    port = database_server.url("x").split("@")[1].split("/")[0]
    subprocess.run(
        ["sh", str(COMPOSE / "make-secrets.sh"), str(folder)], check=True, capture_output=True
    )
    for name in ("database_url", "dagster_database_url"):
        text = (folder / name).read_text("utf-8")
        (folder / name).chmod(0o600)
        (folder / name).write_text(text.replace("mysql:3306", port), encoding="utf-8")
    passwords = [
        (folder / name).read_text("utf-8") for name in ("collection_password", "dagster_password")
    ]
    sql = initial_sql(COMPOSE / "mysql-init.sh", *passwords)
    assert sql is not None
    database_server.execute(*filter(None, map(str.strip, sql.split(";"))))
    yield folder
    for name in ACCOUNTS:
        database_server.execute(f"DROP USER '{name}'@'%'", f"DROP DATABASE `{name}`")


def test_the_shipped_files_lead_to_a_run(secrets: Path, tmp_path: Path) -> None:
    """R29: narrow accounts suffice, by files alone; Dagster leaves nothing in its home."""
    files = {
        f"COLLECTION_{name.upper()}_FILE": str(secrets / name)
        for name in (
            "database_url",
            "dagster_database_url",
            "saramin_access_key",
            "library_service_key",
            "webhook_url",
        )
    }
    cli = CommandLine({**files, "DAGSTER_DISABLE_TELEMETRY": "yes"})
    assert cli("db", "migrate").code == 0
    report = cli("check", "--json").json
    assert (report["ok"], report["secrets_set"]) == (True, [])
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(COMPOSE / "dagster.yaml", home)
    environment = dagster_environment(files, "", home)
    del environment["COLLECTION_DAGSTER_DATABASE_URL"]
    log = tmp_path / "log"
    process = dagster_process(environment, *EXECUTE, "daily_cycle_creation", output=log)
    assert process.wait(PATIENCE_SECONDS) == 0, log.read_text("utf-8")
    assert [path.name for path in home.iterdir()] == ["dagster.yaml"]
    said = log.read_text("utf-8")
    for name in ("collection_password", "dagster_password"):
        assert (secrets / name).read_text("utf-8") not in said


def test_an_account_reaches_its_own_database_only(
    secrets: Path, database_server: PrivateServer
) -> None:
    """The account of Dagster cannot read the queue, nor the other way round."""
    for secret, foreign in (
        ("database_url", "collection_dagster"),
        ("dagster_database_url", "collection"),
    ):
        url = (secrets / secret).read_text("utf-8")
        own = url.split("?")[0].rsplit("/", 1)[1]
        said = CommandLine({"COLLECTION_DATABASE_URL": url})("check")
        assert "refuses" not in said.err
        other = url.replace(f"/{own}?", f"/{foreign}?")
        said = CommandLine({"COLLECTION_DATABASE_URL": other})("check")
        assert said.code == 3
        assert "refuses this account or database" in said.sentence


@pytest.mark.parametrize("variant", ["dagster.yaml", "dagster-docker.yaml", "kubernetes"])
def test_dagster_opens_each_home(variant: str, dagster_url: str, tmp_path: Path) -> None:
    """The file as it is shipped; a process that launches nothing needs no engine or cluster."""
    shipped = (
        Manifests.read(DEPLOY).dagster_yaml()
        if variant == "kubernetes"
        else (COMPOSE / variant).read_text("utf-8")
    )
    (tmp_path / "dagster.yaml").write_text(shipped, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLLECTION_DAGSTER_DATABASE_URL", dagster_url)
        patch.delenv("COLLECTION_DAGSTER_DATABASE_URL_FILE", raising=False)
        with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
            assert not instance.telemetry_enabled
            assert instance.get_runs_count() >= 0
            if variant != "kubernetes":  # To tell all, it asks for the pod's token.
                assert dagster_url.split(":")[2].split("@")[0] not in instance.info_str()
