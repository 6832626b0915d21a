"""The public library register and its ingest runs."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import create_index, create_table

revision = "0004"
down_revision = "0003"
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
        "ingest_runs",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column(
            "source",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=40),
            nullable=False,
        ),
        sa.Column(
            "trigger_kind",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=40),
            nullable=False,
        ),
        sa.Column(
            "run_status",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20),
            nullable=False,
        ),
        sa.Column("reason", sa.String(length=300), nullable=True),
        sa.Column(
            "dagster_run_id",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64),
            nullable=True,
        ),
        sa.Column("fetched_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("upserted_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("changed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("reactivated_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("deactivated_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("unkeyable_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("unparsed_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("started_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.Column("finished_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **TABLE_OPTIONS,
    )
    create_index(
        "ix_ingest_runs_source_started_at", "ingest_runs", ["source", "started_at"], unique=False
    )
    create_table(
        "public_libraries",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("provider_code", sa.String(length=20, collation="utf8mb4_bin"), nullable=False),
        sa.Column("library_name", sa.String(length=255, collation="utf8mb4_bin"), nullable=False),
        sa.Column("province", sa.String(length=50), nullable=True),
        sa.Column("district", sa.String(length=100), nullable=True),
        sa.Column("library_type", sa.String(length=50), nullable=True),
        sa.Column("closed_days", sa.String(length=500), nullable=True),
        sa.Column("weekday_opens_at", sa.Time(), nullable=True),
        sa.Column("weekday_closes_at", sa.Time(), nullable=True),
        sa.Column("saturday_opens_at", sa.Time(), nullable=True),
        sa.Column("saturday_closes_at", sa.Time(), nullable=True),
        sa.Column("holiday_opens_at", sa.Time(), nullable=True),
        sa.Column("holiday_closes_at", sa.Time(), nullable=True),
        sa.Column("seat_count", sa.Integer(), nullable=True),
        sa.Column("book_count", sa.Integer(), nullable=True),
        sa.Column("serial_count", sa.Integer(), nullable=True),
        sa.Column("non_book_count", sa.Integer(), nullable=True),
        sa.Column("loan_limit", sa.Integer(), nullable=True),
        sa.Column("loan_days", sa.Integer(), nullable=True),
        sa.Column("road_address", sa.String(length=500), nullable=True),
        sa.Column("operator_name", sa.String(length=255), nullable=True),
        sa.Column("phone_number", sa.String(length=50), nullable=True),
        sa.Column("plot_area_m2", sa.Numeric(precision=14, scale=2), nullable=True),
        sa.Column("building_area_m2", sa.Numeric(precision=14, scale=2), nullable=True),
        sa.Column("homepage_url", sa.String(length=500), nullable=True),
        sa.Column("latitude", sa.Numeric(precision=10, scale=7), nullable=True),
        sa.Column("longitude", sa.Numeric(precision=10, scale=7), nullable=True),
        sa.Column("reference_date", sa.Date(), nullable=True),
        sa.Column("provider_name", sa.String(length=255), nullable=True),
        sa.Column(
            "active", mysql.TINYINT(display_width=1), server_default=sa.text("1"), nullable=False
        ),
        sa.Column(
            "row_hash",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64),
            nullable=False,
        ),
        sa.Column("raw_row", mysql.MEDIUMTEXT(collation="utf8mb4_bin"), nullable=True),
        sa.Column("unparsed_fields", sa.Text(collation="utf8mb4_bin"), nullable=True),
        sa.Column("first_seen_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.Column("deactivated_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("updated_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("provider_code", "library_name", name="uq_public_libraries_key"),
        **TABLE_OPTIONS,
    )
    create_index("ix_public_libraries_active", "public_libraries", ["active"], unique=False)
    create_table(
        "public_library_changes",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("library_id", sa.BigInteger(), nullable=False),
        sa.Column("ingest_run_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "field",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=60),
            nullable=False,
        ),
        sa.Column("old_value", sa.Text(collation="utf8mb4_bin"), nullable=True),
        sa.Column("new_value", sa.Text(collation="utf8mb4_bin"), nullable=True),
        sa.Column("changed_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE_OPTIONS,
    )
    create_index(
        "ix_public_library_changes_ingest_run_id",
        "public_library_changes",
        ["ingest_run_id"],
        unique=False,
    )
    create_index(
        "ix_public_library_changes_library_id",
        "public_library_changes",
        ["library_id"],
        unique=False,
    )
    create_table(
        "public_library_sightings",
        sa.Column("library_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ingest_run_id", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.PrimaryKeyConstraint("library_id"),
        **TABLE_OPTIONS,
    )
    create_index(
        "ix_public_library_sightings_ingest_run_id",
        "public_library_sightings",
        ["ingest_run_id"],
        unique=False,
    )
