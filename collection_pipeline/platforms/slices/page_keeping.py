"""Keeping a page's rows: each id once a slice, with what the store knows of it (R20, R22, R22a)."""

from collections.abc import Mapping, Sequence

from collection_pipeline.domain.budget import RemainingBudget
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.posting import (
    KnownPosting,
    ListedPosting,
    PostingContent,
    needs_detail,
)
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import (
    CollectionSliceDescriptor,
    SightedPosting,
    SliceWork,
)
from collection_pipeline.domain.source import DetailMode
from collection_pipeline.platforms.contract import ListPage, PlatformAdapter


class PageKeeping:
    """Adds pages to ``work``; its look-ups are short reads that end before the next request."""

    def __init__(
        self, adapter: PlatformAdapter, descriptor: CollectionSliceDescriptor, work: SliceWork
    ) -> None:
        self._descriptor = descriptor
        self._work = work
        self._kept: set[str] = set()
        self.is_database_away = False
        self._is_cut_at_budget = adapter.whole_board
        self._asks_details = (
            adapter.has_details and descriptor.source.detail_mode is not DetailMode.OFF
        )

    def keep(self, page: ListPage) -> bool:
        """Keep the page's rows; True when a whole board was cut at the daily posting budget."""
        progress = self._work.progress or CollectionProgress()
        fresh = self._distinct(page.rows, progress.rows_read)
        # Read before anything is kept: a row that is no posting refuses its whole page.
        for posting in fresh:
            if not posting.is_unchanged:
                _ = posting.listed.content
        self._work.progress = progress.after_page([row.source_job_id for row in page.rows])
        if page.rows and page.stated_total is not None:
            self._work.stated_total = page.stated_total
        kept: list[PostingContent] = []
        is_cut = False
        for posting in fresh:
            is_new_to_cycle = posting.known is None or not posting.known.seen_in_cycle
            if is_new_to_cycle and self._is_cut_at_budget and self._postings_left() < 1:
                is_cut = True
                break
            self._work.new_to_cycle += is_new_to_cycle
            self._add(posting)
            if not posting.is_unchanged:
                kept.append(posting.listed.content)
        self._resolve_companies(kept)
        return is_cut

    def _add(self, posting: SightedPosting) -> None:
        self._kept.add(posting.listed.source_job_id)
        self._work.drift.update(posting.unparsed)
        self._work.postings.append(posting)

    def _resolve_companies(self, changed: Sequence[PostingContent]) -> None:
        """Found or registered right after the page, before the next request (R25)."""
        names = {row.fields.company_name for row in changed if row.fields.company_name}
        unknown = sorted(names - self._work.company_ids.keys())
        if not unknown or self.is_database_away:
            return
        try:
            self._work.company_ids.update(self._descriptor.lookup.resolve_companies(unknown))
        except DatabaseUnavailable:
            self.is_database_away = True

    def _known(self, ids: Sequence[str]) -> Mapping[str, KnownPosting]:
        """What is stored; nothing while the database is away, for rows are kept (R20)."""
        try:
            return self._descriptor.lookup.known_postings(ids)
        except DatabaseUnavailable:
            self.is_database_away = True
            return {}

    def _distinct(self, rows: Sequence[ListedPosting], first_position: int) -> list[SightedPosting]:
        """Rows whose id this slice has not kept yet, with what is stored of them; each id once."""
        fresh: dict[str, tuple[ListedPosting, int]] = {}
        for position, row in enumerate(rows, first_position):
            if row.source_job_id not in self._kept:
                fresh.setdefault(row.source_job_id, (row, position))
        known = self._known(list(fresh))
        return [
            self._sighted(row, position, known.get(job_id))
            for job_id, (row, position) in fresh.items()
        ]

    def _sighted(
        self, row: ListedPosting, position: int, stored: KnownPosting | None
    ) -> SightedPosting:
        wants_detail = self._asks_details and needs_detail(stored, row.signature)
        return SightedPosting(row, position, stored, wants_detail)

    def _postings_left(self) -> int:
        used = self._descriptor.consumed.plus(self._work.used)
        return RemainingBudget.of(self._descriptor.daily_budget, used).postings
