"""Sends a message to the webhook: one POST, one answer, one deadline (R28, R29, R40).

Nothing is retried here and no redirect is followed. A 2xx is believed when its answer came whole
within the deadline; how long the answer is does not matter, it is read up to a small bound only.
The address never leaves this module but on the wire.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import requests

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.notification import Notification
from collection_pipeline.notification.forms import webhook_body
from collection_pipeline.notification.log_notifier import LogNotifier
from collection_pipeline.notification.secrecy import settings_redactor
from collection_pipeline.notification.sending import Notifier, NotSent, Sent
from collection_pipeline.platforms.wire.exchange import Answer, ExchangeTerms, NoAnswer, exchange
from collection_pipeline.platforms.wire.http_session import SingleSendSession
from collection_pipeline.platforms.wire.redaction import install_log_redaction
from collection_pipeline.platforms.wire.reply_status import RATE_LIMITED_STATUS, THROTTLED_STATUSES
from collection_pipeline.platforms.wire.retry_after import parse_retry_after
from collection_pipeline.settings import USER_AGENT, Settings

MOST_ANSWER_BYTES = 65_536


def open_notifier(settings: Settings) -> Notifier:
    """The webhook's notifier where the settings name one, else the log's."""
    url = settings.secrets.get("WEBHOOK_URL")
    return WebhookNotifier(settings, url) if url else LogNotifier()


def _now_utc() -> datetime:
    return datetime.now(UTC)


class WebhookNotifier:
    """One webhook; any thread may call it."""

    def __init__(
        self,
        settings: Settings,
        url: str,
        *,
        verify: bool | str = True,
        now_utc: Callable[[], datetime] = _now_utc,
    ) -> None:
        deadline = float(settings["WEBHOOK_DEADLINE_SECONDS"])
        connecting = min(float(settings["CONNECT_TIMEOUT_SECONDS"]), deadline)
        self._terms = ExchangeTerms(connecting, deadline, MOST_ANSWER_BYTES, verify)
        self._cap_seconds = float(settings["RETRY_AFTER_CAP_SECONDS"])
        self._form = settings.webhook_format
        self._url = url
        self._now_utc = now_utc
        install_log_redaction(settings_redactor(settings))

    def __repr__(self) -> str:
        return f"WebhookNotifier({self._form})"

    def send(self, notification: Notification, idempotency_key: str) -> Sent | NotSent:
        """POST it; every end is a value."""
        with SingleSendSession(USER_AGENT) as session:
            prepared = self._prepared(session, notification, idempotency_key)
            if prepared is None:
                return NotSent("the webhook's address cannot be used", is_outage=True)
            return self._judged(exchange(session, prepared, self._terms, _is_success))

    def _prepared(
        self, session: SingleSendSession, notification: Notification, idempotency_key: str
    ) -> requests.PreparedRequest | None:
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Idempotency-Key": idempotency_key,
        }
        body = webhook_body(self._form, notification, idempotency_key)
        try:
            return session.prepare_request(
                requests.Request("POST", self._url, headers=headers, data=body)
            )
        except (requests.RequestException, ValueError):
            return None

    def _judged(self, outcome: Answer | NoAnswer) -> Sent | NotSent:
        status = outcome.status
        if isinstance(outcome, NoAnswer) and (
            status is None or outcome.reason is Reason.CONNECTION
        ):
            return NotSent(f"webhook: {outcome.words}", is_outage=True)
        if status is not None and _is_success(status):
            return Sent()
        is_about_this_message = status is not None and _is_refusal(status)
        return NotSent(
            f"webhook: status {status}",
            is_outage=not is_about_this_message,
            wish_seconds=self._wish(outcome),
        )

    def _wish(self, outcome: Answer | NoAnswer) -> float:
        if outcome.status not in THROTTLED_STATUSES:
            return 0.0
        return parse_retry_after(outcome.headers, self._cap_seconds, self._now_utc()) or 0.0


def _is_success(status: int) -> bool:
    return status // 100 == 2


def _is_refusal(status: int) -> bool:
    return status // 100 == 4 and status != RATE_LIMITED_STATUS
