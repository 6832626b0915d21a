"""When recovery settles a header that nobody captured, and that it does so once (R38, R39)."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from collection_pipeline import checkpoints
from collection_pipeline.collection import snapshot
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.gate import hold_for_write
from collection_pipeline.store.runnable import DISPATCH_FLAG
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.morning import (
    OVERDUE_SECONDS,
    Morning,
    after,
    held_at,
    jump_to,
    recovered,
    simulated_store,
    snapshot_rows,
    uncaptured_morning,
)
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    open_transaction,
    rivals,
    wait_until_blocked,
)

OpenStore = Callable[..., Store]
MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """One process at 08:50 of simulated time."""
    return simulated_store(open_store)


@pytest.fixture
def morning(store: Store) -> Morning:
    """Nobody has captured it yet."""
    return uncaptured_morning(store)


def needs_recovery(morning: Morning) -> bool:
    """What a tick's ``has_work`` asks."""
    return morning.store.run(morning.service.needs_recovery)


def test_recovery_waits_until_nobody_can_capture_any_more(morning: Morning) -> None:
    """R38: a second beyond the tolerance, to the microsecond; asked about by plain reads."""
    for moment in (after(0), after(60), after(61) - MICROSECOND):
        morning.store.now = moment
        assert not needs_recovery(morning)
        assert morning.service.mark_missed_snapshot() == []
    assert morning.header()["capture_status"] == "PENDING"
    morning.store.now = after(61)
    assert needs_recovery(morning)
    assert [header.snapshot_date for header in morning.service.mark_missed_snapshot()] == [DAY]
    assert not needs_recovery(morning)
    assert morning.service.mark_missed_snapshot() == []


def test_a_header_left_pending_for_three_days_is_missed(morning: Morning) -> None:
    """R38: every day that nobody captured, in order; today's cutoff may still come."""
    for number in range(3):
        morning.store.now = after(-600) + timedelta(days=number)
        morning.creation.create_daily_cycles()
    settled = recovered(morning, at=2 * 86_400 + 100)
    assert [header.snapshot_date for header in settled] == [
        DAY + timedelta(days=number) for number in range(3)
    ]
    assert {header.status for header in settled} == {CaptureStatus.MISSED}
    headers, items = snapshot_rows(morning.store)
    assert [row["capture_status"] for row in headers] == ["MISSED"] * 3 + ["PENDING"]
    assert items == []


def test_recovery_does_not_overtake_a_capture_that_is_committing(
    morning: Morning, open_store: OpenStore
) -> None:
    """R39: it waits for the gate and finds the header CAPTURED."""
    rival = Morning(open_store(now=after(59)))
    with rivals() as start, held_at(checkpoints.BEFORE_CAPTURE_COMMIT) as held:
        jump_to(morning.store, after(-600) + 2 * MICROSECOND)
        with open_transaction(morning.store) as writer:
            hold_for_write(writer, DAY)
            rival.store.now = after(-0.5)
            capturing = start(rival.capture)
            wait_until_blocked(morning.store)
            jump_to(rival.store, after(59))
        held.wait_until_reached()
        jump_to(rival.store, after(62))
        morning.store.now = rival.store.now
        recovering = start(morning.service.mark_missed_snapshot)
        wait_until_blocked(morning.store)
        held.let_go()
        assert capturing.result(PATIENCE_SECONDS).captured_here
        assert recovering.result(PATIENCE_SECONDS) == []
    assert morning.header()["capture_status"] == "CAPTURED"


def test_several_recoveries_settle_a_day_once(morning: Morning, open_store: OpenStore) -> None:
    """R39: exactly one of them says that it was it."""
    mornings = [Morning(open_store(now=after(OVERDUE_SECONDS))) for _ in range(4)]
    with rivals() as start:
        started = [start(one.service.mark_missed_snapshot) for one in mornings]
        settled = [header for one in started for header in one.result(PATIENCE_SECONDS)]
    assert [header.snapshot_date for header in settled] == [DAY]


def test_a_gate_that_cannot_be_had_is_left_to_a_later_recovery(
    morning: Morning, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R38: a writer that hangs must not end the ticks that collect."""
    monkeypatch.setattr(snapshot, "CLOSING_SECONDS", 0.0)
    event.listen(morning.store.engine, "checkout", wait_a_second_for_locks)
    with open_transaction(open_store(now=after(OVERDUE_SECONDS))) as hung:
        hold_for_write(hung, DAY)
        assert recovered(morning) == []
    assert morning.header()["capture_status"] == "PENDING"
    assert len(recovered(morning)) == 1


def wait_a_second_for_locks(dbapi_connection: Any, _record: object, _proxy: object) -> None:
    """Instead of five, so that the test is short."""
    with contextlib.closing(dbapi_connection.cursor()) as cursor:
        cursor.execute("SET SESSION innodb_lock_wait_timeout = 1")


# --- for ever


@pytest.mark.parametrize("status", ["MISSED", "NOT_APPLICABLE"])
def test_a_day_that_was_settled_is_never_captured(morning: Morning, status: str) -> None:
    """R39: neither a capture nor recovery touches a final header; nothing is rebuilt."""
    if status == "NOT_APPLICABLE":
        morning.store.now = after(-1)
        morning.store.switch_on(DISPATCH_FLAG, enabled=False)
        morning.capture(at=0.5)
        morning.store.switch_on(DISPATCH_FLAG)
    else:
        recovered(morning)
    before = snapshot_rows(morning.store)
    assert before[0][0]["capture_status"] == status
    for moment in (1, 62, 3_600):
        report = morning.capture(at=moment)
        assert (report.header.status.value, report.captured_here) == (status, False)
        assert morning.service.mark_missed_snapshot() == []
    assert snapshot_rows(morning.store) == before
