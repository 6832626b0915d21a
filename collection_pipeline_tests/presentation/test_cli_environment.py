"""``check`` and ``env``: what would be used, and what a shell must be told (R29, R34)."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.command_line import CommandLine


def test_check_says_what_would_be_used(cli: CommandLine, database_server: PrivateServer) -> None:
    """Style rule 6: configuration, database, versions, schema; secrets by name only (R29)."""
    report: dict[str, Any] = cli("check", "--json", SARAMIN_ACCESS_KEY="planted-key").json
    assert report["ok"] is True
    assert report["database_version"] == database_server.version()
    assert report["schema_revision"] == report["expected_revision"]
    assert report["platforms"] == ["greenhouse", "jumpit", "lever", "saramin", "wanted"]
    assert report["secrets_set"] == ["SARAMIN_ACCESS_KEY"]
    assert report["simulation"] is False
    words = cli("check", SARAMIN_ACCESS_KEY="planted-key")
    assert words.code == 0
    assert database_server.version() in words.out
    assert "planted-key" not in words.out + json.dumps(report)
    assert database_server.password not in words.out + json.dumps(report)


def test_check_shows_the_state_of_a_schema_that_is_behind(database_url: str) -> None:
    """Style rule 6: `check --json` prints its document and still ends with 3."""
    said = CommandLine({"COLLECTION_DATABASE_URL": database_url})("check", "--json")
    assert said.code == 3
    report = json.loads(said.out)
    assert (report["ok"], report["schema_revision"]) == (False, None)


def test_env_is_what_a_shell_can_evaluate(
    cli: CommandLine, store_url: str, database_server: PrivateServer, tmp_path: Path
) -> None:
    """Spec section 3: quotes and blanks survive `eval`; only `env` shows a password (R29)."""
    (tmp_path / "it's a home").mkdir()
    (tmp_path / "it's a home" / "dagster.yaml").touch()
    cli.environment["DAGSTER_HOME"] = str(tmp_path / "it's a home")
    plain = store_url.replace("mysql+pymysql://", "mysql://")
    said = cli("env", DAGSTER_DATABASE_URL=plain)
    assert said.code == 0
    exports = dict(
        shlex.split(line)[1].split("=", 1)
        for line in said.out.splitlines()
        if shlex.split(line)[0] == "export"
    )
    assert exports["COLLECTION_DATABASE_URL"] == store_url
    assert exports["COLLECTION_DAGSTER_DATABASE_URL"].startswith("mysql+pymysql://")
    assert database_server.password in exports["COLLECTION_DAGSTER_DATABASE_URL"]
    assert exports["DAGSTER_HOME"] == cli.environment["DAGSTER_HOME"]
    shown = subprocess.run(
        ["sh", "-c", said.out + 'printf %s "$DAGSTER_HOME|$COLLECTION_DATABASE_URL"'],
        capture_output=True,
        text=True,
        check=True,
        env={},
    ).stdout
    assert shown == f"{exports['DAGSTER_HOME']}|{store_url}"


def test_env_needs_a_database_for_dagster(cli: CommandLine) -> None:
    """Spec section 3: without one `dagster` would quietly keep its runs in a temporary folder."""
    said = cli("env")
    assert said.code == 3
    assert "COLLECTION_DAGSTER_DATABASE_URL" in said.sentence


def test_env_refuses_a_dagster_home_without_its_file(
    cli: CommandLine, store_url: str, tmp_path: Path
) -> None:
    """Spec section 3: a wrong DAGSTER_HOME is a configuration error like any other."""
    cli.environment["DAGSTER_HOME"] = str(tmp_path)
    said = cli("env", DAGSTER_DATABASE_URL=store_url)
    assert said.code == 3
    assert "DAGSTER_HOME" in said.sentence


def test_check_refuses_an_account_that_may_only_read(
    cli: CommandLine, database_server: PrivateServer
) -> None:
    """Spec section 3: fit for work means that the queue's tables can be written."""
    schema = cli.environment["COLLECTION_DATABASE_URL"].rsplit("/", 1)[1].split("?", 1)[0]
    database_server.execute(
        "DROP USER IF EXISTS 'only_reads'@'%'",
        "CREATE USER 'only_reads'@'%' IDENTIFIED BY 'reader'",
        f"GRANT SELECT ON `{schema}`.* TO 'only_reads'@'%'",
    )
    url = database_server.url_for("only_reads", "reader", schema)
    refused = cli("check", DATABASE_URL=url)
    assert refused.code == 3
    assert "may not write" in refused.sentence


def test_a_url_option_that_its_driver_cannot_read_is_named(cli: CommandLine) -> None:
    """Spec section 3: exit code 3 and one sentence."""
    url = cli.environment["COLLECTION_DATABASE_URL"] + "&read_timeout=abc"
    refused = cli("check", DATABASE_URL=url)
    assert refused.code == 3
    assert "DATABASE_URL" in refused.sentence
