"""The outbox's rows: made once, claimed by one, never written over by a late loser (R40)."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection

from collection_pipeline.store.outbox import (
    ClaimedMessage,
    NotificationOutbox,
    OutboxEntry,
    OutboxState,
)
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    holding_commit,
    rivals,
    winner_then_loser,
)

OUTBOX = NotificationOutbox()
MINUTE = timedelta(minutes=1)
LEASE = timedelta(seconds=40)


def add(store: Store, kind: str = "KIND") -> bool:
    """A message of the day, made at the store's time."""
    now = store.now or NOON
    return store.run(lambda connection: OUTBOX.add(connection, DAY, kind, "{}", now))


def claim(store: Store, after_id: int = 0) -> ClaimedMessage | None:
    """The next due message at the store's time."""
    return store.run(
        lambda connection: OUTBOX.claim_next(
            connection, store.clock.now(connection), after_id, LEASE
        )
    )


def claimed(store: Store) -> ClaimedMessage:
    """The next due message; none is an error of the test."""
    message = claim(store)
    assert message is not None
    return message


def entry(store: Store) -> OutboxEntry:
    """The only message."""
    (one,) = store.run(OUTBOX.newest)
    return one


def put_back(store: Store, message: ClaimedMessage, error: str = "why") -> None:
    """The try failed; it is due again in a minute."""
    now = store.now or NOON
    store.run(lambda connection: OUTBOX.put_back(connection, message, error, now + MINUTE))


def test_a_day_has_one_message_of_a_kind_also_when_two_make_it(store: Store, other: Store) -> None:
    """R40: the loser waits for the winner and makes nothing."""
    won, lost = winner_then_loser(
        store, lambda: add(store), lambda: add(other), "INSERT INTO notification_outbox"
    )
    assert won and not lost and not add(store)
    assert store.value("SELECT COUNT(*) FROM notification_outbox") == 1
    assert add(store, "kind"), "kinds are told apart bytewise"


def test_keys_name_the_day_and_kind_and_are_unique_over_deployments(store: Store) -> None:
    """R40: two databases may share one webhook."""
    add(store)
    first = entry(store).idempotency_key
    store.write("DELETE FROM notification_outbox")
    add(store)
    second = entry(store).idempotency_key
    assert first.startswith(f"KIND:{DAY}:") and len(first) <= 100 and first.isascii()
    assert first != second


def test_a_message_that_one_process_is_claiming_is_nobody_elses(store: Store, other: Store) -> None:
    """R40: neither while the claim stands before its commit nor while its lease lasts."""
    add(store)
    with rivals() as start, holding_commit(store.engine, "UPDATE notification_outbox") as held:
        winning = start(lambda: claim(store))
        held.wait_until_reached()
        assert claim(other) is None, "it does not wait for the other claim"
        held.let_go()
        message = winning.result(PATIENCE_SECONDS)
    assert message is not None and message.attempt == 1
    assert claim(other) is None
    other.now = NOON + MINUTE - timedelta(microseconds=1)
    assert claim(other) is None
    other.now = NOON + MINUTE
    again = claim(other)
    assert again is not None and again.attempt == 2
    assert again.idempotency_key == message.idempotency_key


def test_a_lease_outlasts_the_longest_exchange(store: Store) -> None:
    """R40: a slow webhook is not asked twice for want of patience."""
    add(store)
    lease = timedelta(minutes=5)
    store.run(lambda connection: OUTBOX.claim_next(connection, NOON, 0, lease))
    assert entry(store).next_attempt_at == NOON + lease


def test_messages_are_claimed_in_the_order_of_their_ids(store: Store) -> None:
    """R40: also where a later one has waited longer."""
    for kind in ("A", "B", "C"):
        add(store, kind)
    store.write(
        "UPDATE notification_outbox SET next_attempt_at = :then WHERE kind <> 'A'",
        then=NOON - MINUTE,
    )
    store.write("UPDATE notification_outbox SET next_attempt_at = NULL WHERE kind = 'C'")
    ids = [row["id"] for row in store.rows("SELECT id FROM notification_outbox ORDER BY id")]
    got: list[int] = []
    while message := claim(store, got[-1] if got else 0):
        got.append(message.row_id)
    assert got == ids


def test_a_late_loser_writes_nothing_over_a_later_claim(store: Store, other: Store) -> None:
    """R40: its failure is old news."""
    add(store)
    stale = claimed(store)
    other.now = NOON + MINUTE
    fresh = claimed(other)
    before = entry(store)
    put_back(store, stale)
    assert entry(store) == before
    put_back(other, fresh, "x" * 400)
    after = entry(store)
    assert after.last_error == "x" * 300 and after.next_attempt_at == NOON + 2 * MINUTE


@pytest.mark.parametrize("state", [OutboxState.DELIVERED, OutboxState.LOGGED])
def test_what_has_ended_stays_ended(store: Store, state: OutboxState) -> None:
    """R40: no failure, hold, expiry or claim touches it."""
    add(store)
    message = claimed(store)
    put_back(store, message)
    store.run(lambda connection: OUTBOX.end(connection, message, state, NOON))
    ended = entry(store)
    assert ended.state == state.value and ended.last_error is None
    assert ended.delivered_at == (NOON if state is OutboxState.DELIVERED else None)
    put_back(store, message)

    def touching(connection: Connection) -> None:
        OUTBOX.hold_back(connection, NOON + MINUTE)
        OUTBOX.end(connection, message, OutboxState.LOGGED, NOON + MINUTE)
        assert OUTBOX.expire(connection, NOON + MINUTE) == 0

    store.run(touching)
    assert entry(store) == ended and claim(store) is None


def test_a_webhook_that_is_out_of_order_holds_every_waiting_message(store: Store) -> None:
    """R40: for a while, and never sooner than each was due by itself."""
    for kind in ("A", "B", "C"):
        add(store, kind)
    store.write("UPDATE notification_outbox SET next_attempt_at = NULL WHERE kind = 'A'")
    later = NOON + timedelta(hours=1)
    store.write("UPDATE notification_outbox SET next_attempt_at = :at WHERE kind = 'C'", at=later)
    store.run(lambda connection: OUTBOX.hold_back(connection, NOON + MINUTE))
    due = {one.kind: one.next_attempt_at for one in store.run(OUTBOX.newest)}
    assert due == {"A": NOON + MINUTE, "B": NOON + MINUTE, "C": later}


def test_what_waits_too_long_expires_and_is_not_sent(store: Store) -> None:
    """R40: older, not as old."""
    add(store)
    assert store.run(lambda connection: OUTBOX.expire(connection, NOON)) == 0
    assert store.run(lambda connection: OUTBOX.expire(connection, NOON + MINUTE)) == 1
    assert entry(store).state == "EXPIRED" and claim(store) is None
    assert not store.run(lambda connection: OUTBOX.has_due(connection, NOON + MINUTE))


def test_the_newest_messages_come_first_and_are_bounded(store: Store) -> None:
    """R40: what an operator looks at."""
    for number in range(4):
        add(store, f"K{number}")
    assert [one.kind for one in store.run(lambda c: OUTBOX.newest(c, 3))] == ["K3", "K2", "K1"]
