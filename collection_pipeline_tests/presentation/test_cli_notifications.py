"""``notifications``: what was told, telling it by hand, and what a killed process leaves (R40)."""

from sqlalchemy import text

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline_tests.kit.command_line import PATIENCE_SECONDS, CommandLine
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.told_snapshots import add_header, add_item
from collection_pipeline_tests.kit.webhook_receiver import (
    WebhookReceiver,
    hanging,
    status,
    traces_of_the_address,
)


def captured_today(store: Store) -> None:
    """Today's snapshot by the real clock, with one late source."""
    store.now = None
    header = add_header(store, CaptureStatus.CAPTURED, store.run(store.clock.today))
    add_item(store, header, 1, CycleStatus.FAILED, "원티드")


def test_an_empty_outbox_is_said_and_nothing_is_delivered(cli: CommandLine) -> None:
    """Spec section 3: an empty list, zeros, exit code 0."""
    assert cli("notifications").out == "no messages yet\n"
    assert cli("notifications", "--json").json == []
    zeros = {"prepared": 0, "sent": 0, "logged": 0, "failed": 0, "expired": 0}
    assert cli("notifications", "deliver", "--json").json == zeros


def test_delivering_by_hand_prepares_and_sends(cli: CommandLine, store: Store) -> None:
    """R40: the morning report goes out, and the list says so."""
    captured_today(store)
    with WebhookReceiver() as receiver:
        said = cli("notifications", "deliver", WEBHOOK_URL=receiver.url)
        assert said.out == "prepared 1, sent 1, logged 0, failed 0, expired 0\n"
        assert said.code == 0 and receiver.kinds == ["MORNING_REPORT"]
    (row,) = cli("notifications", "--json").json
    assert row["state"] == "DELIVERED" and row["delivered_at"].endswith("Z")
    assert row["idempotency_key"] == receiver.keys[0] and row["severity"] == "WARNING"
    assert row["data"]["late_before_notification_count"] == 1
    table = cli("notifications").out
    assert "MORNING_REPORT" in table and "1 of 1 source late" in table


def test_a_webhook_that_fails_is_try_later_and_its_address_is_not_shown(
    cli: CommandLine, store: Store
) -> None:
    """R29, R40: exit code 75; neither output nor list nor error shows the address."""
    captured_today(store)
    with WebhookReceiver(status("500 Oops")) as receiver:
        said = [cli("notifications", "deliver", WEBHOOK_URL=receiver.url)]
        said += [cli("notifications", *options) for options in ([], ["--json"])]
    assert said[0].code == 75 and "failed 1" in said[0].out
    assert "webhook: status 500" in said[1].out
    assert traces_of_the_address("".join(one.out + one.err for one in said)) == []


def test_without_a_webhook_the_report_is_logged(cli: CommandLine, store: Store) -> None:
    """R40: on standard error, where nobody has set logging up."""
    captured_today(store)
    said = cli.in_process_of_its_own("notifications", "deliver")
    assert said.code == 0 and "logged 1" in said.out
    assert "WARNING MORNING_REPORT: Collection at 09:00 KST" in said.err and "원티드" in said.err


def test_a_process_killed_between_sending_and_marking_leaves_a_message_that_is_sent_again(
    cli: CommandLine, store: Store
) -> None:
    """R40: SIGKILL while the webhook has the message in hand; the next try has the same key."""
    captured_today(store)
    with WebhookReceiver(hanging) as receiver:
        process = cli.process("notifications", "deliver", WEBHOOK_URL=receiver.url)
        try:
            assert receiver.arrived.acquire(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
            process.communicate()
        store.run(
            lambda connection: connection.execute(
                text(
                    "UPDATE notification_outbox SET "
                    "next_attempt_at = next_attempt_at - INTERVAL 1 MINUTE"
                )
            )
        )
        said = cli("notifications", "deliver", WEBHOOK_URL=receiver.url)
        assert "sent 1" in said.out
        first, second = receiver.keys
        assert first == second and first != ""
