"""What is told, once, from what, and how it survives a webhook that fails (R25, R31, R33, R40)."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import pytest

from collection_pipeline.collection.notifications import (
    DAYS_TOLD,
    MOST_MESSAGES,
    Delivery,
    message_of,
)
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.domain.transaction_guard import OpenTransaction
from collection_pipeline.notification.sending import Logged, NotSent, Sent
from collection_pipeline.notification.webhook import open_notifier
from collection_pipeline.store.open_connections import OpenConnections
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Row, Store
from collection_pipeline_tests.kit.executor_fixtures import make_settings
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    open_transaction,
    rivals,
    winner_then_loser,
)
from collection_pipeline_tests.kit.told_snapshots import (
    Outbasket,
    add_header,
    add_item,
    notifications,
)
from collection_pipeline_tests.kit.webhook_receiver import (
    WebhookReceiver,
    hanging,
    status,
    traces_of_the_address,
)

MINUTE = timedelta(minutes=1)
OUTAGE = NotSent("webhook: status 500", is_outage=True)
REFUSAL = NotSent("webhook: status 400", is_outage=False)
INSERT = "INSERT INTO notification_outbox"


def rows(store: Store) -> list[Row]:
    """The outbox in the order of its ids."""
    return store.rows("SELECT * FROM notification_outbox ORDER BY id")


def kinds(store: Store) -> list[str]:
    """The kinds in the outbox."""
    return [row["kind"] for row in rows(store)]


def captured(store: Store, *statuses: CycleStatus, day: date = DAY) -> int:
    """A captured header with an item for each status; returns its id."""
    header = add_header(store, CaptureStatus.CAPTURED, day)
    for number, one in enumerate(statuses, start=1):
        add_item(store, header, number, one)
    return header


def seen_rows(store: Store, *days: int) -> None:
    """Messages of several days, so that each is a row of its own."""
    before = store.now
    for number in days:
        store.now = NOON - timedelta(days=number)
        assert notifications(store).note_seen_rows(1)
    store.now = before
    store.write(
        "UPDATE notification_outbox SET next_attempt_at = :now, created_at = :now", now=NOON
    )


def break_source(store: Store, source: int, since: date | None) -> None:
    """Health as the end of a cycle writes it."""
    store.write(
        "INSERT INTO job_source_health (job_source_id, abnormal_days, broken_since) "
        "VALUES (:source, :days, :since) ON DUPLICATE KEY UPDATE "
        "broken_since = :since, abnormal_days = :days",
        source=source,
        since=since,
        days=3 if since else 0,
    )


# What is told


def test_the_morning_is_told_from_the_snapshot_whatever_the_cycles_do(store: Store) -> None:
    """R40: the report is equal before and after its cycle changes, vanishes or ends."""
    source = store.add_source("wanted")
    cycle = store.add_cycle(source, CycleStatus.PENDING)
    header = add_header(store, CaptureStatus.CAPTURED)
    add_item(store, header, source, CycleStatus.PENDING, "원티드")
    assert notifications(store).prepare() == 1
    (first,) = rows(store)
    store.write("DELETE FROM notification_outbox")
    store.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'SUCCESS', is_complete = 1, "
        "fetched_count = 999 WHERE id = :id",
        id=cycle,
    )
    store.write("UPDATE job_sources SET label = 'renamed', active = 0")
    store.switch_on(enabled=False)
    assert notifications(store).prepare() == 1
    (second,) = rows(store)
    assert first["payload"] == second["payload"]
    message = message_of(second["payload"])
    assert message is not None and "1 of 1 source late" in message.title
    assert "원티드" in message.text and second["notification_date"] == DAY


def test_a_morning_is_told_once_also_when_two_processes_prepare(store: Store, other: Store) -> None:
    """R40: one row a day, whoever comes first."""
    captured(store, CycleStatus.SUCCESS)
    made = winner_then_loser(
        store,
        lambda: notifications(store).prepare(),
        lambda: notifications(other).prepare(),
        INSERT,
    )
    assert made == (1, 0)
    assert notifications(store).prepare() == 0
    assert kinds(store) == ["MORNING_REPORT"]


@pytest.mark.parametrize("state", [CaptureStatus.PENDING, CaptureStatus.NOT_APPLICABLE])
def test_a_morning_that_is_not_final_or_not_applicable_is_not_told(
    store: Store, state: CaptureStatus
) -> None:
    """R40: only after the header is final; activation at 10:00 is no incident."""
    add_header(store, state, reason="the flag was off")
    assert not store.run(notifications(store).has_work)
    assert notifications(store).prepare() == 0 and rows(store) == []


def test_a_missed_snapshot_is_told_as_an_incident_with_its_reason(store: Store) -> None:
    """R40: also once."""
    add_header(store, CaptureStatus.MISSED, reason="asked at 09:00:06 KST")
    assert notifications(store).prepare() == 1 and notifications(store).prepare() == 0
    (row,) = rows(store)
    notifications(store).deliver()
    assert not store.run(notifications(store).has_work), "or a sensor would never rest"
    message = message_of(row["payload"])
    assert row["kind"] == "SNAPSHOT_MISSED" and message is not None
    assert message.severity == "INCIDENT" and "Why: asked at 09:00:06 KST" in message.lines


def test_mornings_of_the_last_seven_days_are_made_up_for_oldest_first(store: Store) -> None:
    """R40: a pipeline that stood still for longer does not flood its operators."""
    for ago in (0, DAYS_TOLD - 1, DAYS_TOLD, 30):
        captured(store, day=DAY - timedelta(days=ago))
    assert notifications(store).prepare() == 2
    assert [row["notification_date"] for row in rows(store)] == [DAY - timedelta(days=6), DAY]


def test_a_missed_morning_is_told_however_long_ago_it_was(store: Store) -> None:
    """R40: the incident that began a long outage is found, and told, when it is over."""
    add_header(store, CaptureStatus.MISSED, day=DAY - timedelta(days=30), reason="nobody came")
    service = notifications(store)
    assert store.run(service.has_work) and service.prepare() == 1 and service.prepare() == 0
    (row,) = rows(store)
    assert (row["kind"], row["state"]) == ("SNAPSHOT_MISSED", "WAITING")
    assert service.deliver().expired == 0


def test_a_broken_source_is_told_once_and_again_after_it_broke_anew(store: Store) -> None:
    """R33, R40: recovery in between, and the day's messages numbered."""
    service = notifications(store)
    one, two, three = (store.add_source("wanted") for _ in range(3))
    break_source(store, one, YESTERDAY)
    break_source(store, two, None)
    assert store.run(service.has_work) and service.prepare() == 1
    service.deliver()
    assert not store.run(service.has_work) and service.prepare() == 0
    break_source(store, two, DAY)
    break_source(store, three, DAY)
    assert service.prepare() == 1
    break_source(store, one, None)
    assert service.prepare() == 0
    break_source(store, one, DAY)
    assert service.prepare() == 1
    assert kinds(store) == ["SOURCES_BROKEN", "SOURCES_BROKEN.2", "SOURCES_BROKEN.3"]
    told = [
        [each["job_source_id"] for each in json.loads(row["payload"])["data"]["sources"]]
        for row in rows(store)
    ]
    assert told == [[one], [two, three], [one]]


def test_two_processes_tell_a_broken_source_once(store: Store, other: Store) -> None:
    """R40: the loser waits for the mark and finds nothing left to tell."""
    break_source(store, store.add_source("wanted"), DAY)
    made = winner_then_loser(
        store,
        lambda: notifications(store).prepare(),
        lambda: notifications(other).prepare(),
        INSERT,
    )
    assert made == (1, 0) and kinds(store) == ["SOURCES_BROKEN"]


def test_telling_broken_sources_waits_for_no_slice_of_a_sound_one(
    store: Store, other: Store
) -> None:
    """R25: health rows are locked by key, not by a scan."""
    break_source(store, store.add_source("wanted"), DAY)
    sound = store.add_source("wanted")
    break_source(store, sound, None)
    with open_transaction(other) as connection:
        connection.exec_driver_sql(
            "SELECT * FROM job_source_health WHERE job_source_id = %s FOR UPDATE", (sound,)
        )
        with rivals() as start:
            assert start(notifications(store).prepare).result(3) == 1


def test_old_seen_rows_are_told_once_a_day_and_only_where_there_are_any(store: Store) -> None:
    """R31."""
    service = notifications(store)
    assert not service.note_seen_rows(0) and rows(store) == []
    assert service.note_seen_rows(7) and not service.note_seen_rows(8)
    store.now = NOON + timedelta(days=1)
    assert service.note_seen_rows(9)
    assert [row["notification_date"] for row in rows(store)] == [DAY, DAY + timedelta(days=1)]
    assert "7 seen rows older than 48 hours" in rows(store)[0]["payload"]


def test_a_failed_run_is_told_once_per_job_and_day_without_a_secret(store: Store) -> None:
    """R29, R40: what an exception says may hold anything."""
    with WebhookReceiver() as receiver:
        url = receiver.url
    settings = make_settings(WEBHOOK_URL=url, SARAMIN_ACCESS_KEY="pl4nted/Key+x")
    service = notifications(store, settings=settings)
    message = f"RuntimeError: POST {url}\nkey=pl4nted%2FKey%2Bx"
    assert service.note_run_failed("collection_dispatch", "run-1", message)
    assert not service.note_run_failed("collection_dispatch", "run-2", message)
    assert service.note_run_failed("sla_snapshot", "run-3", "x")
    assert kinds(store) == ["RUN_FAILED.collection_dispatch", "RUN_FAILED.sla_snapshot"]
    assert traces_of_the_address(str(rows(store))) == []
    assert "run-1" in rows(store)[0]["payload"] and "RuntimeError" in rows(store)[0]["payload"]


# How it is delivered


@contextmanager
def receiver_of(
    store: Store, *answers: Any, deadline: int = 5
) -> Iterator[tuple[WebhookReceiver, Callable[..., Delivery]]]:
    """A webhook, and a process's ``deliver`` to it under the guard of its connections."""
    with WebhookReceiver(*answers) as receiver:
        settings = make_settings(WEBHOOK_URL=receiver.url, WEBHOOK_DEADLINE_SECONDS=deadline)
        guard = OpenConnections()
        guard.watch(store.engine)
        receiver.on_message = guard.assert_none_open
        yield receiver, notifications(store, open_notifier(settings), settings, guard).deliver
        assert receiver.faults == [], "a connection was held while the webhook was asked"


def test_messages_are_delivered_in_order_and_no_connection_is_held(store: Store) -> None:
    """R25, R40: the receiver itself asks, while it has the message in hand."""
    captured(store, CycleStatus.SUCCESS)
    break_source(store, store.add_source("wanted"), DAY)
    notifications(store).prepare()
    with receiver_of(store) as (receiver, deliver):
        assert deliver() == Delivery(sent=2)
        assert deliver() == Delivery()
        assert receiver.kinds == ["MORNING_REPORT", "SOURCES_BROKEN"]
        assert receiver.keys == [row["idempotency_key"] for row in rows(store)]
    for row in rows(store):
        assert (row["state"], row["delivered_at"]) == ("DELIVERED", NOON)
        assert (row["attempt_count"], row["next_attempt_at"], row["last_error"]) == (1, None, None)


def test_a_request_inside_a_transaction_of_this_process_is_refused(store: Store) -> None:
    """R25: the service asserts it in production code."""
    seen_rows(store, 0)
    guard = OpenConnections()
    guard.watch(store.engine)
    basket = Outbasket()
    with open_transaction(store) as connection:
        connection.exec_driver_sql("SELECT 1")
        with pytest.raises(OpenTransaction):
            notifications(store, basket, guard=guard).deliver()
    assert basket.told == []


@pytest.mark.parametrize(
    "answer",
    [
        status("500 Oops"),
        status("302 Found", b"", "Location: /elsewhere"),
        status("429 Slow"),
        status("404 No"),
        hanging,
    ],
)
def test_a_webhook_that_fails_is_asked_again_later_with_the_same_key(
    store: Store, answer: Any
) -> None:
    """R40: it undoes nothing, raises nothing, and leaves no trace of its address."""
    header = captured(store, CycleStatus.FAILED)
    notifications(store).prepare()
    snapshot = store.tables()["job_posting_collection_sla_snapshots"]
    with receiver_of(store, answer, deadline=1) as (receiver, deliver):
        assert deliver() == Delivery(failed=1)
        (row,) = rows(store)
        assert (row["state"], row["next_attempt_at"]) == ("WAITING", NOON + MINUTE)
        assert row["last_error"].startswith("webhook: ")
        assert deliver() == Delivery(), "not before its time"
        store.now = NOON + MINUTE
        assert store.run(notifications(store).has_work)
        assert deliver() == Delivery(sent=1)
        first, second = receiver.keys
        assert first == second == row["idempotency_key"] != ""
        assert receiver.messages[0].body == receiver.messages[1].body
    assert store.tables()["job_posting_collection_sla_snapshots"] == snapshot and header
    assert traces_of_the_address(str(store.tables())) == []


def test_failures_wait_longer_each_time_by_the_databases_clock(store: Store) -> None:
    """R15, R40: 1, 2, 4 ... 60 minutes."""
    seen_rows(store, 0)
    waits = []
    for _ in range(8):
        assert notifications(store, Outbasket(OUTAGE)).deliver() == Delivery(failed=1)
        due = rows(store)[0]["next_attempt_at"]
        waits.append((due - store.now) // MINUTE)
        store.now = due
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_the_webhooks_wish_holds_every_message_back(store: Store) -> None:
    """R26, R40: a Retry-After longer than the pause counts, for the others too."""
    seen_rows(store, 1, 0)
    wish = NotSent("webhook: status 429", is_outage=True, wish_seconds=600)
    notifications(store, Outbasket(wish)).deliver()
    assert {row["next_attempt_at"] for row in rows(store)} == {NOON + 10 * MINUTE}


def test_an_outage_ends_the_batch_and_a_refusal_does_not(store: Store) -> None:
    """R40: a webhook that is down is asked once, the rest waits a minute."""
    seen_rows(store, 2, 1, 0)
    basket = Outbasket(REFUSAL, OUTAGE)
    assert notifications(store, basket).deliver() == Delivery(failed=2)
    assert [row["attempt_count"] for row in rows(store)] == [1, 1, 0]
    assert {row["next_attempt_at"] for row in rows(store)} == {NOON + MINUTE}
    store.now = NOON + MINUTE
    assert notifications(store, basket).deliver() == Delivery(logged=3)


def test_a_fresh_message_does_not_wait_for_an_old_ones_pause(store: Store) -> None:
    """R40: an incident is tried at once; what it holds back after it failed, it holds a minute."""
    seen_rows(store, 0)
    store.write(
        "UPDATE notification_outbox SET attempt_count = 9, next_attempt_at = :at",
        at=NOON + 50 * MINUTE,
    )
    notifications(store).note_run_failed("job", "run", "why")
    basket = Outbasket(OUTAGE)
    assert notifications(store, basket).deliver() == Delivery(failed=1)
    assert [kind for kind, _ in basket.told] == ["RUN_FAILED.job"]
    assert [row["next_attempt_at"] for row in rows(store)] == [NOON + 50 * MINUTE, NOON + MINUTE]


def test_a_round_tries_each_message_once_though_the_clock_jumps(store: Store) -> None:
    """R15, R40: a simulated clock makes the first due again while the second is on its way."""
    seen_rows(store, 1, 0)
    basket = Outbasket(REFUSAL, REFUSAL)

    def jump() -> None:
        store.now = NOON + 30 * MINUTE * len(basket.told)

    basket.meanwhile = jump
    assert notifications(store, basket).deliver() == Delivery(failed=2)


def test_an_old_messages_long_pause_is_its_own(store: Store) -> None:
    """R40: the others wait a minute for the webhook, not an hour."""
    seen_rows(store, 1, 0)
    store.write("UPDATE notification_outbox SET attempt_count = 9 ORDER BY id LIMIT 1")
    notifications(store, Outbasket(OUTAGE)).deliver()
    assert [row["next_attempt_at"] for row in rows(store)] == [NOON + 60 * MINUTE, NOON + MINUTE]


def test_a_refusal_with_a_wish_holds_only_its_own_message(store: Store) -> None:
    """R26, R40: a 403 may carry a Retry-After too."""
    seen_rows(store, 1, 0)
    refusal = NotSent("webhook: status 403", is_outage=False, wish_seconds=600)
    assert notifications(store, Outbasket(refusal)).deliver() == Delivery(logged=1, failed=1)
    assert rows(store)[0]["next_attempt_at"] == NOON + 10 * MINUTE


def test_a_process_that_dies_after_sending_sends_again_with_the_same_key(store: Store) -> None:
    """R40: at least once; the receiver tells the two apart by their key."""
    seen_rows(store, 0)
    dying = Outbasket(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        notifications(store, dying).deliver()
    assert rows(store)[0]["state"] == "WAITING"
    after = Outbasket(Sent())
    assert notifications(store, after).deliver() == Delivery(), "its lease still stands"
    store.now = NOON + MINUTE
    assert notifications(store, after).deliver() == Delivery(sent=1)
    assert after.told == dying.told


def test_two_processes_deliver_a_message_once(store: Store, other: Store) -> None:
    """R40: while one has it in hand, the other finds nothing."""
    seen_rows(store, 0)
    in_hand, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        in_hand.set()
        assert go_on.wait(PATIENCE_SECONDS)

    first, second = Outbasket(Sent()), Outbasket(Sent())
    first.meanwhile = wait
    with rivals() as start:
        sending = start(notifications(store, first).deliver)
        assert in_hand.wait(PATIENCE_SECONDS)
        assert notifications(other, second).deliver() == Delivery()
        go_on.set()
        assert sending.result(PATIENCE_SECONDS) == Delivery(sent=1)
    assert len(first.told) == 1 and second.told == []


def test_without_a_webhook_messages_are_logged_and_marked_so(store: Store) -> None:
    """R40: nothing waits for a webhook that nobody configured."""
    seen_rows(store, 0)
    settings = make_settings()
    assert notifications(store, open_notifier(settings), settings).deliver() == Delivery(logged=1)
    (row,) = rows(store)
    assert (row["state"], row["delivered_at"]) == ("LOGGED", None)


def test_what_could_not_be_delivered_for_seven_days_expires(store: Store) -> None:
    """R40: it is not sent any more."""
    seen_rows(store, 0)
    basket = Outbasket(OUTAGE)
    notifications(store, basket).deliver()
    store.now = NOON + timedelta(days=DAYS_TOLD)
    basket.outcomes = [OUTAGE]
    assert notifications(store, basket).deliver() == Delivery(failed=1)
    store.now += timedelta(microseconds=1)
    assert notifications(store, basket).deliver() == Delivery(expired=1)
    assert rows(store)[0]["state"] == "EXPIRED" and len(basket.told) == 2


@pytest.mark.parametrize("payload", ["", "{", "[]", '{"kind": "of a newer release"}'])
def test_a_message_that_cannot_be_read_stops_nobody(store: Store, payload: str) -> None:
    """R34, R40: it is said, tried again later, and the others go out."""
    seen_rows(store, 1, 0)
    store.write("UPDATE notification_outbox SET payload = :p ORDER BY id LIMIT 1", p=payload)
    basket = Outbasket(Logged())
    assert notifications(store, basket).deliver() == Delivery(logged=1, failed=1)
    assert rows(store)[0]["last_error"] == "the stored message cannot be read"


def test_a_round_is_bounded_in_messages_time_and_patience(store: Store) -> None:
    """R40: a tick is never kept for long by its messages."""
    seen_rows(store, *range(MOST_MESSAGES + 1))
    stop = threading.Event()
    stop.set()
    assert notifications(store).deliver(stop) == Delivery()
    readings = iter([0.0, 0.0, 59.9, 60.0])
    service = notifications(store, Outbasket(), monotonic=lambda: next(readings))
    assert service.deliver() == Delivery(logged=2)
    refusing = Outbasket(*[REFUSAL] * 2)
    assert notifications(store, refusing).deliver() == Delivery(logged=47, failed=2)
    store.write("UPDATE notification_outbox SET state = 'WAITING', next_attempt_at = NULL")
    assert notifications(store).deliver() == Delivery(logged=MOST_MESSAGES)
