"""Ticks, the 09:00 snapshot, the outbox and the simulated clock."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import create_index, create_table

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLE_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (
        ("engine", "InnoDB"),
        ("charset", "utf8mb4"),
        ("collate", "utf8mb4_bin"),
        ("row_format", "DYNAMIC"),
    )
}


def upgrade() -> None:
    """Expand the schema; never shrink it, never touch rows (R34)."""
    create_table(
        "collection_ticks",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column(
            "tick_id",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=36),
            nullable=False,
        ),
        sa.Column("worker", sa.String(length=200), nullable=False),
        sa.Column(
            "dagster_run_id",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64),
            nullable=True,
        ),
        sa.Column("started_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.Column("finished_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("recovered_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("prepared_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("claimed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("slice_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lost_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("seconds", mysql.DOUBLE(asdecimal=False), nullable=True),
        sa.Column("error", sa.String(length=300), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tick_id", name=op.f("uq_collection_ticks_tick_id")),
        **TABLE_OPTIONS,
    )
    create_index("ix_collection_ticks_started_at", "collection_ticks", ["started_at"], unique=False)
    create_table(
        "job_posting_collection_sla_snapshot_items",
        sa.Column("snapshot_id", sa.BigInteger(), nullable=False),
        sa.Column("job_source_id", sa.BigInteger(), nullable=False),
        sa.Column("source_label", sa.String(length=200), nullable=False),
        sa.Column(
            "cycle_status",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column(
            "is_complete",
            mysql.TINYINT(display_width=1),
            server_default=sa.text("0"),
            nullable=False,
        ),
        sa.Column("fetched_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("list_page_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "detail_request_count", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "abnormal", mysql.TINYINT(display_width=1), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "close_guarded",
            mysql.TINYINT(display_width=1),
            server_default=sa.text("0"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("snapshot_id", "job_source_id"),
        **TABLE_OPTIONS,
    )
    create_table(
        "job_posting_collection_sla_snapshots",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("snapshot_date", sa.Date(), nullable=False),
        sa.Column("scheduled_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.Column(
            "capture_status",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column("captured_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("miss_reason", sa.String(length=300), nullable=True),
        sa.Column("created_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(
            "snapshot_date", name=op.f("uq_job_posting_collection_sla_snapshots_snapshot_date")
        ),
        **TABLE_OPTIONS,
    )
    create_table(
        "notification_outbox",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("notification_date", sa.Date(), nullable=False),
        sa.Column(
            "kind", mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=40), nullable=False
        ),
        sa.Column(
            "idempotency_key",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=100),
            nullable=False,
        ),
        sa.Column("payload", mysql.MEDIUMTEXT(collation="utf8mb4_bin"), nullable=True),
        sa.Column(
            "state",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            server_default="WAITING",
            nullable=False,
        ),
        sa.Column("attempt_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_attempt_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("delivered_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("last_error", sa.String(length=300), nullable=True),
        sa.Column("created_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_notification_outbox_idempotency_key")),
        sa.UniqueConstraint("notification_date", "kind", name="uq_outbox_date_kind"),
        **TABLE_OPTIONS,
    )
    create_index(
        "ix_notification_outbox_state_next_attempt_at",
        "notification_outbox",
        ["state", "next_attempt_at"],
        unique=False,
    )
    create_table(
        "simulation_clock",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("offset_microseconds", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE_OPTIONS,
    )
