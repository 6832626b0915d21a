"""The session contract and the collations of keys, asked of the server itself (mysql.md)."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.platforms.adapters.parsing import source_job_id
from collection_pipeline.store.connection import collection_url, open_engine
from collection_pipeline.store.schema import metadata
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.servers import wanted_kind

BINARY = {"utf8mb4_bin", "ascii_bin"}
KEY_TABLES: dict[str, dict[str, object]] = {
    "job_postings": {
        "job_source_id": 1,
        "title": "t",
        "list_signature": "1:a",
        "detail_state": "NONE",
        "first_seen_run_date": "2026-12-01",
        "last_seen_run_date": "2026-12-01",
        "source_job_id": None,
    },
    "job_posting_collection_seen_postings": {
        "cycle_id": 1,
        "list_position": 0,
        "created_at": "2026-12-01",
        "source_job_id": None,
    },
    "companies": {"display_name": "c", "normalised_name": None},
    "company_aliases": {"company_id": 1, "normalised_name": None},
    "external_request_host_limits": {
        "host": None,
        "next_allowed_at": "2026-12-01",
        "updated_at": "2026-12-01",
    },
    "public_libraries": {
        "provider_code": "1",
        "library_name": None,
        "row_hash": "h",
        "first_seen_at": "2026-12-01",
        "updated_at": "2026-12-01",
    },
}


def test_the_run_talks_to_the_server_it_claims(store: Store) -> None:
    """VERSION() decides, not the name of the program."""
    assert ("MariaDB" in store.value("SELECT VERSION()")) == (wanted_kind() == "mariadb")


def test_every_session_keeps_the_contract(store: Store) -> None:
    """READ COMMITTED, UTC, strict, a lock wait of 5 s, 20 s of idleness, utf8mb4."""
    settings = store.row(
        "SELECT @@session.time_zone AS zone, @@session.sql_mode AS mode, "
        "@@session.innodb_lock_wait_timeout AS lock_wait, @@session.wait_timeout AS idle, "
        "@@character_set_connection AS charset, @@character_set_client AS client"
    )
    modes = set(settings["mode"].split(","))
    isolation = store.row(
        "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')"
    )["Value"]
    assert isolation == "READ-COMMITTED"
    assert settings["zone"] == "+00:00"
    assert {
        "STRICT_TRANS_TABLES",
        "NO_ZERO_DATE",
        "NO_ZERO_IN_DATE",
        "ERROR_FOR_DIVISION_BY_ZERO",
        "NO_ENGINE_SUBSTITUTION",
    } <= modes
    assert (settings["lock_wait"], settings["idle"]) == (5, 20)
    assert (settings["charset"], settings["client"]) == ("utf8mb4", "utf8mb4")


def test_every_connection_of_the_pool_keeps_the_contract(store: Store) -> None:
    """The hook is on the pool, not on the first connection."""
    asked = text("SELECT CONNECTION_ID(), @@session.wait_timeout, @@session.time_zone")
    with store.engine.connect() as first, store.engine.connect() as second:
        sessions = [one.execute(asked).one() for one in (first, second)]
    assert sessions[0][0] != sessions[1][0]
    assert [tuple(session[1:]) for session in sessions] == [(20, "+00:00")] * 2


def test_the_database_refuses_what_does_not_fit(store: Store) -> None:
    """Strict mode: a value too long is an error, never a shorter value."""
    with pytest.raises(DBAPIError, match="Data too long"):
        store.write("INSERT INTO feature_flags VALUES (REPEAT('x', 101), 0, 'me', NOW())")


def test_a_session_that_idled_too_long_is_replaced_unseen(store: Store) -> None:
    """Pre-ping: the server's short wait_timeout costs the next transaction nothing."""
    ended = store.value("SELECT CONNECTION_ID()")
    with store.engine.connect() as one, store.engine.connect() as killer:
        victims = {one.execute(text("SELECT CONNECTION_ID()")).scalar_one()}
        assert ended in victims | {killer.execute(text("SELECT CONNECTION_ID()")).scalar_one()}
        one.close()
        killer.execute(text(f"KILL {victims.pop()}"))
    assert store.value("SELECT 1") == 1


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("mysql://u:p@h/d", "mysql+pymysql"),
        ("mysql+pymysql://u:p@h/d", "mysql+pymysql"),
        ("mysql+mysqldb://u:p@h/d", "mysql+mysqldb"),
    ],
)
def test_a_url_may_name_its_driver(url: str, driver: str) -> None:
    """Section 3 of the specification: three spellings; text is utf8mb4 in each."""
    parsed = collection_url(url)
    assert (parsed.drivername, parsed.query["charset"]) == (driver, "utf8mb4")


def test_a_failed_statement_does_not_show_its_values(store: Store) -> None:
    """R29: parameters stay out of exceptions, they may hold bodies with keys."""
    with pytest.raises(DBAPIError) as caught:
        store.rows("SELECT * FROM nowhere WHERE a = :value", value="planted-secret")
    assert "planted-secret" not in str(caught.value)


def test_every_text_column_of_an_index_compares_bytewise(store: Store) -> None:
    """Section 7: the server's default collation would fold A, a and trailing spaces."""
    found = store.rows(
        "SELECT s.table_name AS t, s.column_name AS c, k.collation_name AS collation "
        "FROM information_schema.statistics AS s JOIN information_schema.columns AS k "
        "ON k.table_schema = s.table_schema AND k.table_name = s.table_name "
        "AND k.column_name = s.column_name "
        "WHERE s.table_schema = DATABASE() AND k.collation_name IS NOT NULL "
        "AND s.table_name <> 'collection_schema_version'"
    )
    assert {row["t"] for row in found} >= set(KEY_TABLES)
    assert [row for row in found if row["collation"] not in BINARY] == []


def test_every_id_signature_and_token_column_compares_bytewise(store: Store) -> None:
    """Section 7, also where no index covers them."""
    found = store.rows(
        "SELECT table_name AS t, column_name AS c, collation_name AS collation "
        "FROM information_schema.columns WHERE table_schema = DATABASE() "
        "AND collation_name IS NOT NULL AND table_name <> 'collection_schema_version'"
    )
    assert {row["t"] for row in found} <= set(metadata.tables)
    assert [row for row in found if row["collation"] not in BINARY] == []


@pytest.mark.parametrize("table", KEY_TABLES)
def test_keys_that_look_alike_are_different_rows(store: Store, table: str) -> None:
    """Upper case, lower case and a trailing space are three keys (mysql.md)."""
    values = KEY_TABLES[table]
    columns = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    keys = ["Abc", "abc", "abc.", "ABC"]
    for key in keys:
        row = {name: key if value is None else value for name, value in values.items()}
        assert store.write(f"INSERT INTO {table} ({columns}) VALUES ({marks})", **row) == 1
    assert store.value(f"SELECT COUNT(*) FROM {table}") == len(keys)


def test_ids_come_without_the_trailing_spaces_that_the_collation_ignores(store: Store) -> None:
    """``utf8mb4_bin`` pads: `7` and `7 ` would be one key, so adapters hand over trimmed ids."""
    padded = "SELECT CAST('7' AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = '7 '"
    assert store.value(padded) == 1
    assert source_job_id({"id": "7 "}) == source_job_id({"id": "7"}) == "7"


def test_nothing_connects_before_it_is_used(database_server: PrivateServer) -> None:
    """The command line builds an engine for `--help` too."""
    engine = open_engine("mysql://nobody:wrong@127.0.0.1:1/none")
    assert engine.pool.status().startswith("Pool size")
    engine.dispose()
