"""When a closed posting's raw body was trimmed, and indexes by which old rows are found."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import add_column, create_index

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand the schema; never shrink it, never touch rows (R34)."""
    add_column("job_postings", sa.Column("body_trimmed_at", mysql.DATETIME(fsp=6), nullable=True))
    create_index(
        "ix_job_postings_untrimmed",
        "job_postings",
        ["status", "body_trimmed_at", "closed_at"],
        unique=False,
    )
    create_index(
        "ix_platform_drift_counts_run_date", "platform_drift_counts", ["run_date"], unique=False
    )
    create_index(
        "ix_platform_key_quotas_quota_date", "platform_key_quotas", ["quota_date"], unique=False
    )
