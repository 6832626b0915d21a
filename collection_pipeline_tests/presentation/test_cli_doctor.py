"""``doctor``: one line a check, and an exit code that monitoring can act on (R45)."""

import json
from collections.abc import Iterator

import pytest

from collection_pipeline.cli import exit_codes
from collection_pipeline.cli.doctor import exit_code
from collection_pipeline.collection.observation.observed import Observation, ObservationState
from collection_pipeline.collection.observation.service import NAMES
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.heartbeats import beat_all, opened_heartbeats


@pytest.fixture
def dagster_url(database_server: PrivateServer) -> Iterator[str]:
    """Dagster's database, whose daemon is alive."""
    with opened_heartbeats(database_server) as url:
        beat_all(url)
        yield url


def test_a_fit_pipeline_ends_with_0(cli: CommandLine, dagster_url: str) -> None:
    """R45: every check is in the table and in the document."""
    assert cli("create-cycles").code == 0
    said = cli("doctor", DAGSTER_DATABASE_URL=dagster_url)
    assert (said.code, said.err) == (0, "")
    assert all(name in said.out for name in NAMES)
    assert "ALARM" not in said.out and "UNKNOWN" not in said.out
    document = cli("doctor", "--json", DAGSTER_DATABASE_URL=dagster_url).json
    assert document["state"] == "OK"
    assert [one["name"] for one in document["checks"]] == list(NAMES)
    assert document["checks"][0]["runbook"] == f"docs/runbook.md#{NAMES[0]}"
    assert {one["state"] for one in document["checks"]} == {"OK"}


def test_an_unknown_daemon_is_said_and_wakes_nobody(cli: CommandLine) -> None:
    """R45: ticks by cron need no Dagster."""
    cli("create-cycles")
    said = cli("doctor")
    assert said.code == 0
    assert "UNKNOWN daemon_alive: see docs/runbook.md#daemon_alive" in said.out


def test_an_alarm_ends_with_5(cli: CommandLine, store: Store) -> None:
    """R45: and says which."""
    cli("create-cycles")
    source = store.add_source()
    store.write(
        "INSERT INTO job_source_health (job_source_id, abnormal_days, broken_since) "
        "VALUES (:id, 3, :day)",
        id=source,
        day=DAY,
    )
    said = cli("doctor")
    assert said.code == exit_codes.ALARM
    assert "ALARM no_broken_source: see docs/runbook.md#no_broken_source" in said.out
    said = cli("doctor", "--json")
    assert said.code == exit_codes.ALARM
    document = json.loads(said.out)
    assert document["state"] == "ALARM"
    (broken,) = [one for one in document["checks"] if one["name"] == "no_broken_source"]
    assert broken["numbers"] == {"broken_sources": 1}


def test_a_schema_that_is_behind_ends_with_5(database_url: str) -> None:
    """R34: the database can be asked, and what it says is an alarm."""
    said = CommandLine({"COLLECTION_DATABASE_URL": database_url})("doctor")
    assert said.code == exit_codes.ALARM
    assert "run 'collection-pipeline db migrate'" in said.out


def test_a_database_that_cannot_be_asked_ends_with_3() -> None:
    """Spec section 3: one sentence, no table."""
    said = CommandLine({"COLLECTION_DATABASE_URL": "mysql://nobody@127.0.0.1:1/queue"})("doctor")
    assert (said.code, said.out) == (exit_codes.UNUSABLE, "")
    assert "cannot be reached" in said.sentence


def test_an_unanswered_check_is_not_taken_for_a_good_one() -> None:
    """R45: an alarm outweighs it."""
    unanswered = Observation("a", ObservationState.UNKNOWN, "no answer", is_answered=False)
    alarm = Observation("b", ObservationState.ALARM, "wrong")
    assert exit_code([unanswered]) == exit_codes.UNUSABLE
    assert exit_code([unanswered, alarm]) == exit_codes.ALARM
