"""The project's own server, as separate commands start, look at and stop it."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from collection_pipeline.local_db.errors import StateFileUnreadable
from collection_pipeline.local_db.persistent import local_status, start_local, stop_local
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.servers import place_data_folder, wanted_kind


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty `.local` folder; its server is stopped afterwards."""
    monkeypatch.setenv("COLLECTION_HOME", str(tmp_path))
    monkeypatch.delenv("COLLECTION_DATABASE_URL", raising=False)
    monkeypatch.delenv("COLLECTION_DAGSTER_DATABASE_URL", raising=False)
    yield tmp_path
    for state in tmp_path.glob("db/state.json"):
        if state.read_text().startswith("{"):
            stop_local()


@pytest.fixture
def prepared_home(home: Path) -> Path:
    """The same with a data folder in place, which takes MySQL seconds to make."""
    place_data_folder(PrivateServer(home / "db" / wanted_kind(), prefer=wanted_kind()))
    (home / "db").chmod(0o700)
    return home


def _command(verb: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "collection_pipeline.local_db", verb],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_each_database_has_an_account_that_sees_only_it(home: Path) -> None:
    """The queue's tables and Dagster's are in two schemas with two accounts."""
    database = start_local(wanted_kind())

    for url, name in ((database.url, "collection"), (database.dagster_url, "collection_dagster")):
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
            shown = set(connection.execute(sa.text("SHOW DATABASES")).scalars())
            charset = connection.execute(sa.text("SELECT @@character_set_database")).scalar_one()
        assert shown - {"information_schema", "performance_schema"} == {name}
        assert charset == "utf8mb4"


def test_processes_that_start_at_once_share_one_server(prepared_home: Path) -> None:
    """Three commands at the same moment end with one server, and another one stops it."""
    start_local(wanted_kind())
    stop_local()

    commands = [_command("start") for _ in range(3)]
    answers = [json.loads(command.communicate(timeout=120)[0]) for command in commands]

    assert len({answer["pid"] for answer in answers}) == 1
    assert answers[0]["kind"] == wanted_kind()
    assert json.loads(_command("stop").communicate(timeout=120)[0]) == {"stopped": True}
    assert local_status() is None


def test_a_killed_server_counts_as_stopped_and_starts_again(prepared_home: Path) -> None:
    """A stale pid file is recognised; port and accounts stay."""
    before = start_local(wanted_kind())
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)
    os.waitpid(before.pid, 0)

    assert local_status() is None
    after = start_local()

    assert (after.url, after.kind) == (before.url, before.kind)
    assert after.pid != before.pid


def test_no_password_is_shown_or_readable_by_others(prepared_home: Path) -> None:
    """The state file has mode 0600; neither the command nor a printed object shows a secret."""
    database = start_local(wanted_kind())
    password = sa.engine.make_url(database.url).password
    assert isinstance(password, str)
    state = prepared_home / "db" / "state.json"

    shown = "".join(_command("status").communicate(timeout=60)) + repr(database)

    assert password in state.read_text()
    assert password not in shown
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert stat.S_IMODE((prepared_home / "db").stat().st_mode) == 0o700


def test_a_named_database_is_used_and_nothing_is_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COLLECTION_DATABASE_URL comes before every server that could be found."""
    monkeypatch.setenv(
        "COLLECTION_DATABASE_URL", "mysql://u:p@db.example:3307/jobs?charset=utf8mb4"
    )

    database = start_local()

    assert database.url == "mysql://u:p@db.example:3307/jobs?charset=utf8mb4"
    assert database.dagster_url == (
        "mysql://u:p@db.example:3307/collection_dagster?charset=utf8mb4"
    )
    assert database.pid is None
    assert not (home / "db").exists()
    assert stop_local() is False


def test_an_unreadable_state_file_is_reported_and_kept(home: Path) -> None:
    """Guessing would lose the accounts of the data that lies beside it."""
    (home / "db").mkdir()
    (home / "db" / "state.json").write_text("not json")

    with pytest.raises(StateFileUnreadable, match="delete its folder"):
        start_local()

    assert (home / "db" / "state.json").read_text() == "not json"


def test_a_wrong_verb_ends_with_the_usage_code(home: Path) -> None:
    """Exit code 2 is for a wrong call, 3 for a database that is not there."""
    wrong, missing = _command("begin"), _command("status")

    assert "usage" in wrong.communicate(timeout=60)[1]
    assert json.loads(missing.communicate(timeout=60)[0]) == {"running": False}
    assert (wrong.returncode, missing.returncode) == (2, 3)
