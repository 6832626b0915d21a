"""The 09:00 capture's attempts, why a source was late, and indexes for reading by day."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import add_column, create_index, create_table

revision = "0005"
down_revision = "0004"
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
ATTEMPTS = "job_posting_collection_sla_capture_attempts"
ITEMS = "job_posting_collection_sla_snapshot_items"
CYCLES = "job_posting_collection_cycles"
RUNS = "job_posting_collection_runs"
WORD = mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20)
RUN_ID = mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64)


def upgrade() -> None:
    """Expand the schema; never shrink it, never touch rows (R34)."""
    create_table(
        ATTEMPTS,
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("snapshot_date", sa.Date(), nullable=False),
        sa.Column("worker", sa.String(length=200), nullable=False),
        sa.Column("dagster_run_id", RUN_ID, nullable=True),
        sa.Column("began_at", mysql.DATETIME(fsp=6), nullable=False),
        sa.Column("asked_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("ended_at", mysql.DATETIME(fsp=6), nullable=True),
        sa.Column("outcome", WORD, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **TABLE_OPTIONS,
    )
    create_index("ix_sla_capture_attempts_snapshot_date", ATTEMPTS, ["snapshot_date"], unique=False)
    for name in ("platform", "source_type", "reason"):
        add_column(ITEMS, sa.Column(name, WORD, nullable=True))
    add_column("job_source_health", sa.Column("broken_notified_since", sa.Date(), nullable=True))
    create_index("ix_cycles_date_source", CYCLES, ["run_date", "job_source_id"], unique=False)
    create_index(
        "ix_cycles_status_date_source",
        CYCLES,
        ["cycle_status", "run_date", "job_source_id"],
        unique=False,
    )
    create_index("ix_runs_date_source", RUNS, ["run_date", "job_source_id"], unique=False)
