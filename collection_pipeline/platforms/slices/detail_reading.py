"""Details as a backlog: asked for after the list, newest first, within what is left (R22).

Targets are postings that earlier slices of the cycle left waiting and rows of this slice that are
new or changed. A failed detail is counted and not tried again in this cycle; a 403 or 429 ends the
cycle's details.
"""

from datetime import datetime

from collection_pipeline.domain.budget import RemainingBudget
from collection_pipeline.domain.key_quota import KeyQuotaUsedUp
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.posting import DetailTarget, PostingDetail
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import (
    CollectionSliceDescriptor,
    SliceWork,
    TriedDetail,
)
from collection_pipeline.domain.source import DetailMode
from collection_pipeline.platforms.contract import PlatformAdapter, RequestFailed
from collection_pipeline.platforms.slices.answer import answered
from collection_pipeline.platforms.wire.executor import (
    ExecutedRequest,
    Paused,
    SourceRequestExecutor,
    Stopped,
)

REFUSING_STATUSES = frozenset({403, 429})


class DetailReading:
    """Reads one slice's details into ``work``."""

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
        self.is_key_used_up = False

    def read(self) -> datetime | None:
        """Try details until a budget or the permit ends them; the host's pause, if it asked.

        ``is_key_used_up`` says afterwards whether the key's calls were what ended them.
        """
        if not self._asks_details():
            return None
        try:
            return self._read_targets()
        except DatabaseUnavailable:
            return None

    def _read_targets(self) -> datetime | None:
        for target in self._targets(self._requests_left()):
            request = self._adapter.detail_request(self._condition, target.source_job_id)
            answer = self._executor.execute(
                request, self._adapter.policy, self._descriptor.min_delay_seconds
            )
            match answer:
                case Paused():
                    return answer.not_before
                case Stopped():
                    return None
                case KeyQuotaUsedUp():
                    self.is_key_used_up = True
                    return None
                case ExecutedRequest():
                    if not self._take(target, answer):
                        return None
        return None

    def any_left(self) -> bool:
        """Whether a detail is left to try in this cycle; raises ``DatabaseUnavailable``."""
        return self._asks_details() and bool(self._targets(1))

    def _asks_details(self) -> bool:
        progress = self._work.progress
        is_stopped = progress is not None and progress.details_stopped
        is_off = self._descriptor.source.detail_mode is DetailMode.OFF
        return self._adapter.has_details and not is_off and not is_stopped

    def _requests_left(self) -> int:
        own = RemainingBudget.of(self._descriptor.slice_budget, self._work.used)
        used = self._descriptor.consumed.plus(self._work.used)
        daily = RemainingBudget.of(self._descriptor.daily_budget, used)
        return min(own.detail_requests, daily.detail_requests)

    def _targets(self, limit: int) -> list[DetailTarget]:
        """At most ``limit`` untried postings, in list order."""
        if limit < 1:
            return []
        tried = {detail.source_job_id for detail in self._work.details}
        found = {
            posting.listed.source_job_id: DetailTarget(
                posting.listed.source_job_id, posting.position
            )
            for posting in self._work.postings
            if posting.wants_detail
        }
        if self._descriptor.consumed.list_pages > 0:
            for waiting in self._descriptor.lookup.waiting_details(limit + len(tried)):
                found.setdefault(waiting.source_job_id, waiting)
        untried = (target for target in found.values() if target.source_job_id not in tried)
        return sorted(untried, key=lambda target: target.position)[:limit]

    def _take(self, target: DetailTarget, answer: ExecutedRequest) -> bool:
        """Note one tried detail; False when the host refused and details end (R22)."""
        self._work.detail_request_count += answer.sent
        try:
            detail = self._adapter.read_detail(
                self._condition, target.source_job_id, answered(answer)
            )
        except RequestFailed as failed:
            self._work.details.append(TriedDetail(target.source_job_id, None))
            self._work.detail_failure_count += 1
            return self._goes_on_after(failed)
        self._work.details.append(TriedDetail(target.source_job_id, detail))
        if isinstance(detail, PostingDetail):
            self._work.drift.update(detail.unparsed)
        return True

    def _goes_on_after(self, failed: RequestFailed) -> bool:
        if failed.status not in REFUSING_STATUSES:
            return True
        progress = self._work.progress or CollectionProgress()
        self._work.progress = progress.stopping_details()
        return False
