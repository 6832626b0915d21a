"""``/metrics``: the queue's figures at the moment of the scrape, and 200 without a database."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    opened_operations,
    set_service_time,
)
from collection_pipeline_tests.kit.proxy import DatabaseProxy

LATER = NOON + timedelta(minutes=10)
MIDNIGHT = utc_of_kst(DAY)
ALWAYS = {
    "collection_database_up",
    "collection_oldest_due_age_seconds",
    "collection_oldest_lease_age_seconds",
    "collection_cycles",
    "collection_fence_rejections_today",
    "collection_sla_snapshot",
    "collection_notifications_waiting",
    "collection_notifications_expired",
    "collection_oldest_notification_age_seconds",
    "collection_broken_sources",
    "collection_seen_rows_older_than_48_hours",
}


@pytest.fixture
def operations(store: Store) -> Iterator[Operations]:
    """The service ten minutes after the rows that a store writes."""
    set_service_time(store, LATER)
    with opened_operations(store.url) as opened:
        yield opened


def test_an_empty_queue_is_shown_with_zeros(operations: Operations) -> None:
    """A gauge that is missing cannot be told from one that nobody reads."""
    answer = operations.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {one.name: one for one in text_string_to_metric_families(answer.text)}
    with_samples = {name for name, one in families.items() if one.samples}
    assert with_samples >= ALWAYS
    assert all(one.type == "gauge" and len(one.documentation) > 20 for one in families.values())
    samples = operations.metrics()
    assert samples.pop("collection_database_up") == 1
    assert samples.pop('collection_sla_snapshot{state="UNAVAILABLE"}') == 1
    assert set(samples.values()) == {0}
    assert sum("collection_cycles{" in name for name in samples) == 6


def test_waiting_work_is_shown_by_its_age(store: Store, operations: Operations) -> None:
    """The longest waiting cycle that could be claimed, and the oldest lease."""
    store.due_cycle(next_eligible_at=NOON - timedelta(minutes=5), host="a.test")
    store.due_cycle(host="b.test")
    store.add_cycle(
        store.add_source(active=False), host="c.test", next_eligible_at=NOON - timedelta(hours=2)
    )
    store.due_cycle(next_eligible_at=NOON - timedelta(hours=1), host="held.test")
    store.throttle.hold_back("held.test", 3_600)
    store.add_cycle(store.add_source(), CycleStatus.RUNNING)
    store.add_cycle(
        store.add_source(), CycleStatus.RUNNING, lease_until=NOON + timedelta(seconds=540)
    )
    samples = operations.metrics()
    assert samples["collection_oldest_due_age_seconds"] == pytest.approx(900, abs=20)
    assert samples["collection_oldest_lease_age_seconds"] == pytest.approx(660, abs=20)
    assert samples['collection_cycles{status="PENDING"}'] == 4
    assert samples['collection_cycles{status="RUNNING"}'] == 2


def test_what_counts_today_begins_at_midnight_in_seoul(
    store: Store, operations: Operations
) -> None:
    """Ticks and slices of a microsecond before midnight belong to yesterday."""
    for moment, lost in ((MIDNIGHT - timedelta(microseconds=1), 100), (MIDNIGHT, 2), (NOON, 1)):
        store.write(
            "INSERT INTO collection_ticks (tick_id, worker, started_at, lost_count) "
            "VALUES (UUID(), 'w', :at, :lost)",
            at=moment,
            lost=lost,
        )
        for host in ("a.test", "b.test:8443"):
            store.write(
                "INSERT INTO collection_slices (cycle_id, job_source_id, run_date, lease_token, "
                "worker, request_host, outcome, rate_limited_count, seconds, seconds_waited, "
                "created_at) VALUES (1, 1, :day, UUID(), 'w', :host, 'PENDING', :limited, 9, "
                ":waited, :at)",
                day=DAY,
                host=host,
                limited=lost,
                waited=lost * 1.25,
                at=moment,
            )
    samples = operations.metrics()
    assert samples["collection_fence_rejections_today"] == 3
    for host in ("a.test", "b.test:8443"):
        assert samples[f'collection_throttle_wait_seconds_today{{host="{host}"}}'] == 3.75
        assert samples[f'collection_rate_limited_today{{host="{host}"}}'] == 3
    assert samples["collection_last_tick_age_seconds"] == pytest.approx(600, abs=20)


def test_the_greatest_budget_use_of_today_is_shown(store: Store) -> None:
    """By platform and limit, against each source's own limit where it has one."""
    set_service_time(store, LATER)
    ordinary, own = store.add_source("saramin"), store.add_source("saramin")
    store.write("UPDATE job_sources SET daily_list_pages = 10 WHERE id = :id", id=own)
    store.add_cycle(
        ordinary,
        CycleStatus.SUCCESS,
        list_page_count=15,
        fetched_count=500,
        detail_request_count=150,
    )
    store.add_cycle(own, CycleStatus.BUDGET_EXHAUSTED, list_page_count=10, fetched_count=100)
    store.add_cycle(ordinary, CycleStatus.SUCCESS, YESTERDAY, fetched_count=5_000)
    store.add_cycle(store.add_source("lever"), CycleStatus.SUCCESS, list_page_count=1)
    with opened_operations(store.url, SARAMIN_DAILY_MAX_POSTINGS=1_000) as operations:
        samples = operations.metrics()
    name = 'collection_budget_used_ratio{{limit="{}",platform="{}"}}'
    found = {
        key: value for key, value in samples.items() if key.startswith("collection_budget_used")
    }
    assert found == {
        name.format("LIST_PAGES", "saramin"): 1.0,
        name.format("POSTINGS", "saramin"): 0.5,
        name.format("DETAIL_REQUESTS", "saramin"): 0.5,
        name.format("LIST_PAGES", "lever"): 0.02,
        name.format("POSTINGS", "lever"): 0.0,
        name.format("DETAIL_REQUESTS", "lever"): 0.0,
    }


@pytest.mark.parametrize(
    ("stored", "shown", "late"),
    [("CAPTURED", "CAPTURED", 1), ("CAPTURING", "PENDING", 0), ("MISSED", "MISSED", None)],
)
def test_the_snapshots_state_is_one_of_five(
    store: Store, operations: Operations, stored: str, shown: str, late: int | None
) -> None:
    """R42: the late count only where there is one."""
    store.gate.ensure_headers()
    store.write("UPDATE job_posting_collection_sla_snapshots SET capture_status = :s", s=stored)
    store.write(
        "INSERT INTO job_posting_collection_sla_snapshot_items (snapshot_id, job_source_id, "
        "source_label, cycle_status) SELECT id, 1, 'a', 'PENDING' "
        "FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :day",
        day=DAY,
    )
    samples = operations.metrics()
    states = {name: value for name, value in samples.items() if "sla_snapshot{" in name}
    assert len(states) == 5
    assert [name for name, value in states.items() if value] == [
        f'collection_sla_snapshot{{state="{shown}"}}'
    ]
    assert samples.get("collection_sla_snapshot_late_sources") == late


def test_unconfirmed_postings_are_counted_by_source(store: Store, operations: Operations) -> None:
    """R32a: open ones last sighted seven days ago or earlier, and their share of the open ones."""
    source, clean = store.add_source(), store.add_source()
    for number, (days, status) in enumerate(
        [(7, "OPEN"), (8, "OPEN"), (6, "OPEN"), (0, "OPEN"), (9, "CLOSED"), (9, "MISSED")]
    ):
        for owner in (source, clean) if days < 7 else (source,):
            store.write(
                "INSERT INTO job_postings (job_source_id, source_job_id, title, list_signature, "
                "detail_state, status, first_seen_run_date, last_seen_run_date) VALUES "
                "(:source, :id, 't', '1:a', 'NONE', :status, :day, :day)",
                source=owner,
                id=str(number),
                status=status,
                day=DAY - timedelta(days=days),
            )
    samples = operations.metrics()
    found = {name: value for name, value in samples.items() if "unconfirmed" in name}
    assert found == {
        f'collection_unconfirmed_open_postings{{job_source_id="{source}"}}': 2,
        f'collection_unconfirmed_open_postings_ratio{{job_source_id="{source}"}}': 0.5,
    }


def test_the_outbox_the_broken_and_the_residue_are_counted(
    store: Store, operations: Operations
) -> None:
    """R33, R31, R40: what an operator has to look at."""
    for number, state in enumerate(["WAITING", "WAITING", "EXPIRED", "DELIVERED", "LOGGED"]):
        store.write(
            "INSERT INTO notification_outbox (notification_date, kind, idempotency_key, state, "
            "created_at) VALUES (:day, :kind, :kind, :state, :at)",
            day=DAY,
            kind=f"KIND.{number}",
            state=state,
            at=NOON - timedelta(minutes=number),
        )
    for active, since in ((True, DAY), (True, None), (False, DAY)):
        store.write(
            "INSERT INTO job_source_health (job_source_id, broken_since) VALUES (:id, :since)",
            id=store.add_source(active=active),
            since=since,
        )
    residue = store.add_cycle(1, CycleStatus.PENDING, DAY - timedelta(days=3))
    fresh = store.add_cycle(2, CycleStatus.PENDING)
    for cycle, rows in ((residue, 3), (fresh, 5)):
        for number in range(rows):
            store.write(
                "INSERT INTO job_posting_collection_seen_postings "
                "VALUES (:cycle, :number, 0, 0, :at)",
                cycle=cycle,
                number=str(number),
                at=NOON,
            )
    samples = operations.metrics()
    assert samples["collection_notifications_waiting"] == 2
    assert samples["collection_notifications_expired"] == 1
    assert samples["collection_oldest_notification_age_seconds"] == pytest.approx(660, abs=20)
    assert samples["collection_broken_sources"] == 1
    assert samples["collection_seen_rows_older_than_48_hours"] == 3


def test_a_platforms_words_cannot_forge_a_sample(store: Store, operations: Operations) -> None:
    """Labels hold what rows hold: quotes and line ends stay inside their label."""
    store.write(
        "INSERT INTO collection_slices (cycle_id, job_source_id, run_date, lease_token, worker, "
        "request_host, outcome, seconds, seconds_waited, created_at) VALUES "
        "(1, 1, :day, 't', 'w', :host, 'PENDING', 1, 1, :at)",
        day=DAY,
        host='x"} 1\nforged 7',
        at=NOON,
    )
    text = operations.get("/metrics").text
    assert not re.search("^forged", text, re.MULTILINE)
    hosts = {
        sample.labels["host"]
        for one in text_string_to_metric_families(text)
        for sample in one.samples
        if "host" in sample.labels
    }
    assert hosts == {'x"} 1\nforged 7'}


def test_without_a_database_only_that_is_said() -> None:
    """200 all the same: Prometheus must learn of it from here; no figure is made up."""
    with opened_operations("mysql://me:hidden-word@127.0.0.1:1/queue") as operations:
        assert operations.metrics() == {"collection_database_up": 0}


def test_a_silent_database_is_told_in_time(store: Store, database_server: PrivateServer) -> None:
    """Below the 10 s of a scrape, while earlier scrapes still hang."""
    assert database_server.port is not None
    with (
        DatabaseProxy(database_server.port) as line,
        opened_operations(line.url(store.url)) as operations,
    ):
        assert operations.metrics()["collection_database_up"] == 1
        line.go_silent()
        began = time.monotonic()
        assert operations.metrics() == {"collection_database_up": 0}
        assert time.monotonic() - began < 4
        line.restore()
        ends_at = time.monotonic() + 10
        # A scrape that comes while the one before still hangs gets that one's answer.
        while operations.metrics()["collection_database_up"] == 0:
            assert time.monotonic() < ends_at, "it did not notice that the database is back"


def test_nothing_that_is_asked_for_writes(store: Store, operations: Operations) -> None:
    """Section 9: read-only; every table is as before."""
    store.due_cycle()
    before = store.tables()
    for path in ("/api/operations/collection-runs", "/metrics", "/openapi.json", "/"):
        assert operations.get(path).status_code == 200
    assert store.tables() == before
