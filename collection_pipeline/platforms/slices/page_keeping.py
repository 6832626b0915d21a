"""Keeping a page's rows: each id once a slice, with what the store knows of it (R20, R22, R22a)."""

from collections.abc import Mapping, Sequence

from collection_pipeline.domain.budget import RemainingBudget
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.posting import KnownPosting, ListedPosting, needs_detail
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
        first_position = progress.rows_read
        ids = [row.source_job_id for row in page.rows]
        self._work.progress = progress.after_page(ids)
        if page.rows and page.stated_total is not None:
            self._work.stated_total = page.stated_total
        fresh = self._distinct(page.rows, first_position)
        known = self._known([row.source_job_id for row in fresh])
        kept: list[ListedPosting] = []
        is_cut = False
        for row, position in fresh.items():
            stored = known.get(row.source_job_id)
            is_new_to_cycle = stored is None or not stored.seen_in_cycle
            if is_new_to_cycle and self._is_cut_at_budget and self._postings_left() < 1:
                is_cut = True
                break
            self._work.new_to_cycle += is_new_to_cycle
            self._add(row, position, stored)
            kept.append(row)
        self._resolve_companies(kept)
        return is_cut

    def _add(self, row: ListedPosting, position: int, stored: KnownPosting | None) -> None:
        self._kept.add(row.source_job_id)
        self._work.drift.update(row.unparsed)
        self._work.postings.append(
            SightedPosting(
                listed=row,
                position=position,
                known=stored,
                wants_detail=self._asks_details and needs_detail(stored, row.signature),
            )
        )

    def _resolve_companies(self, rows: Sequence[ListedPosting]) -> None:
        """Found or registered right after the page, before the next request (R25)."""
        names = {row.fields.company_name for row in rows if row.fields.company_name}
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

    def _distinct(
        self, rows: Sequence[ListedPosting], first_position: int
    ) -> dict[ListedPosting, int]:
        """Rows whose id this slice has not kept yet, with their position; each id counts once."""
        fresh: dict[str, tuple[ListedPosting, int]] = {}
        for position, row in enumerate(rows, first_position):
            if row.source_job_id not in self._kept:
                fresh.setdefault(row.source_job_id, (row, position))
        return dict(fresh.values())

    def _postings_left(self) -> int:
        used = self._descriptor.consumed.plus(self._work.used)
        return RemainingBudget.of(self._descriptor.daily_budget, used).postings
