"""One figure a day of how large each table is, so that growth can be told."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import create_table

revision = "0007"
down_revision = "0006"
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
        "collection_table_sizes",
        sa.Column("measured_date", sa.Date(), nullable=False),
        sa.Column(
            "table_name",
            mysql.VARCHAR(charset="ascii", collation="ascii_bin", length=64),
            nullable=False,
        ),
        sa.Column("data_bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("measured_date", "table_name"),
        **TABLE_OPTIONS,
    )
