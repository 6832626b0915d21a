"""The work queue: cycles, seen rows, slices, runs, host limits and key quotas."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import create_index, create_table

revision = "0002"
down_revision = "0001"
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
        "collection_host_claims",
        sa.Column(
            "host",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=255),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("host"),
        **TABLE_OPTIONS,
    )
    create_table(
        "collection_slices",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("cycle_id", sa.BigInteger(), nullable=False),
        sa.Column("job_source_id", sa.BigInteger(), nullable=False),
        sa.Column("run_date", sa.Date(), nullable=False),
        sa.Column(
            "lease_token",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=36),
            nullable=False,
        ),
        sa.Column(
            "dagster_run_id",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64),
            nullable=True,
        ),
        sa.Column("worker", sa.String(length=200), nullable=False),
        sa.Column(
            "request_host",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=255),
            nullable=True,
        ),
        sa.Column(
            "outcome",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column(
            "reason",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=True,
        ),
        sa.Column("list_page_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("fetched_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("new_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("updated_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "detail_request_count", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "detail_failure_count", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("rate_limited_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("seconds", mysql.DOUBLE(asdecimal=False), server_default="0", nullable=False),
        sa.Column(
            "seconds_waited", mysql.DOUBLE(asdecimal=False), server_default="0", nullable=False
        ),
        sa.Column("least_interval_ms", mysql.DOUBLE(asdecimal=False), nullable=True),
        sa.Column("created_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("lease_token", name=op.f("uq_collection_slices_lease_token")),
        **TABLE_OPTIONS,
    )
    create_index(
        "ix_collection_slices_created_at", "collection_slices", ["created_at"], unique=False
    )
    create_index("ix_collection_slices_cycle_id", "collection_slices", ["cycle_id"], unique=False)
    create_table(
        "external_request_host_limits",
        sa.Column(
            "host",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=255),
            nullable=False,
        ),
        sa.Column("next_allowed_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.Column("updated_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("host"),
        **TABLE_OPTIONS,
    )
    create_table(
        "job_posting_collection_cycles",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("job_source_id", sa.BigInteger(), nullable=False),
        sa.Column("run_date", sa.Date(), nullable=False),
        sa.Column(
            "cycle_status",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column(
            "continuation_cursor", sa.String(length=1024, collation="utf8mb4_bin"), nullable=True
        ),
        sa.Column(
            "lease_token",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=36),
            nullable=True,
        ),
        sa.Column("lease_until", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("lease_owner", sa.String(length=200), nullable=True),
        sa.Column("next_eligible_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column(
            "request_host",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=255),
            nullable=True,
        ),
        sa.Column("attempt_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("list_page_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("fetched_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("new_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("updated_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("missed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("closed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "detail_request_count", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "detail_failure_count", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "is_complete",
            mysql.TINYINT(display_width=1),
            server_default=sa.text("0"),
            nullable=False,
        ),
        sa.Column("stated_total", sa.Integer(), nullable=True),
        sa.Column("progress", mysql.MEDIUMTEXT(collation="utf8mb4_bin"), nullable=True),
        sa.Column(
            "budget_exhausted_reason",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=True,
        ),
        sa.Column(
            "failure_reason",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=True,
        ),
        sa.Column("failure_detail", sa.String(length=300), nullable=True),
        sa.Column("started_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("finished_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column(
            "created_at",
            mysql.DATETIME(fsp=6),
            server_default=sa.text("CURRENT_TIMESTAMP(6)"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            mysql.DATETIME(fsp=6),
            server_default=sa.text("CURRENT_TIMESTAMP(6)"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job_source_id", "run_date", name="uq_cycles_source_date"),
        **TABLE_OPTIONS,
    )
    create_index(
        "ix_cycles_ready",
        "job_posting_collection_cycles",
        ["cycle_status", "run_date", "next_eligible_at", "id"],
        unique=False,
    )
    create_index(
        "ix_cycles_ready_host",
        "job_posting_collection_cycles",
        ["cycle_status", "run_date", "request_host", "next_eligible_at", "id"],
        unique=False,
    )
    create_index(
        "ix_cycles_recovery",
        "job_posting_collection_cycles",
        ["cycle_status", "lease_until"],
        unique=False,
    )
    create_table(
        "job_posting_collection_runs",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("job_source_id", sa.BigInteger(), nullable=False),
        sa.Column("run_date", sa.Date(), nullable=False),
        sa.Column(
            "run_status",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column("fetched_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("new_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("updated_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("missed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("closed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "detail_failure_count", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("failure_reason", sa.String(length=300), nullable=True),
        sa.Column("started_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("finished_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column(
            "created_at",
            mysql.DATETIME(fsp=6),
            server_default=sa.text("CURRENT_TIMESTAMP(6)"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job_source_id", "run_date", name="uq_runs_source_date"),
        **TABLE_OPTIONS,
    )
    create_index("ix_runs_run_date", "job_posting_collection_runs", ["run_date"], unique=False)
    create_table(
        "job_posting_collection_seen_postings",
        sa.Column("cycle_id", sa.BigInteger(), nullable=False),
        sa.Column("source_job_id", sa.String(length=191, collation="utf8mb4_bin"), nullable=False),
        sa.Column("list_position", sa.Integer(), nullable=False),
        sa.Column(
            "detail_tried",
            mysql.TINYINT(display_width=1),
            server_default=sa.text("0"),
            nullable=False,
        ),
        sa.Column("created_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("cycle_id", "source_job_id"),
        **TABLE_OPTIONS,
    )
    create_table(
        "platform_key_quotas",
        sa.Column(
            "key_fingerprint",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64),
            nullable=False,
        ),
        sa.Column("quota_date", sa.Date(), nullable=False),
        sa.Column(
            "platform",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column("used_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("updated_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("key_fingerprint", "quota_date"),
        **TABLE_OPTIONS,
    )
