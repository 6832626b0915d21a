"""What an ingest run was asked and what else it counted."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import add_column

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

RUNS = "ingest_runs"
ZERO = sa.text("0")


def upgrade() -> None:
    """Expand the schema; never shrink it, never touch rows (R34)."""
    for name in ("added_count", "duplicate_count", "left_out_count"):
        add_column(RUNS, sa.Column(name, sa.Integer(), server_default=ZERO, nullable=False))
    add_column(RUNS, sa.Column("stated_total", sa.Integer(), nullable=True))
    word = mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=20)
    add_column(RUNS, sa.Column("failure_kind", word, nullable=True))
    for name in ("deactivate_stale", "allow_shrink"):
        switch = mysql.TINYINT(display_width=1)
        add_column(RUNS, sa.Column(name, switch, server_default=ZERO, nullable=False))
