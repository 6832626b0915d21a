"""Reading list pages until the list, a budget, time or a failure ends it (R20 to R23)."""

from dataclasses import dataclass
from datetime import datetime

from collection_pipeline.domain.budget import RemainingBudget, first_exhausted
from collection_pipeline.domain.cursor import Cursor, CursorTooLong
from collection_pipeline.domain.failure import CollectionBudgetLimit, CollectionFailureReason
from collection_pipeline.domain.key_quota import KeyQuotaUsedUp
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import CollectionSliceDescriptor, SliceWork
from collection_pipeline.platforms.contract import (
    BadResponse,
    ListPage,
    PlatformAdapter,
    PlatformReply,
    Position,
    RequestFailed,
)
from collection_pipeline.platforms.slices.answer import answered
from collection_pipeline.platforms.slices.page_keeping import PageKeeping
from collection_pipeline.platforms.wire.executor import (
    ExecutedRequest,
    Paused,
    SourceRequestExecutor,
    Stopped,
)


@dataclass(frozen=True)
class ListEnd:
    """Why list reading ended.

    ``interrupted``: the slice may send nothing more (asked to stop, switched off, out of time, the
    database away, the key's calls used up, or paused by the host until ``resume_at``).
    ``exhausted``: the daily limit in the way of the page at ``next_position``.
    """

    list_ended: bool = False
    next_position: Position | None = None
    exhausted: CollectionBudgetLimit | None = None
    interrupted: bool = False
    resume_at: datetime | None = None


class ListReading:
    """Reads one slice's pages into ``work``."""

    def __init__(
        self,
        adapter: PlatformAdapter,
        executor: SourceRequestExecutor,
        descriptor: CollectionSliceDescriptor,
        work: SliceWork,
    ) -> None:
        self._adapter = adapter
        self._executor = executor
        self._descriptor = descriptor
        self._condition = descriptor.source.condition
        self._work = work
        self._pages = PageKeeping(adapter, descriptor, work)

    def read(self, start: Position | None) -> ListEnd:
        """Pages from ``start`` (the newest first page when ``None``); raises ``RequestFailed``."""
        position = start or self._first_position()
        is_covered = False
        while True:
            blocked = self._blocked(position)
            if blocked is not None:
                return blocked
            answer = self._request(position)
            if isinstance(answer, ListEnd):
                # R21: with the total covered only the end sign was still to come.
                return ListEnd(list_ended=True) if is_covered and answer.exhausted else answer
            page = self._adapter.read_page(self._condition, position, answer)
            is_cut = self._pages.keep(page)
            self._check_progress(page)
            if is_cut:
                return ListEnd(next_position=position, exhausted=CollectionBudgetLimit.POSTINGS)
            if page.next_position is None or self._ends_at_total(page):
                return ListEnd(list_ended=True, interrupted=self._pages.is_database_away)
            position, is_covered = page.next_position, page.reaches_total
            if self._pages.is_database_away:
                return ListEnd(next_position=position, interrupted=True)

    def _first_position(self) -> Position:
        rows = min(self._descriptor.slice_budget.postings, self._descriptor.daily_budget.postings)
        return self._adapter.first_position(self._condition, rows)

    def _blocked(self, position: Position) -> ListEnd | None:
        """The end of this slice's list, when the page at ``position`` does not fit a budget."""
        rows = 1 if self._adapter.whole_board else self._expected_rows(position)
        daily = self._daily_left()
        exhausted = first_exhausted(list_pages=daily.list_pages < 1, postings=rows > daily.postings)
        if exhausted is not None:
            return ListEnd(next_position=position, exhausted=exhausted)
        own = RemainingBudget.of(self._descriptor.slice_budget, self._work.used)
        fits = self._adapter.whole_board or rows <= own.postings
        if own.list_pages >= 1 and fits:
            return None
        if self._work.list_page_count == 0:
            raise RequestFailed(
                CollectionFailureReason.CONFIG,
                f"SLICE_MAX_POSTINGS is below one page of this platform ({rows} rows); raise it",
            )
        return ListEnd(next_position=position)

    def _expected_rows(self, position: Position) -> int:
        """The page's full size, or what the stated total leaves (R20)."""
        rows = self._adapter.page_rows(position)
        before = self._adapter.rows_before(position)
        if self._work.stated_total is None or before is None:
            return rows
        return min(rows, max(0, self._work.stated_total - before))

    def _request(self, position: Position) -> PlatformReply | ListEnd:
        request = self._adapter.list_request(self._condition, position)
        try:
            answer = self._executor.execute(
                request, self._adapter.policy, self._descriptor.min_delay_seconds
            )
        except DatabaseUnavailable:
            return ListEnd(next_position=position, interrupted=True)
        match answer:
            case Paused():
                return ListEnd(
                    next_position=position, interrupted=True, resume_at=answer.not_before
                )
            case Stopped():
                return ListEnd(next_position=position, interrupted=True)
            case KeyQuotaUsedUp():
                return ListEnd(
                    next_position=position,
                    exhausted=CollectionBudgetLimit.KEY_QUOTA,
                    interrupted=True,
                )
            case ExecutedRequest():
                self._work.list_page_count += answer.sent
                self._work.progress = self._progress.visiting(Cursor(position).encoded())
                return answered(answer)

    def _check_progress(self, page: ListPage) -> None:
        """R23 and R28, once the page's rows are kept."""
        if page.refused_link is not None:
            raise RequestFailed(CollectionFailureReason.POLICY, page.refused_link)
        if self._progress.is_stuck:
            raise BadResponse("pages repeat: the platform seems to ignore the page position")
        if page.next_position is not None:
            try:
                following = Cursor(page.next_position).encoded()
            except CursorTooLong as too_long:
                raise BadResponse(str(too_long)) from None
            if self._progress.has_visited(following):
                raise BadResponse("the next page was already visited in this cycle")

    def _ends_at_total(self, page: ListPage) -> bool:
        """R21: the total is covered and no request is left to see the empty last page."""
        return page.reaches_total and self._daily_left().list_pages < 1

    def _daily_left(self) -> RemainingBudget:
        used = self._descriptor.consumed.plus(self._work.used)
        return RemainingBudget.of(self._descriptor.daily_budget, used)

    @property
    def _progress(self) -> CollectionProgress:
        return self._work.progress or CollectionProgress()
