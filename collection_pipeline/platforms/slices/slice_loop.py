"""The one budgeted loop that all platforms share (R19 to R24).

A slice first reads list pages while a page's full size, or what the stated total leaves, still fits
both budgets; then it asks for details of new and changed rows, newest first, with what is left of
the detail budgets. Nothing is written here; what was read before a failure is kept in ``work``.
"""

from collection_pipeline.domain.budget import RemainingBudget, first_exhausted
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.failure import CollectionBudgetLimit
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.slices import (
    CollectionSliceDescriptor,
    Failed,
    Fetched,
    SliceWork,
    SourceCollectionSliceOutcome,
)
from collection_pipeline.domain.source import DetailMode
from collection_pipeline.platforms.contract import PlatformAdapter, RequestFailed
from collection_pipeline.platforms.slices.detail_reading import DetailReading
from collection_pipeline.platforms.slices.list_reading import ListEnd, ListReading
from collection_pipeline.platforms.wire.executor import SourceRequestExecutor


class SliceLoop:
    """Collects one slice with one adapter and one executor."""

    def __init__(
        self,
        adapter: PlatformAdapter,
        executor: SourceRequestExecutor,
        descriptor: CollectionSliceDescriptor,
    ) -> None:
        self._adapter = adapter
        self._executor = executor
        self._descriptor = descriptor
        self._work = SliceWork(progress=descriptor.progress, stated_total=descriptor.stated_total)

    def collect(self) -> SourceCollectionSliceOutcome:
        """The slice's outcome; a failed list request is a value that keeps earlier pages (R19)."""
        try:
            listed = self._read_list()
        except RequestFailed as failed:
            outcome: SourceCollectionSliceOutcome = Failed(self._work, failed.failure)
        else:
            outcome = self._ended(listed)
        self._note_requests()
        return outcome

    def _read_list(self) -> ListEnd:
        cursor = self._descriptor.cursor
        if cursor is not None and cursor.list_ended:
            return ListEnd(list_ended=True)
        reading = ListReading(self._adapter, self._executor, self._descriptor, self._work)
        return reading.read(cursor.position if cursor else None)

    def _ended(self, listed: ListEnd) -> Fetched:
        reading = DetailReading(self._adapter, self._executor, self._descriptor, self._work)
        resume_at = listed.resume_at
        if not listed.interrupted:
            resume_at = reading.read()
        is_complete, exhausted = self._verdict(listed, reading)
        return Fetched(
            work=self._work,
            next_cursor=None if is_complete else self._next_cursor(listed),
            is_complete=is_complete,
            exhausted=exhausted,
            resume_at=resume_at,
            total_tolerance=self._adapter.total_tolerance,
        )

    def _verdict(
        self, listed: ListEnd, details: DetailReading
    ) -> tuple[bool, CollectionBudgetLimit | None]:
        """Complete, or the daily limit that forbids going on, or neither (R9, R21, R22)."""
        if not listed.list_ended:
            return False, self._in_the_way(listed, details)
        try:
            if not details.any_left():
                return True, None
        except DatabaseUnavailable:
            return False, None  # not known yet: another slice will ask
        limit = first_exhausted(details=self._daily_details_left() < 1, key=details.is_key_used_up)
        if limit is not None and self._descriptor.source.detail_mode is DetailMode.BEST_EFFORT:
            return True, None
        return False, limit

    def _in_the_way(self, listed: ListEnd, details: DetailReading) -> CollectionBudgetLimit | None:
        """The limit that ended the list, or details without a budget, which R20 names before it."""
        is_last_named = listed.exhausted is CollectionBudgetLimit.KEY_QUOTA
        is_optional = self._descriptor.source.detail_mode is DetailMode.BEST_EFFORT
        if not is_last_named or is_optional or self._daily_details_left() > 0:
            return listed.exhausted
        try:
            return first_exhausted(details=details.any_left(), key=True)
        except DatabaseUnavailable:
            return listed.exhausted

    def _daily_details_left(self) -> int:
        used = self._descriptor.consumed.plus(self._work.used)
        return RemainingBudget.of(self._descriptor.daily_budget, used).detail_requests

    def _next_cursor(self, listed: ListEnd) -> Cursor | None:
        if listed.list_ended:
            return Cursor(None)
        return None if listed.next_position is None else Cursor(listed.next_position)

    def _note_requests(self) -> None:
        statistics = self._executor.statistics
        self._work.seconds_waited = statistics.seconds_waited
        self._work.least_interval_seconds = statistics.least_interval_seconds
        self._work.rate_limited_count = statistics.rate_limited_count
