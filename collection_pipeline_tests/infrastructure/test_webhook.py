"""The webhook: one POST, whole within its deadline, and its address nowhere (R28, R29, R40)."""

import logging
import socket
import time
import traceback
from collections.abc import Iterator
from datetime import date

import pytest

from collection_pipeline.domain.notification import Notification, Severity
from collection_pipeline.notification.log_notifier import LOGGER_NAME, LogNotifier
from collection_pipeline.notification.secrecy import settings_redactor, webhook_secrets
from collection_pipeline.notification.sending import Logged, NotSent, Sent
from collection_pipeline.notification.webhook import WebhookNotifier, open_notifier
from collection_pipeline_tests.kit.executor_fixtures import make_settings
from collection_pipeline_tests.kit.log_watching import log_everything, logged_by_the_test
from collection_pipeline_tests.kit.webhook_receiver import (
    SECRET_PATH,
    SECRET_QUERY,
    Answering,
    WebhookReceiver,
    cut_off,
    cut_off_inside,
    endless,
    hanging,
    no_http,
    reset,
    status,
    traces_of_the_address,
    trickling_body,
    trickling_head,
)

MESSAGE = Notification("KIND", date(2026, 12, 1), Severity.INFO, "제목", ("한 줄",), {"n": 1})
KEY = "KIND:2026-12-01:0123"


@pytest.fixture(autouse=True)
def nothing_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """R29: with everything logged, and no filter left from before, no trace of the address."""
    log_everything(caplog)
    yield
    assert traces_of_the_address(logged_by_the_test(caplog)) == []


def send(receiver: WebhookReceiver, form: str = "json", deadline: int = 5) -> Sent | NotSent:
    """What becomes of one message."""
    return notifier(receiver.url, form, deadline).send(MESSAGE, KEY)


def notifier(url: str, form: str = "json", deadline: int = 5) -> WebhookNotifier:
    """The notifier of settings that name ``url``."""
    opened = open_notifier(
        make_settings(WEBHOOK_URL=url, WEBHOOK_FORMAT=form, WEBHOOK_DEADLINE_SECONDS=deadline)
    )
    assert isinstance(opened, WebhookNotifier)
    return opened


def failed(answer: Answering, deadline: int = 5) -> NotSent:
    """How a message fails that is answered so."""
    with WebhookReceiver(answer) as receiver:
        outcome = send(receiver, deadline=deadline)
        assert len(receiver.messages) == 1, "nothing is retried, no redirect is followed"
    assert isinstance(outcome, NotSent)
    assert traces_of_the_address(repr(outcome)) == []
    return outcome


def test_a_message_is_posted_once_with_its_key(caplog: pytest.LogCaptureFixture) -> None:
    """R40: the address as it was configured, a JSON body in UTF-8, the key in a header."""
    with WebhookReceiver() as receiver:
        assert send(receiver) == Sent()
        (message,) = receiver.messages
    head = message.request
    assert head.head.startswith(b"POST ") and head.target == f"{SECRET_PATH}?{SECRET_QUERY}"
    assert head.header("Idempotency-Key") == KEY
    assert head.header("Content-Type") == "application/json; charset=utf-8"
    assert message.document["title"] == "제목" and message.document["idempotency_key"] == KEY
    assert '"POST [redacted]' in caplog.text, "the library logs the request, so it was looked at"


def test_slack_gets_slacks_form() -> None:
    """R40: ``text`` and nothing that a channel would have to unfold."""
    with WebhookReceiver() as receiver:
        assert send(receiver, "slack") == Sent()
        document = receiver.messages[0].document
    assert document["text"] == "✅ 제목\n한 줄"


@pytest.mark.parametrize(
    "answer", [status("204 No Content"), status("202 Accepted", b"later"), endless]
)
def test_any_2xx_is_delivered_however_much_it_says(answer: Answering) -> None:
    """R40: a long answer is not read to its end."""
    with WebhookReceiver(answer) as receiver:
        assert send(receiver) == Sent()


@pytest.mark.parametrize(
    ("line", "is_outage"),
    [
        ("500 Oops", True),
        ("503 Busy", True),
        ("429 Slow", True),
        ("302 Found", True),
        ("404 Gone", False),
        ("400 Bad", False),
        ("410 Gone", False),
    ],
)
def test_a_status_says_whether_the_next_message_would_fare_better(
    line: str, is_outage: bool
) -> None:
    """R40: a refusal is about the message, everything else about the webhook."""
    location = "Location: http://127.0.0.1:1/elsewhere"
    outcome = failed(status(line, b"", location))
    assert outcome == NotSent(f"webhook: status {line[:3]}", is_outage)


@pytest.mark.parametrize(
    ("line", "wish", "seconds"),
    [
        ("429 Slow", "120", 120.0),
        ("503 Busy", "7", 7.0),
        ("429 Slow", "999999", 3600.0),
        ("429 Slow", "-5", 0.0),
        ("500 Oops", "120", 0.0),
    ],
)
def test_retry_after_is_honoured_up_to_a_cap(line: str, wish: str, seconds: float) -> None:
    """R26, R40: only of those who want to be left alone, and no nonsense."""
    assert failed(status(line, b"", f"Retry-After: {wish}")).wish_seconds == seconds


@pytest.mark.parametrize("answer", [hanging, trickling_head, trickling_body])
def test_an_answer_that_does_not_come_in_time_ends_at_the_deadline(answer: Answering) -> None:
    """R40: the deadline is for the whole exchange, the last byte of the body included."""
    began = time.monotonic()
    outcome = failed(answer, deadline=1)
    assert 0.9 < time.monotonic() - began < 3
    # The socket's own time-out may come a moment before the deadline's.
    words = ("webhook: not answered within 1 s", "webhook: waiting took too long")
    assert outcome.error in words and outcome.is_outage


@pytest.mark.parametrize("answer", [cut_off, cut_off_inside, no_http, reset])
def test_an_answer_that_is_none_is_an_outage(answer: Answering) -> None:
    """R40: a half answer is not believed."""
    assert failed(answer).is_outage


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_webhook_that_refuses_connections_is_an_outage(scheme: str) -> None:
    """R29, R40: in fixed words."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    outcome = notifier(f"{scheme}://127.0.0.1:{port}{SECRET_PATH}").send(MESSAGE, KEY)
    assert outcome == NotSent("webhook: connection refused", is_outage=True)


def test_an_address_that_no_request_can_be_made_of_is_an_outage() -> None:
    """R29, R40: not an exception with the address in it."""
    outcome = WebhookNotifier(make_settings(), f"http://[::1{SECRET_PATH}").send(MESSAGE, KEY)
    assert outcome == NotSent("the webhook's address cannot be used", is_outage=True)


def test_the_address_stands_in_no_text_of_the_notifier() -> None:
    """R29: its repr, and a traceback through it."""
    made = notifier(f"https://user:passw0rd@hooks.test{SECRET_PATH}")
    assert traces_of_the_address(repr(made)) == []
    try:
        made.send(None, KEY)  # type: ignore[arg-type]  # any error inside
    except AttributeError as error:
        assert traces_of_the_address("".join(traceback.format_exception(error))) == []


def test_every_part_of_the_address_is_redacted() -> None:
    """R29: whole, in parts, encoded, and a user's password with it."""
    url = f"https://user:passw0rd@hooks.test{SECRET_PATH}?{SECRET_QUERY}"
    settings = make_settings(
        WEBHOOK_URL=url,
        DATABASE_URL="mysql://app:db%2Fpassword@db.test/x",
        OPERATIONS_TOKEN="t0ken",
    )
    redactor = settings_redactor(settings)
    said = [url, *webhook_secrets(url), "db/password", "db%2Fpassword", "t0ken", "passw0rd"]
    text = redactor.text(" ".join(said))
    assert traces_of_the_address(text) == []
    assert not any(word in text for word in ("passw0rd", "db/password", "db%2F", "t0ken"))
    assert redactor.text("nothing to hide in v1") == "nothing to hide in v1"


def test_without_a_webhook_a_message_is_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R40: a morning on which all is well is logged too, each with its own level."""
    caplog.set_level(logging.NOTSET, LOGGER_NAME)
    opened = open_notifier(make_settings())
    assert isinstance(opened, LogNotifier)
    logging.getLogger(LOGGER_NAME).setLevel(logging.NOTSET)
    quiet = LogNotifier()
    logging.getLogger().setLevel(logging.WARNING)
    assert quiet.send(MESSAGE, KEY) == Logged()
    (record,) = [each for each in caplog.records if each.name == LOGGER_NAME]
    assert record.getMessage() == f"INFO KIND: 제목 | 한 줄 [{KEY}]"
    assert record.levelno == logging.INFO


def test_where_no_logging_is_set_up_the_line_goes_to_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R40: LOGGED means that it stands somewhere."""
    monkeypatch.setattr(logging.getLogger(LOGGER_NAME), "propagate", False)
    LogNotifier().send(MESSAGE, KEY)
    assert "제목 | 한 줄" in capsys.readouterr().err
