"""Sends one request under its policy and hands back the decoded, redacted answer (R28, R29).

Nothing is retried and no redirect is followed. Every failure is one ``RequestFailed`` that carries
no other exception: not as a cause, not as a context, since those would show the query.
"""

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType

import requests

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.platforms.contract import (
    PlatformReply,
    PlatformRequest,
    RequestFailed,
    RequestPolicy,
)
from collection_pipeline.platforms.wire.exchange import ExchangeTerms, NoAnswer, exchange
from collection_pipeline.platforms.wire.http_session import SingleSendSession
from collection_pipeline.platforms.wire.in_flight import InFlight
from collection_pipeline.platforms.wire.network_failure import NETWORK_ERRORS, network_failure
from collection_pipeline.platforms.wire.policy import is_same_target, policy_refusal, shown_target
from collection_pipeline.platforms.wire.redaction import Redactor, install_log_redaction
from collection_pipeline.platforms.wire.reply_status import THROTTLED_STATUSES, status_reason
from collection_pipeline.platforms.wire.request_url import request_headers, request_url
from collection_pipeline.platforms.wire.retry_after import parse_retry_after
from collection_pipeline.settings import USER_AGENT, Settings

IDLE_SECONDS = 4.0
"""Common servers close an idle connection after 5 s; one that dies while we write is a failure."""
OPEN_AHEAD_SHARE = 0.75
"""A connection opened or found ahead of a slot must still be young when the slot comes."""
KEEP_ALIVE_MARGIN_SECONDS = 1.0
_KEEP_ALIVE = re.compile(r"(?:^|[,;\s])timeout=([0-9]{1,6})", re.IGNORECASE)


def _now_utc() -> datetime:
    return datetime.now(UTC)


class RequestsSender:
    """One per slice: it keeps a connection alive between the slice's requests. Not thread-safe."""

    def __init__(
        self,
        settings: Settings,
        *,
        user_agent: str = USER_AGENT,
        verify: bool | str = True,
        monotonic: Callable[[], float] = time.monotonic,
        now_utc: Callable[[], datetime] = _now_utc,
    ) -> None:
        self._connect_seconds = float(settings["CONNECT_TIMEOUT_SECONDS"])
        self._max_bytes = settings["MAX_RESPONSE_BYTES"]
        self._cap_seconds = float(settings["RETRY_AFTER_CAP_SECONDS"])
        self._verify = verify
        self._monotonic = monotonic
        self._now_utc = now_utc
        self._redactor = Redactor(settings.secrets.values())
        install_log_redaction(self._redactor)
        self._session = SingleSendSession(user_agent)
        self._checked_last: tuple[PlatformRequest, RequestPolicy, requests.PreparedRequest] | None
        self._checked_last = None
        self._used_at = monotonic()
        self._idle_seconds = IDLE_SECONDS

    def __enter__(self) -> "RequestsSender":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection that was kept alive."""
        self._session.close()

    def open(self, request: PlatformRequest, policy: RequestPolicy) -> None:
        """Connect to the request's host, so that ``send`` has only to write; nothing is sent.

        Bounded by the connect timeout, TLS included. No-op while a young connection is open.
        Raises ``RequestFailed`` (POLICY, TIMEOUT, CONNECTION).
        """
        prepared = self._checked(request, policy)
        failure = (
            prepared if isinstance(prepared, RequestFailed) else self._connect(request, prepared)
        )
        if failure is not None:
            raise failure

    def send(
        self,
        request: PlatformRequest,
        policy: RequestPolicy,
        deadline_seconds: float,
        before_write: Callable[[], None] | None = None,
    ) -> PlatformReply:
        """The answer if its status is accepted, else ``RequestFailed``.

        ``before_write`` is called when the connection stands and nothing is left to do but to
        write the first byte; what it raises comes out, and then nothing was sent.
        """
        prepared = self._checked(request, policy)
        outcome = (
            prepared
            if isinstance(prepared, RequestFailed)
            else self._exchange(request, prepared, deadline_seconds, before_write)
        )
        if isinstance(outcome, RequestFailed):
            raise outcome
        return outcome

    def _checked(
        self, request: PlatformRequest, policy: RequestPolicy
    ) -> requests.PreparedRequest | RequestFailed:
        """The request as it will be sent; asked for twice, when connecting and when sending."""
        last = self._checked_last
        if last is not None and last[0] is request and last[1] is policy:
            return last[2]
        self._learn_secrets(request)
        refusal = policy_refusal(request, policy)
        if refusal is not None:
            return RequestFailed(Reason.POLICY, self._redactor.text(f"not sent: {refusal}"))
        try:
            prepared = self._session.prepare_request(
                requests.Request("GET", request_url(request), headers=request_headers(request))
            )
        except (requests.RequestException, ValueError):
            prepared = None
        if prepared is None or not is_same_target(prepared.url or "", request):
            return self._failure(Reason.POLICY, request, "not sent: it cannot be written as a URL")
        self._checked_last = (request, policy, prepared)
        return prepared

    def _learn_secrets(self, request: PlatformRequest) -> None:
        redactor = self._redactor.with_secrets(value for _, value in request.secret_params)
        if redactor is not self._redactor:
            self._redactor = redactor
            install_log_redaction(redactor)

    def _connect(
        self, request: PlatformRequest, prepared: requests.PreparedRequest
    ) -> RequestFailed | None:
        self._close_if_idle(OPEN_AHEAD_SHARE)
        if self._session.is_connected(prepared, self._verify):
            return None
        failure = None
        with InFlight(self._connect_seconds) as in_flight:
            try:
                if self._session.open_connection(prepared, self._verify, self._connect_seconds):
                    self._used_at = self._monotonic()
            except NETWORK_ERRORS as error:
                failure = self._network_failure(request, error)
            if in_flight.is_expired:
                failure = self._failure(Reason.TIMEOUT, request, "connecting took too long")
        return failure

    def _exchange(
        self,
        request: PlatformRequest,
        prepared: requests.PreparedRequest,
        deadline_seconds: float,
        before_write: Callable[[], None] | None,
    ) -> PlatformReply | RequestFailed:
        self._close_if_idle()
        terms = ExchangeTerms(
            self._connect_seconds, deadline_seconds, self._max_bytes, self._verify
        )
        outcome = exchange(
            self._session, prepared, terms, request.accepted_statuses.__contains__, before_write
        )
        self._used_at = self._monotonic()
        headers = self._headers(outcome.headers)
        self._note_keep_alive(headers)
        if isinstance(outcome, NoAnswer):
            return self._failure(outcome.reason, request, outcome.words, outcome.status)
        if outcome.body is None:
            return self._refused(request, outcome.status, headers)
        return PlatformReply(outcome.status, headers, self._redactor.body(outcome.body))

    def _refused(
        self, request: PlatformRequest, status: int, headers: Mapping[str, str]
    ) -> RequestFailed:
        wish = None
        if status in THROTTLED_STATUSES:
            wish = parse_retry_after(headers, self._cap_seconds, self._now_utc())
        return self._failure(status_reason(status), request, f"status {status}", status, wish)

    def _network_failure(self, request: PlatformRequest, error: Exception) -> RequestFailed:
        reason, words = network_failure(error)
        return self._failure(reason, request, words)

    def _failure(
        self,
        reason: Reason,
        request: PlatformRequest,
        words: str,
        status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> RequestFailed:
        shown = f", status {status}" if status is not None and "status" not in words else ""
        return RequestFailed(
            reason,
            self._redactor.text(f"{shown_target(request)}: {words}{shown}"),
            status=status,
            retry_after_seconds=retry_after_seconds,
        )

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {name.lower(): self._redactor.text(value) for name, value in headers.items()}

    def _note_keep_alive(self, headers: Mapping[str, str]) -> None:
        stated = _KEEP_ALIVE.search(headers.get("keep-alive", ""))
        allowed = int(stated[1]) - KEEP_ALIVE_MARGIN_SECONDS if stated else IDLE_SECONDS
        self._idle_seconds = max(0.0, min(IDLE_SECONDS, allowed))

    def _close_if_idle(self, share: float = 1.0) -> None:
        if self._monotonic() - self._used_at > self._idle_seconds * share:
            self._session.close()
            self._idle_seconds = IDLE_SECONDS
