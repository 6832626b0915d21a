"""A pipeline that keeps every promise, and the faults that each observation check is for (R45).

Invariant: the healthy day comes from the real services; a fault is one more thing that they do, or
a row as the store would hold it. It is 12:00 KST when things happen and 14:00 when they are judged.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy import Connection

from collection_pipeline.collection.assembly import CollectionPipeline, assemble
from collection_pipeline.collection.observation.machine_checks import host_time
from collection_pipeline.collection.observation.service import ObservationChecks, opened_checks
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.settings import load_settings
from collection_pipeline.store.outbox import NotificationOutbox
from collection_pipeline.store.schema.operations import table_sizes
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.operations_client import set_service_time
from collection_pipeline_tests.kit.page_rows import add_posting
from collection_pipeline_tests.kit.slices import collect_day, complete, exhausted, work_of
from collection_pipeline_tests.kit.told_snapshots import add_header

JUDGED_AT = NOON + timedelta(hours=2)
DELAY_SECONDS = 1.0
"""What the settings ask for between two requests of one host."""
Fault = Callable[[Store], None]


def make_healthy_day(store: Store) -> int:
    """A captured and told morning, one board collected well and a lease in force; its source."""
    add_header(store, CaptureStatus.CAPTURED)
    tell_morning(store)
    source = store.add_source()
    outcome = complete(work_of(["1", "2"], least_interval_seconds=DELAY_SECONDS))
    collect_day(store, source, outcome)
    for number in range(20):
        seen = DAY - timedelta(days=8) if number == 0 else DAY
        add_posting(store, source, f"old-{number}", last_seen_run_date=seen)
    at_work = store.add_source()
    lease_until = JUDGED_AT - timedelta(seconds=290)
    store.add_cycle(at_work, CycleStatus.RUNNING, lease_until=lease_until)
    return source


def tell_morning(store: Store) -> None:
    """The morning's message as the outbox holds it."""

    def telling(connection: Connection) -> None:
        NotificationOutbox().add(connection, DAY, "MORNING_REPORT", "{}", NOON)

    store.run(telling)


def miss_morning(store: Store) -> None:
    """Nobody captured it."""
    store.write(
        "UPDATE job_posting_collection_sla_snapshots SET capture_status = 'MISSED', "
        "captured_at = NULL, miss_reason = 'nobody came'"
    )
    store.write("UPDATE notification_outbox SET kind = 'SNAPSHOT_MISSED'")


def capture_after_telling(store: Store) -> None:
    """The header became final a moment after its message was made."""
    store.write(
        "UPDATE job_posting_collection_sla_snapshots SET captured_at = :late",
        late=NOON + timedelta(microseconds=1),
    )


def stop_ticks(store: Store) -> None:
    """A source that no tick has made a cycle for."""
    store.add_source()


def strand_lease(store: Store) -> None:
    """A worker died and nobody recovered its cycle."""
    store.write(
        "UPDATE job_posting_collection_cycles SET lease_until = :end "
        "WHERE cycle_status = 'RUNNING'",
        end=JUDGED_AT - timedelta(seconds=301),
    )


def leave_seen_rows(store: Store) -> None:
    """An unfinished cycle of a past day still holds its seen rows."""
    cycle = store.add_cycle(store.add_source(active=False), run_date=DAY - timedelta(days=3))
    store.write(
        "INSERT INTO job_posting_collection_seen_postings "
        "(cycle_id, source_job_id, list_position, created_at) VALUES (:cycle, '1', 0, :now)",
        cycle=cycle,
        now=NOON,
    )


def exhaust_board(store: Store) -> None:
    """A company's board uses up the day's pages."""
    collect_day(store, store.add_source("lever"), exhausted(work_of(["9"])))


def hurry(store: Store) -> None:
    """Two requests of a slice came too soon after each other."""
    outcome = complete(work_of(["8"], least_interval_seconds=DELAY_SECONDS * 0.99))
    collect_day(store, store.add_source(), outcome)


def break_source(store: Store) -> None:
    """Three abnormal days."""
    store.write(
        "INSERT INTO job_source_health (job_source_id, abnormal_days, judged_date, broken_since) "
        "SELECT MIN(id), 3, :day, :day FROM job_sources "
        "ON DUPLICATE KEY UPDATE broken_since = :day",
        day=DAY,
    )


def lose_sight(store: Store) -> None:
    """Half of a source's open postings were last seen a week ago."""
    store.write(
        "UPDATE job_postings SET last_seen_run_date = :day WHERE source_job_id LIKE 'old-_'",
        day=DAY - timedelta(days=7),
    )
    store.write(
        "UPDATE job_postings SET last_seen_run_date = :day WHERE source_job_id LIKE 'old-1_'",
        day=DAY - timedelta(days=7),
    )


def grow(store: Store) -> None:
    """Yesterday the tables were empty, and today they hold megabytes."""
    keep_size(store, DAY - timedelta(days=1), 0)
    source = store.add_source(active=False)
    for number in range(20):
        add_posting(store, source, f"large-{number}", raw_detail="x" * 150_000)
    # The server counts anew by itself, some seconds after a tenth of a table has changed.
    store.write("ANALYZE TABLE job_postings")


def keep_size(store: Store, day: object, size: int) -> None:
    """Each table's figure of an earlier day."""
    names = [
        row["name"]
        for row in store.rows(
            "SELECT table_name AS name FROM "
            "information_schema.tables WHERE table_schema = DATABASE()"
        )
    ]
    rows = [{"measured_date": day, "table_name": name, "data_bytes": size} for name in names]
    store.run(lambda connection: connection.execute(table_sizes.insert(), rows))


@contextmanager
def observing(
    store: Store,
    dagster_url: str | None = None,
    read_host: Callable[[], datetime] = host_time,
    **settings: object,
) -> Iterator[ObservationChecks]:
    """The checks at 14:00 KST of the store's day."""
    set_service_time(store, JUDGED_AT)
    environment = {f"COLLECTION_{name}": str(value) for name, value in settings.items()}
    with (
        assembled(store.url, environment) as pipeline,
        opened_checks(pipeline, store.url, dagster_url, read_host) as checks,
    ):
        yield checks


@contextmanager
def assembled(
    url: str, environment: Mapping[str, str] | None = None
) -> Iterator[CollectionPipeline]:
    """The services over a database, whatever state it is in."""
    pipeline = assemble(load_settings(environment or {}), url)
    try:
        yield pipeline
    finally:
        pipeline.close()
