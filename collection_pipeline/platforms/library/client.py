"""Reads the whole register from the portal, page by page (section 5, R25 to R29, R47).

Invariant: one request a page through the executor of all platforms (host throttle, policy, no open
transaction, redaction), nothing is sent twice, and the reading ends with every row or with a
``LibraryReadFailed``. Memory holds two pages.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from collection_pipeline.domain.key_quota import KeyQuotaUsedUp
from collection_pipeline.domain.library import LibraryFailure, LibraryPage, LibraryReadFailed
from collection_pipeline.domain.slices import HostRequestThrottleGateway
from collection_pipeline.domain.transaction_guard import TransactionGuard
from collection_pipeline.platforms.contract import PlatformReply, PlatformRequest, RequestPolicy
from collection_pipeline.platforms.library.envelope import read_answer
from collection_pipeline.platforms.library.errors import READ_STATUSES, request_failure
from collection_pipeline.platforms.library.known_columns import KnownColumns
from collection_pipeline.platforms.library.page_sequence import PageSequence
from collection_pipeline.platforms.library.read_permit import (
    PLATFORM,
    ReadPermit,
    page_delay_seconds,
)
from collection_pipeline.platforms.library.service_key import service_key
from collection_pipeline.platforms.wire.executor import (
    PacedSender,
    Paused,
    SourceRequestExecutor,
    Stopped,
)
from collection_pipeline.settings import Settings

PATH = "/openapi/tn_pubr_public_lbrry_api"
PAGE_ROWS = 1_000
POLICY = RequestPolicy(path_pattern=PATH, page_size_params={"numOfRows": PAGE_ROWS})


class LibraryClient:
    """``LibrarySnapshot`` of the portal; a reading can be repeated with the same client.

    Raises ``InvalidSetting`` at once when the service key is missing or cannot be one.
    """

    source = "library"

    def __init__(
        self,
        settings: Settings,
        open_sender: Callable[[], AbstractContextManager[PacedSender]],
        throttle: HostRequestThrottleGateway,
        transactions: TransactionGuard,
        stop: threading.Event | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._key = service_key(settings.secrets)
        self._settings = settings
        self._open_sender = open_sender
        self._throttle = throttle
        self._transactions = transactions
        self._stop = stop or threading.Event()
        self._monotonic = monotonic

    def read(self, between_pages: Callable[[], None]) -> Iterator[LibraryPage]:
        """All pages from 1; ``between_pages`` is called before each later request.

        Raises ``LibraryReadFailed``, and what the throttle, the guard and ``between_pages`` raise.
        """
        sequence, columns = PageSequence(PAGE_ROWS), KnownColumns()
        permit = ReadPermit(self._settings, self._stop, self._monotonic)
        with self._open_sender() as sender:
            executor = SourceRequestExecutor(
                sender, self._throttle, permit, self._transactions, self._settings
            )
            while not sequence.is_complete:
                if sequence.number > 1:
                    between_pages()
                permit.begin_page()
                reply = self._fetched(executor, sequence.number)
                page = sequence.accept(read_answer(reply))
                columns.note(page.rows)
                yield page
        columns.require_all()

    def _fetched(self, executor: SourceRequestExecutor, number: int) -> PlatformReply:
        delay = page_delay_seconds(self._settings)
        outcome = executor.execute(self._request(number), POLICY, delay)
        if isinstance(outcome, Paused):
            moment = f"{outcome.not_before:%Y-%m-%d %H:%M:%S}"
            raise LibraryReadFailed(
                LibraryFailure.RETRY_LATER, f"the host is to be left alone until {moment} UTC"
            )
        if isinstance(outcome, Stopped):
            raise LibraryReadFailed(LibraryFailure.RETRY_LATER, f"not read on: {outcome.reason}")
        # Only an executor that was given a quota counts calls.
        assert not isinstance(outcome, KeyQuotaUsedUp)
        if outcome.reply is not None:
            return outcome.reply
        assert outcome.failure is not None
        failed = outcome.failure
        raise request_failure(
            failed.failure.reason, failed.failure.detail, status=failed.status, sent=outcome.sent
        )

    def _request(self, number: int) -> PlatformRequest:
        return PlatformRequest(
            self._settings.base_urls[PLATFORM],
            PATH,
            params=(("pageNo", str(number)), ("numOfRows", str(PAGE_ROWS)), ("type", "json")),
            secret_params=(("serviceKey", self._key.plain),),
            headers={"Accept": "application/json"},
            accepted_statuses=READ_STATUSES,
        )
