"""${message}"""

${imports if imports else ""}
import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand the schema; never shrink it, never touch rows (R34)."""
    ${upgrades if upgrades else "pass"}
