"""Which fields of a posting did not parse, so that an unchanged row need not be read again."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from collection_pipeline.store.migrations.expanding import add_column

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand the schema; never shrink it, never touch rows (R34)."""
    names = mysql.VARCHAR(1000, charset="ascii", collation="ascii_bin")
    add_column("job_postings", sa.Column("unparsed_fields", names, nullable=True))
