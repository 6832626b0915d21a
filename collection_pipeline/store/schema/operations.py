"""Heartbeats, the 09:00 snapshot, notifications and the simulated clock (R15, R35 to R40)."""

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
)

from collection_pipeline.store.schema.columns import (
    TABLE_OPTIONS,
    ascii_text,
    big_id,
    counter,
    instant,
    long_text,
    metadata,
    real_number,
    switch,
)

collection_ticks = Table(
    "collection_ticks",
    metadata,
    big_id(),
    Column("tick_id", ascii_text(36), nullable=False, unique=True),
    Column("worker", String(200), nullable=False),
    Column("dagster_run_id", ascii_text(64)),
    instant("started_at", nullable=False),
    instant("finished_at"),
    counter("recovered_count"),
    counter("prepared_count"),
    counter("claimed_count"),
    counter("slice_count"),
    counter("lost_count"),
    real_number("seconds"),
    Column("error", String(300)),
    Index("ix_collection_ticks_started_at", "started_at"),
    **TABLE_OPTIONS,
)

sla_snapshots = Table(
    "job_posting_collection_sla_snapshots",
    metadata,
    big_id(),
    Column("snapshot_date", Date, nullable=False, unique=True),
    instant("scheduled_at", nullable=False),
    Column("capture_status", ascii_text(20), nullable=False),
    instant("captured_at"),
    Column("miss_reason", String(300)),
    instant("created_at", nullable=False),
    **TABLE_OPTIONS,
)

sla_snapshot_items = Table(
    "job_posting_collection_sla_snapshot_items",
    metadata,
    Column("snapshot_id", BigInteger, nullable=False),
    Column("job_source_id", BigInteger, nullable=False),
    Column("source_label", String(200), nullable=False),
    Column("cycle_status", ascii_text(20), nullable=False),
    switch("is_complete"),
    counter("fetched_count"),
    counter("list_page_count"),
    counter("detail_request_count"),
    switch("abnormal"),
    switch("close_guarded"),
    Column("platform", ascii_text(20)),
    Column("source_type", ascii_text(20)),
    Column("reason", ascii_text(20)),
    PrimaryKeyConstraint("snapshot_id", "job_source_id"),
    **TABLE_OPTIONS,
)

sla_capture_attempts = Table(
    "job_posting_collection_sla_capture_attempts",
    metadata,
    big_id(),
    Column("snapshot_date", Date, nullable=False),
    Column("worker", String(200), nullable=False),
    Column("dagster_run_id", ascii_text(64)),
    instant("began_at", nullable=False),
    instant("asked_at"),
    instant("ended_at"),
    Column("outcome", ascii_text(20)),
    Index("ix_sla_capture_attempts_snapshot_date", "snapshot_date"),
    **TABLE_OPTIONS,
)

notification_outbox = Table(
    "notification_outbox",
    metadata,
    big_id(),
    Column("notification_date", Date, nullable=False),
    Column("kind", ascii_text(40), nullable=False),
    Column("idempotency_key", ascii_text(100), nullable=False, unique=True),
    long_text("payload"),
    Column("state", ascii_text(20), nullable=False, server_default="WAITING"),
    counter("attempt_count"),
    instant("next_attempt_at"),
    instant("delivered_at"),
    Column("last_error", String(300)),
    instant("created_at", nullable=False),
    UniqueConstraint("notification_date", "kind", name="uq_outbox_date_kind"),
    Index("ix_notification_outbox_state_next_attempt_at", "state", "next_attempt_at"),
    **TABLE_OPTIONS,
)

table_sizes = Table(
    "collection_table_sizes",
    metadata,
    Column("measured_date", Date, nullable=False),
    Column("table_name", ascii_text(64), nullable=False),
    Column("data_bytes", BigInteger, nullable=False),
    PrimaryKeyConstraint("measured_date", "table_name"),
    **TABLE_OPTIONS,
)

simulation_clock = Table(
    "simulation_clock",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("offset_microseconds", BigInteger, nullable=False),
    instant("changed_at", nullable=False),
    **TABLE_OPTIONS,
)
