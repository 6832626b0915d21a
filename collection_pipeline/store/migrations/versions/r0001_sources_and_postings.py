"""Sources, companies, flags, health and postings."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import create_index, create_table

revision = "0001"
down_revision = None
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
        "companies",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column(
            "normalised_name", sa.String(length=255, collation="utf8mb4_bin"), nullable=False
        ),
        sa.Column("display_name", sa.String(length=255), nullable=False),
        sa.Column(
            "created_at",
            mysql.DATETIME(fsp=6),
            server_default=sa.text("CURRENT_TIMESTAMP(6)"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("normalised_name", name=op.f("uq_companies_normalised_name")),
        **TABLE_OPTIONS,
    )
    create_table(
        "company_aliases",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("company_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "normalised_name", sa.String(length=255, collation="utf8mb4_bin"), nullable=False
        ),
        sa.Column(
            "created_at",
            mysql.DATETIME(fsp=6),
            server_default=sa.text("CURRENT_TIMESTAMP(6)"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("normalised_name", name=op.f("uq_company_aliases_normalised_name")),
        **TABLE_OPTIONS,
    )
    create_index("ix_company_aliases_company_id", "company_aliases", ["company_id"], unique=False)
    create_table(
        "feature_flag_changes",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column(
            "name",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=100),
            nullable=False,
        ),
        sa.Column(
            "enabled", mysql.TINYINT(display_width=1), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("changed_by", sa.String(length=100), nullable=False),
        sa.Column("changed_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE_OPTIONS,
    )
    create_index(
        "ix_feature_flag_changes_name_changed_at",
        "feature_flag_changes",
        ["name", "changed_at"],
        unique=False,
    )
    create_table(
        "feature_flags",
        sa.Column(
            "name",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=100),
            nullable=False,
        ),
        sa.Column(
            "enabled", mysql.TINYINT(display_width=1), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("changed_by", sa.String(length=100), nullable=False),
        sa.Column("changed_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        **TABLE_OPTIONS,
    )
    create_table(
        "job_postings",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("job_source_id", sa.BigInteger(), nullable=False),
        sa.Column("source_job_id", sa.String(length=191, collation="utf8mb4_bin"), nullable=False),
        sa.Column("company_id", sa.BigInteger(), nullable=True),
        sa.Column("title", sa.String(length=500), nullable=False),
        sa.Column("company_name", sa.String(length=255), nullable=True),
        sa.Column("location_raw", sa.String(length=500), nullable=True),
        sa.Column("region", sa.String(length=100), nullable=True),
        sa.Column("career_from", sa.SmallInteger(), nullable=True),
        sa.Column("career_to", sa.SmallInteger(), nullable=True),
        sa.Column("employment_type", sa.String(length=100), nullable=True),
        sa.Column(
            "remote",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=True,
        ),
        sa.Column("salary", sa.String(length=255), nullable=True),
        sa.Column("skills", sa.Text(collation="utf8mb4_bin"), nullable=True),
        sa.Column("categories", sa.Text(collation="utf8mb4_bin"), nullable=True),
        sa.Column("url", sa.String(length=2000), nullable=True),
        sa.Column("language", sa.String(length=20), nullable=True),
        sa.Column("description", mysql.MEDIUMTEXT(collation="utf8mb4_bin"), nullable=True),
        sa.Column("published_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("opened_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("deadline_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column(
            "deadline_kind",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            server_default="UNKNOWN",
            nullable=False,
        ),
        sa.Column(
            "list_signature",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64),
            nullable=False,
        ),
        sa.Column(
            "detail_state",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column(
            "status",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            server_default="OPEN",
            nullable=False,
        ),
        sa.Column(
            "status_reason",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=40),
            nullable=True,
        ),
        sa.Column("missed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("first_seen_run_date", sa.Date(), nullable=False),
        sa.Column("last_seen_run_date", sa.Date(), nullable=False),
        sa.Column("closed_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("raw_list", mysql.MEDIUMTEXT(collation="utf8mb4_bin"), nullable=True),
        sa.Column("raw_detail", mysql.MEDIUMTEXT(collation="utf8mb4_bin"), nullable=True),
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
        sa.UniqueConstraint("job_source_id", "source_job_id", name="uq_job_postings_source_job"),
        **TABLE_OPTIONS,
    )
    create_index("ix_job_postings_company_id", "job_postings", ["company_id"], unique=False)
    create_index(
        "ix_job_postings_sighting",
        "job_postings",
        ["job_source_id", "status", "last_seen_run_date"],
        unique=False,
    )
    create_table(
        "job_source_health",
        sa.Column("job_source_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("abnormal_days", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("judged_date", sa.Date(), nullable=True),
        sa.Column("broken_since", sa.Date(), nullable=True),
        sa.Column(
            "updated_at",
            mysql.DATETIME(fsp=6),
            server_default=sa.text("CURRENT_TIMESTAMP(6)"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("job_source_id"),
        **TABLE_OPTIONS,
    )
    create_table(
        "job_sources",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column(
            "platform",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column(
            "source_type",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("search_condition", sa.Text(collation="utf8mb4_bin"), nullable=False),
        sa.Column("company_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "active", mysql.TINYINT(display_width=1), server_default=sa.text("1"), nullable=False
        ),
        sa.Column(
            "detail_mode",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            server_default="required",
            nullable=False,
        ),
        sa.Column("daily_list_pages", sa.Integer(), nullable=True),
        sa.Column("daily_postings", sa.Integer(), nullable=True),
        sa.Column("daily_detail_requests", sa.Integer(), nullable=True),
        sa.Column("min_delay_ms", sa.Integer(), nullable=True),
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
        **TABLE_OPTIONS,
    )
    create_table(
        "platform_drift_counts",
        sa.Column("job_source_id", sa.BigInteger(), nullable=False),
        sa.Column("run_date", sa.Date(), nullable=False),
        sa.Column(
            "field",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=60),
            nullable=False,
        ),
        sa.Column("row_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("job_source_id", "run_date", "field"),
        **TABLE_OPTIONS,
    )
