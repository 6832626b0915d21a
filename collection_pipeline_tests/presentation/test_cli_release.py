"""``release``: the facts that each step of ``docs/release.md`` asks for (R34, R44)."""

from sqlalchemy import Engine, event

from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import known_revisions
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.database import Store

NEWEST, _ = known_revisions()
KEYS = {
    "step",
    "schema_revision",
    "expected_revision",
    "today",
    "main_flag",
    "older_runs",
    "cycles_begun_today",
    "slices_at_work",
    "older_system_may_run_from",
    "stable_days",
    "stable_days_needed",
    "broken_by",
    "attention",
}


def test_a_schema_that_is_behind_is_a_step_and_no_error(database_url: str) -> None:
    """R34: the first step's command works before the first step."""
    cli = CommandLine({"COLLECTION_DATABASE_URL": database_url})
    assert cli("release", "--json").json == {
        "step": "EXPAND",
        "schema_revision": None,
        "expected_revision": NEWEST,
    }
    said = cli("release")
    assert (said.code, said.err) == (0, "")
    assert "EXPAND" in said.out and f"revision none, this release needs {NEWEST}" in said.out


def test_a_fresh_database_is_deployed_dark(cli: CommandLine) -> None:
    """R44: flags are off by default, and that was never otherwise."""
    document = cli("release", "--json").json
    assert set(document) == KEYS
    assert document["step"] == "DARK_DEPLOY"
    assert document["main_flag"] == {
        "enabled": False,
        "was_ever_on": False,
        "changed_by": None,
        "changed_at": None,
    }
    assert document["older_system_may_run_from"] == document["today"]
    said = cli("release").out
    for words in ("DARK_DEPLOY", "off, never switched", "none in 30 days", "0 of 30"):
        assert words in said


def test_a_running_slice_keeps_the_older_system_waiting(cli: CommandLine) -> None:
    """R44: said in words, in each of the three cases."""
    cli("flags", "set", "posting.collection-dispatch-v2", "on", "--by", "kim")
    assert "not while the flag is on" in cli("release").out
    cli("flags", "set", "posting.collection-dispatch-v2", "off", "--by", "kim")
    engine = open_engine(cli.environment["COLLECTION_DATABASE_URL"])
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO job_posting_collection_cycles (job_source_id, run_date, cycle_status,"
            " started_at) SELECT 1, DATE(UTC_TIMESTAMP() + INTERVAL 9 HOUR), 'RUNNING',"
            " UTC_TIMESTAMP(6)"
        )
    assert "not while slices are at work" in cli("release").out
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE job_posting_collection_cycles SET cycle_status = 'PENDING'"
        )
    engine.dispose()
    said = cli("release").out
    assert "ROLLED_BACK" in said and "by kim at" in said
    assert f"from {cli('release', '--json').json['older_system_may_run_from']}" in said


def test_asking_writes_nothing(cli: CommandLine, store: Store) -> None:
    """R44: the server itself would refuse it."""
    before = store.rows("SELECT * FROM feature_flag_changes")
    began: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        began.append(statement.lstrip().split()[0].upper())

    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert cli("release").code == 0
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert set(began) <= {"SELECT", "SHOW", "DESCRIBE", "SET"}
    assert store.rows("SELECT * FROM feature_flag_changes") == before


def test_a_database_that_cannot_be_asked_ends_with_3() -> None:
    """Spec section 3: one sentence."""
    said = CommandLine({"COLLECTION_DATABASE_URL": "mysql://nobody@127.0.0.1:1/queue"})("release")
    assert (said.code, said.out) == (3, "")
    assert "cannot be reached" in said.sentence
