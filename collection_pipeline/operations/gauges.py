"""The gauges of ``/metrics``, each read from the queue at the moment of the scrape.

Names end in their unit; what counts "today" means the KST day, so it falls to 0 at midnight there.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from sqlalchemy import Connection

from collection_pipeline.domain.failure import CollectionBudgetLimit
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.settings import Settings
from collection_pipeline.store.views import measures
from collection_pipeline.store.views.collection_runs import cycle_counts
from collection_pipeline.store.views.snapshot_view import snapshot_view


@dataclass(frozen=True)
class Reading:
    """What a gauge is read from; ``now`` is naive UTC. ``seen_rows_overdue``: see R31."""

    connection: Connection
    now: datetime
    settings: Settings
    platforms: Collection[str]
    seen_rows_overdue: Callable[[Connection], int]

    @property
    def today(self) -> date:
        """The KST day."""
        return run_date_of(self.now)

    @property
    def midnight(self) -> datetime:
        """Where today began, naive UTC."""
        return utc_of_kst(self.today)

    def seconds_since(self, instant: datetime | None) -> float:
        """The age of ``instant``; 0 for none and for the future."""
        return 0.0 if instant is None else max(0.0, (self.now - instant).total_seconds())


def gauges(reading: Reading) -> list[Metric]:
    """Every gauge but ``collection_database_up``."""
    return [family for group in _GROUPS for family in group(reading)]


def database_up(value: int) -> Metric:
    """Whether the scrape could read the queue."""
    return _gauge(
        "collection_database_up",
        "1 when the queue's database answered the scrape in time, else 0 and nothing else is shown",
        value,
    )


def _gauge(name: str, described: str, value: float) -> Metric:
    return GaugeMetricFamily(name, described, value=value)


def _labelled(
    name: str,
    described: str,
    labels: Sequence[str],
    values: Iterable[tuple[Sequence[str], float]],
) -> Metric:
    family = GaugeMetricFamily(name, described, labels=labels)
    for words, value in values:
        family.add_metric(words, value)
    return family


def _waiting(reading: Reading) -> list[Metric]:
    due = measures.oldest_due_since(reading.connection, reading.now, reading.platforms)
    lease_end = measures.earliest_lease_end(reading.connection)
    lease = timedelta(seconds=reading.settings["LEASE_SECONDS"])
    return [
        _gauge(
            "collection_oldest_due_age_seconds",
            "How long the longest waiting claimable cycle has been due; 0 when none is",
            reading.seconds_since(due),
        ),
        _gauge(
            "collection_oldest_lease_age_seconds",
            "How long ago the oldest lease was granted or renewed, by the configured lease time; "
            "0 when no cycle is RUNNING. More than COLLECTION_LEASE_SECONDS: it has expired",
            reading.seconds_since(None if lease_end is None else lease_end - lease),
        ),
    ]


def _cycles(reading: Reading) -> list[Metric]:
    counted = cycle_counts(reading.connection, reading.today)
    return [
        _labelled(
            "collection_cycles",
            "Cycles of today by status",
            ["status"],
            [([status.value], count) for status, count in counted.items()],
        )
    ]


def _ticks(reading: Reading) -> list[Metric]:
    rejected = _gauge(
        "collection_fence_rejections_today",
        "Slices of today whose result was refused because their lease was gone",
        measures.fence_rejections(reading.connection, reading.midnight),
    )
    last = measures.last_tick_at(reading.connection)
    if last is None:
        return [rejected]
    age = _gauge(
        "collection_last_tick_age_seconds",
        "How long ago the newest tick began; an idle queue starts none, so see /healthz for alarms",
        reading.seconds_since(last),
    )
    return [rejected, age]


def _hosts(reading: Reading) -> list[Metric]:
    waits = measures.waits_by_host(reading.connection, reading.midnight)
    return [
        _labelled(
            "collection_throttle_wait_seconds_today",
            "Seconds that slices stored today waited for their turn at a host",
            ["host"],
            [([host], one.seconds_waited) for host, one in waits.items()],
        ),
        _labelled(
            "collection_rate_limited_today",
            "Answers 429 of a host to slices stored today",
            ["host"],
            [([host], one.rate_limited) for host, one in waits.items()],
        ),
    ]


def _snapshot(reading: Reading) -> list[Metric]:
    view = snapshot_view(
        reading.connection,
        reading.today,
        reading.now,
        reading.settings.sla_cutoff,
        with_items=False,
    )
    state = _labelled(
        "collection_sla_snapshot",
        "1 for the state of today's 09:00 snapshot, 0 for the others",
        ["state"],
        [([status.value], int(status is view.status)) for status in CaptureStatus],
    )
    if view.late_count is None:
        return [state]
    late = _gauge(
        "collection_sla_snapshot_late_sources",
        "Sources that had not ended SUCCESS at today's cutoff; 0 before it, absent if not captured",
        view.late_count,
    )
    return [state, late]


def _budgets(reading: Reading) -> list[Metric]:
    greatest: dict[tuple[str, str], float] = {}
    for used in measures.most_used(reading.connection, reading.today):
        budget = reading.settings.daily_budget(used.platform)
        for limit, spent, own, general in (
            (
                CollectionBudgetLimit.LIST_PAGES,
                used.list_pages,
                used.daily_list_pages,
                budget.list_pages,
            ),
            (CollectionBudgetLimit.POSTINGS, used.postings, used.daily_postings, budget.postings),
            (
                CollectionBudgetLimit.DETAIL_REQUESTS,
                used.detail_requests,
                used.daily_detail_requests,
                budget.detail_requests,
            ),
        ):
            allowed = general if own is None else own
            key = (used.platform, limit.value)
            ratio = spent / allowed if allowed > 0 else 0.0
            greatest[key] = max(greatest.get(key, 0.0), ratio)
    return [
        _labelled(
            "collection_budget_used_ratio",
            "The greatest share of a daily limit that one cycle of today has used, by platform",
            ["platform", "limit"],
            [([platform, limit], ratio) for (platform, limit), ratio in sorted(greatest.items())],
        )
    ]


def _notifications(reading: Reading) -> list[Metric]:
    counts = measures.outbox_counts(reading.connection)
    return [
        _gauge(
            "collection_notifications_waiting",
            "Notifications that are not delivered yet",
            counts.waiting,
        ),
        _gauge(
            "collection_notifications_expired",
            "Notifications that were never delivered and are not tried any more",
            counts.expired,
        ),
        _gauge(
            "collection_oldest_notification_age_seconds",
            "How long ago the oldest notification that is not delivered yet was written; 0: none",
            reading.seconds_since(counts.oldest_waiting),
        ),
    ]


def _postings(reading: Reading) -> list[Metric]:
    days = timedelta(days=reading.settings["UNCONFIRMED_AFTER_DAYS"])
    found = measures.unconfirmed_postings(reading.connection, reading.today - days)
    return [
        _labelled(
            "collection_unconfirmed_open_postings",
            "Open postings that no cycle has confirmed for COLLECTION_UNCONFIRMED_AFTER_DAYS, "
            f"of the {measures.MOST_UNCONFIRMED_SOURCES} sources that have most",
            ["job_source_id"],
            [([str(one.job_source_id)], one.unconfirmed) for one in found],
        ),
        _labelled(
            "collection_unconfirmed_open_postings_ratio",
            "Their share of the source's open postings",
            ["job_source_id"],
            [([str(one.job_source_id)], one.unconfirmed / one.open) for one in found],
        ),
    ]


def _health(reading: Reading) -> list[Metric]:
    return [
        _gauge(
            "collection_broken_sources",
            "Active sources whose collection was abnormal for COLLECTION_SOURCE_BROKEN_AFTER_DAYS",
            measures.broken_sources(reading.connection),
        ),
        _gauge(
            "collection_seen_rows_older_than_48_hours",
            "Seen rows that the newest cleanup should have deleted and did not; alert when not 0",
            reading.seen_rows_overdue(reading.connection),
        ),
    ]


_GROUPS: tuple[Callable[[Reading], list[Metric]], ...] = (
    _waiting,
    _cycles,
    _ticks,
    _hosts,
    _snapshot,
    _budgets,
    _notifications,
    _postings,
    _health,
)
