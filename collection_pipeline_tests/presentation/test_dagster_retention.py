"""The nightly job and the command say what they did, also where a table could not be worked."""

import json
from collections.abc import Callable, Iterator

import dagster as dg
import pytest

from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.dagster_runs import (
    error_of,
    failed_run,
    output_of,
    plain,
    run_job,
)
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
OP = "apply_retention"
DELETED = (
    "collection_ticks",
    "collection_slices",
    "job_posting_collection_sla_capture_attempts",
    "platform_drift_counts",
    "platform_key_quotas",
    "notification_outbox",
)
NOTHING_DONE = {f"{table}_deleted": 0 for table in DELETED}


@pytest.fixture
def old_tick(store: Store) -> None:
    """A heartbeat of long ago."""
    store.write(
        "INSERT INTO collection_ticks (tick_id, worker, started_at) "
        "VALUES ('old', 'w', UTC_TIMESTAMP(6) - INTERVAL 400 DAY)"
    )


@pytest.fixture
def refusing(store: Store, old_tick: None) -> Iterator[str]:
    """A database that refuses to delete heartbeats; what it says."""
    said = "nobody deletes here"
    store.write(
        "CREATE TRIGGER kept BEFORE DELETE ON collection_ticks FOR EACH ROW "
        f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{said}'"
    )
    yield f"collection_ticks: the database refused: {said}"
    store.write("DROP TRIGGER kept")


def test_the_job_tells_rows_by_table(
    old_tick: None, open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """Zeros are present; bodies are told only where their age is set."""
    result = run_job("retention", open_instance(open_stack(RAW_BODY_DAYS=30)))
    assert output_of(result, OP) == NOTHING_DONE | {
        "result": "1 old row(s) deleted or trimmed",
        "collection_ticks_deleted": 1,
        "job_postings_trimmed": 0,
        "left_for_the_next_night": "nothing",
    }


def test_a_table_that_fails_fails_the_run_which_still_tells_of_the_others(
    refusing: str, open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """The failure sensor tells people of it, like any other failed run."""
    result = failed_run("retention", open_instance(open_stack()))
    assert error_of(result, OP) == refusing
    failure = result.failure_data_for_node(OP)
    assert failure is not None and failure.user_failure_data is not None
    assert plain(failure.user_failure_data.metadata) == NOTHING_DONE | {
        "left_for_the_next_night": "collection_ticks"
    }


def test_the_command_does_the_same_by_hand(old_tick: None, cli: CommandLine) -> None:
    """Spec section 3: JSON in snake_case, zeros present."""
    done = {row["table"]: row for row in cli("retention", "--json").json["tables"]}
    assert tuple(done) == DELETED
    assert done["collection_ticks"] == {
        "table": "collection_ticks",
        "action": "deleted",
        "rows": 1,
        "is_done": True,
        "failure": None,
    }
    assert "collection_slices" in cli("retention").out


def test_the_command_ends_with_4_where_a_table_could_not_be_worked(
    refusing: str, cli: CommandLine
) -> None:
    """Spec section 3: 4 is for work that failed; the document is printed all the same."""
    ended = cli("retention", "--json")
    assert ended.code == 4
    assert json.loads(ended.out)["tables"][0]["failure"] == refusing.split(": ", 1)[1]
    assert ended.err.strip() == f"collection-pipeline: {refusing}"
