"""What cannot work is one sentence and exit code 3, and never shows a password (R29, section 3)."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from collection_pipeline.cli import database as cli_database
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store import migration
from collection_pipeline.store.connection import open_engine
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.servers import create_database, private_server, wanted_kind

NEEDS_DATABASE: tuple[tuple[object, ...], ...] = (
    ("check",),
    ("db", "migrate"),
    ("tick",),
    ("create-cycles",),
    ("cycles",),
    ("postings", "--source", 1),
    ("cleanup",),
    ("sources", "list"),
    ("flags", "list"),
    ("clock", "show"),
)
NEEDS_SCHEMA = tuple(command for command in NEEDS_DATABASE if command[0] != "db")


def _named(url: str, database: str) -> str:
    address, _, query = url.partition("?")
    return f"{address.rsplit('/', 1)[0]}/{database}?{query}"


@pytest.mark.parametrize("command", NEEDS_DATABASE)
def test_no_database_at_all_says_how_to_get_one(
    tmp_path: Path, command: tuple[object, ...]
) -> None:
    """Spec section 3: the default is the private server, which does not run here."""
    said = CommandLine({"COLLECTION_HOME": str(tmp_path)})(*command)
    assert said.code == 3
    assert "local-db start" in said.sentence


@pytest.mark.parametrize("command", [("local-db", "start"), ("local-db", "status"), ("check",)])
def test_a_home_that_is_a_file_is_refused(tmp_path: Path, command: tuple[object, ...]) -> None:
    """Spec section 3: one sentence that names the variable, and nothing is done to the file."""
    file = tmp_path / "home"
    file.write_text("mine", encoding="utf-8")
    said = CommandLine({"COLLECTION_HOME": str(file)})(*command)
    assert said.code == 3
    assert "COLLECTION_HOME" in said.sentence
    assert file.read_text(encoding="utf-8") == "mine"


def test_an_unmigrated_schema_is_refused(database_url: str) -> None:
    """R34: nothing works on a schema that is behind this release; the sentence says what to run."""
    cli = CommandLine({"COLLECTION_DATABASE_URL": database_url})
    for command in NEEDS_SCHEMA:
        said = cli(*command)
        assert said.code == 3, command
        assert "collection-pipeline db migrate" in said.sentence


def test_migrating_makes_it_fit_and_again_changes_nothing(database_url: str) -> None:
    """R34: `db migrate` twice, then `check` is content."""
    cli = CommandLine({"COLLECTION_DATABASE_URL": database_url})
    first, second = cli("db", "migrate"), cli("db", "migrate")
    assert (first.code, second.code) == (0, 0)
    assert first.out == second.out
    assert cli("check").code == 0


def test_an_unreachable_database_is_named_without_its_password(cli: CommandLine) -> None:
    """R29, section 3."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        said = cli("tick", DATABASE_URL=f"mysql+pymysql://me:hidden-word@127.0.0.1:{port}/queue")
    assert said.code == 3
    assert f"127.0.0.1:{port}/queue cannot be reached" in said.sentence
    assert "hidden-word" not in said.err + said.out


def test_a_wrong_password_is_refused(cli: CommandLine, database_server: PrivateServer) -> None:
    """R29: neither the wrong nor the right password is shown."""
    url = database_server.url_for("collection_owner", "not-the-password", "mysql")
    said = cli("check", DATABASE_URL=url)
    assert said.code == 3
    assert "refuses this account" in said.sentence
    assert "not-the-password" not in said.err + said.out
    assert database_server.password not in said.err + said.out


def test_an_unknown_database_is_refused(cli: CommandLine, store_url: str) -> None:
    """Spec section 3."""
    said = cli("check", DATABASE_URL=_named(store_url, "no_such_database"))
    assert said.code == 3
    assert "no_such_database" in said.sentence


def test_a_server_too_old_for_skip_locked_is_refused(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spec section 3: only the number that the server reported is replaced."""
    before, oldest = {"mysql": ((5, 7), "MySQL 8.0"), "mariadb": ((10, 5), "MariaDB 10.6")}[
        wanted_kind()
    ]
    monkeypatch.setattr(cli_database, "parsed_version", lambda _text: before)
    said = cli("check")
    assert said.code == 3
    assert "too old" in said.sentence
    assert oldest in said.sentence


@pytest.mark.parametrize(
    ("said", "numbers"),
    [("8.0.0", (8, 0)), ("10.11.19-MariaDB-log", (10, 11)), ("9.7.4-commercial", (9, 7))],
)
def test_a_version_is_read_as_numbers(said: str, numbers: tuple[int, int]) -> None:
    """Spec section 3: 10.11 is newer than 10.6, which text would deny."""
    assert cli_database.parsed_version(said) == numbers


def test_statement_binlog_is_refused() -> None:
    """Spec section 3: READ COMMITTED writes cannot be replicated as statements."""
    options = ("--log-bin=binlog", "--server-id=1", "--binlog-format=STATEMENT")
    with private_server(options=options) as server:
        cli = CommandLine({"COLLECTION_DATABASE_URL": create_database(server)})
        said = cli("db", "migrate")
        assert said.code == 3
        assert "binlog_format=STATEMENT" in said.sentence
        server.execute("SET GLOBAL binlog_format = 'ROW'")
        assert cli("db", "migrate").code == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TICK_CLAIM_LIMIT", "0"),
        ("SLICE_MAX_SECONDS", "-5"),
        ("DAILY_MAX_POSTINGS", "many"),
        ("SARAMIN_HOST_MIN_DELAY_MS", "0.5"),
        ("LEASE_SECONDS", "330"),
        ("SLA_CUTOFF", "9 o'clock"),
        ("SIMULATION", "perhaps"),
        ("WANTED_BASE_URL", "http://wanted.example"),
        ("DATABASE_URL", "postgresql://me:hidden-word@127.0.0.1/queue"),
        ("DATABASE_URL", "mysql://me:hidden-word@127.0.0.1:no/queue"),
        ("DATABASE_URL", "mysql://me:hidden-word@127.0.0.1:3306"),
        ("DAGSTER_DATABASE_URL", "sqlite:///hidden-word"),
        ("SARAMIN_ACCESS_KEY_FILE", "/no/such/file"),
    ],
)
@pytest.mark.parametrize("command", [("check",), ("tick",), ("env",)])
def test_a_wrong_environment_value_is_refused(
    command: tuple[str, ...], name: str, value: str
) -> None:
    """Spec section 3: one sentence that names the variable, before anything connects."""
    cli = CommandLine({"COLLECTION_DATABASE_URL": "mysql://nobody@127.0.0.1:1/nothing"})
    said = cli(*command, **{name: value})
    assert said.code == 3
    assert f"COLLECTION_{name}" in said.sentence
    assert "hidden-word" not in said.err + said.out


@pytest.mark.parametrize("scheme", ["mysql", "mysql+pymysql"])
def test_every_spelling_of_the_driver_works(cli: CommandLine, scheme: str, store_url: str) -> None:
    """Spec section 3: `mysql://` as well; it means the driver that the project brings."""
    url = store_url.replace("mysql+pymysql://", f"{scheme}://")
    assert url.startswith(f"{scheme}://")
    assert cli("check", "--json", DATABASE_URL=url).json["ok"] is True
    assert cli("tick", "--json", DATABASE_URL=url).json["slices"] == 0


def test_a_driver_that_is_not_installed_is_a_configuration_error(
    cli: CommandLine, store_url: str
) -> None:
    """Spec section 3: `mysql+mysqldb://` is allowed, its driver is an extra."""
    url = store_url.replace("mysql+pymysql://", "mysql+mysqldb://").split("?")[0]
    said = cli("check", DATABASE_URL=url)
    assert said.code == 3
    assert "mysqlclient" in said.sentence


def test_an_option_that_the_driver_does_not_know_is_a_configuration_error(
    cli: CommandLine, store_url: str
) -> None:
    """Spec section 3: a typing error in the URL's query is not a defect of the program."""
    said = cli("check", DATABASE_URL=f"{store_url}&conect_timeout=3")
    assert said.code == 3
    assert "conect_timeout" in said.sentence


@contextmanager
def _migration_lock(url: str) -> Iterator[None]:
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            connection.execute(text(f"SELECT GET_LOCK({migration._LOCK_NAME}, 5)"))
            yield
    finally:
        engine.dispose()


def test_a_schema_that_another_process_migrates_is_tried_later(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R34, section 3: exit code 75 is for what will work in a while."""
    monkeypatch.setattr(migration, "MIGRATION_WAIT_SECONDS", 0)
    cli = CommandLine({"COLLECTION_DATABASE_URL": database_url})
    with _migration_lock(database_url):
        busy = cli("db", "migrate")
    assert busy.code == 75
    assert "migrating" in busy.sentence
    assert cli("db", "migrate").code == 0


def test_a_defect_shows_neither_a_traceback_nor_its_text(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R29, section 3: an unexpected error's text may hold anything; its class is enough."""

    def breaking(*_: object, **__: object) -> None:
        raise RuntimeError("planted-key")

    monkeypatch.setattr(cli_database, "check_database", breaking)
    said = cli("tick")
    assert said.code == 1
    assert "RuntimeError" in said.sentence
    assert "planted-key" not in said.err + said.out
