"""The answers of the operations API as they are sent: camelCase, instants with +09:00 (section 9).

They are the OpenAPI document's schemas too, so every field says what it means.
"""

from datetime import date, datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import MAX_UTC_FOR_KST, kst_text
from collection_pipeline.domain.snapshot import SnapshotItem
from collection_pipeline.store.views.collection_run import CollectionRun, CycleState
from collection_pipeline.store.views.snapshot_view import SnapshotView

Instant = Annotated[
    str,
    Field(
        json_schema_extra={"format": "date-time"},
        description="ISO 8601 with +09:00.",
        examples=["2026-12-02T09:00:00+09:00"],
    ),
]


class Answer(BaseModel):
    """Base of what is sent."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="forbid")


class CollectionRunItem(Answer):
    """A job source on a run date. The fields after `finishedAt` are null for history older than
    cycles."""

    id: int | None = Field(description="Of the history row; null until the cycle has ended.")
    job_source_id: int
    source_label: str | None = Field(description="Null where the source is gone.")
    platform: str | None
    source_type: str | None = Field(description="COMPANY_BOUND or AGGREGATOR.")
    run_date: date = Field(description="The calendar day in Asia/Seoul.")
    run_status: Literal["SUCCESS", "FAILED"] | None = Field(
        description="SUCCESS also for BUDGET_EXHAUSTED, a protective end; null while in progress."
    )
    fetched_count: int
    new_count: int
    updated_count: int
    missed_count: int
    closed_count: int
    detail_failure_count: int
    failure_reason: str | None
    started_at: Instant | None
    finished_at: Instant | None
    cycle_status: CycleStatus | None
    is_complete: bool | None
    list_page_count: int | None
    detail_request_count: int | None
    attempt_count: int | None = Field(description="Slices that sent a request.")
    next_eligible_at: Instant | None
    lease_until: Instant | None
    budget_exhausted: bool | None
    continuation_pending: bool | None = Field(
        description="PENDING on today's run date, to go on from a cursor."
    )
    abnormal: bool | None
    close_guarded: bool | None = Field(
        description="The cycle closes no posting: to be shown as it is, not inferred."
    )

    @classmethod
    def of(cls, run: CollectionRun) -> Self:
        """The item that shows ``run``."""
        return cls.model_validate(
            {
                "id": run.run_id,
                "job_source_id": run.key.job_source_id,
                "source_label": run.source_label,
                "platform": run.platform,
                "source_type": run.source_type,
                "run_date": run.key.run_date,
                "run_status": run.run_status,
                "fetched_count": run.fetched_count,
                "new_count": run.new_count,
                "updated_count": run.updated_count,
                "missed_count": run.missed_count,
                "closed_count": run.closed_count,
                "detail_failure_count": run.detail_failure_count,
                "failure_reason": run.failure_reason,
                "started_at": _shown(run.started_at),
                "finished_at": _shown(run.finished_at),
                **_added_fields(run.cycle),
            }
        )


class CurrentCycles(BaseModel):
    """Today's cycles by status."""

    NOT_STARTED: int
    PENDING: int
    RUNNING: int
    SUCCESS: int
    FAILED: int
    BUDGET_EXHAUSTED: int
    total: int

    @classmethod
    def of(cls, counts: dict[CycleStatus, int]) -> Self:
        """Every status, and their sum."""
        by_name = {status.value: counts[status] for status in CycleStatus}
        return cls(**by_name, total=sum(by_name.values()))


class SlaSnapshotItem(Answer):
    """A source at the cutoff; it never changes."""

    job_source_id: int
    source_label: str
    cycle_status: CycleStatus
    is_complete: bool
    fetched_count: int
    abnormal: bool
    close_guarded: bool

    @classmethod
    def of(cls, item: SnapshotItem) -> Self:
        """The captured values, none of them judged again."""
        return cls(
            job_source_id=item.job_source_id,
            source_label=item.source_label,
            cycle_status=item.cycle_status,
            is_complete=item.is_complete,
            fetched_count=item.fetched_count,
            abnormal=item.abnormal,
            close_guarded=item.close_guarded,
        )


class SlaSnapshot(Answer):
    """The 09:00 snapshot of `snapshotDate`."""

    snapshot_date: date
    scheduled_at: Instant
    capture_status: Literal["PENDING", "CAPTURED", "MISSED", "NOT_APPLICABLE", "UNAVAILABLE"]
    captured_at: Instant | None
    miss_reason: str | None
    late_before_notification_count: int | None = Field(
        description="CAPTURED: items that had not ended SUCCESS. PENDING: 0. Otherwise null."
    )
    items: list[SlaSnapshotItem] | None = Field(
        default=None,
        description="All of them: never cut. Absent while PENDING; null unless CAPTURED.",
    )

    @classmethod
    def of(cls, view: SnapshotView) -> Self:
        """Without the key ``items`` while PENDING."""
        shown = cls(
            snapshot_date=view.snapshot_date,
            scheduled_at=kst_text(view.scheduled_at) or "",
            capture_status=view.status.value,
            captured_at=_shown(view.captured_at),
            miss_reason=view.miss_reason,
            late_before_notification_count=view.late_count,
        )
        if not view.is_pending:
            items = view.items
            shown.items = None if items is None else [SlaSnapshotItem.of(one) for one in items]
        return shown


class CollectionRuns(Answer):
    """One page of the history, and where today stands."""

    items: list[CollectionRunItem] = Field(
        description="Newest run date first, then jobSourceId ascending."
    )
    next_after: str | None = Field(
        description="Ask again with `after` set to this; null on the last page. A page that had to "
        "pass many rows may hold fewer items than `limit`, even none, and still name a next one."
    )
    current_cycles: CurrentCycles
    sla_snapshot: SlaSnapshot


def _added_fields(cycle: CycleState | None) -> dict[str, object]:
    if cycle is None:
        return dict.fromkeys(
            (
                "cycle_status",
                "is_complete",
                "list_page_count",
                "detail_request_count",
                "attempt_count",
                "next_eligible_at",
                "lease_until",
                "budget_exhausted",
                "continuation_pending",
                "abnormal",
                "close_guarded",
            )
        )
    return {
        "cycle_status": cycle.status,
        "is_complete": cycle.is_complete,
        "list_page_count": cycle.list_page_count,
        "detail_request_count": cycle.detail_request_count,
        "attempt_count": cycle.attempt_count,
        "next_eligible_at": _shown(cycle.next_eligible_at),
        "lease_until": _shown(cycle.lease_until),
        "budget_exhausted": cycle.status is CycleStatus.BUDGET_EXHAUSTED,
        "continuation_pending": cycle.continuation_pending,
        "abnormal": cycle.abnormal,
        "close_guarded": cycle.close_guarded,
    }


def _shown(instant: datetime | None) -> str | None:
    """An older system may have written "never" as the last moment that the column holds."""
    return None if instant is None else kst_text(min(instant, MAX_UTC_FOR_KST))
