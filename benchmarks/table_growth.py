"""Which tables level out and which grow by their days, judged from rows counted through a year.

Invariant: every table of the schema stands in exactly one of the two lists, so a new table has to
say what bounds it. A table levels out when its last quarter adds almost nothing to the quarter
before; a table of history grows by its days and no faster.
"""

from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from collection_pipeline.store.schema import metadata

MEBIBYTE = 1024 * 1024

HISTORY = frozenset(
    {
        "job_postings",
        "job_posting_collection_cycles",
        "job_posting_collection_runs",
        "job_posting_collection_sla_snapshots",
        "job_posting_collection_sla_snapshot_items",
        "job_posting_collection_sla_capture_attempts",
    }
)
"""Kept for ever (sections 2, 7 and 8): a row a source and day, a row a day, a row a posting."""
SLACK_SHARE = 0.1
SLACK_ROWS = 60
"""What a level table may vary by: the days of a month, the weeks of a quarter."""


@dataclass
class Growth:
    """Rows and mebibytes by table, by the number of the day at whose end they were counted."""

    rows: dict[int, dict[str, int]] = field(default_factory=dict)
    mebibytes: dict[int, dict[str, float]] = field(default_factory=dict)

    def measure(self, connection: Connection, day: int) -> None:
        """Count every table exactly; the sizes are the server's own, after it looked."""
        names = sorted(metadata.tables)
        listed = ", ".join(f"`{name}`" for name in names)
        connection.execute(text(f"ANALYZE TABLE {listed}")).all()
        self.rows[day] = {
            name: int(connection.execute(text(f"SELECT COUNT(*) FROM `{name}`")).scalar_one())
            for name in names
        }
        sizes = connection.execute(
            text(
                "SELECT table_name, data_length + index_length FROM information_schema.tables"
                " WHERE table_schema = DATABASE()"
            )
        )
        self.mebibytes[day] = {str(name): int(size or 0) / MEBIBYTE for name, size in sizes}

    def problems(self) -> list[str]:
        """A sentence for each table that grew as it must not; needs four measured days."""
        days = sorted(self.rows)
        first, middle, late, last = (days[len(days) * part // 4 - 1] for part in (1, 2, 3, 4))
        found = []
        for name in sorted(metadata.tables):
            early = self.rows[middle][name] - self.rows[first][name]
            recent = self.rows[last][name] - self.rows[late][name]
            slack = SLACK_ROWS + SLACK_SHARE * self.rows[late][name]
            if name in HISTORY and recent > early + slack:
                found.append(
                    f"{name} grew by {recent:,} rows in the last quarter, {early:,} before"
                )
            if name not in HISTORY and recent > slack:
                found.append(f"{name} still grew by {recent:,} rows in the last quarter")
        return found

    def lines(self) -> list[str]:
        """The table of rows by measured day, and the sizes at the end."""
        days = sorted(self.rows)
        last = days[-1]
        head = "".join(f"{f'day {day}':>12}" for day in days)
        lines = [f"{'rows of table':<45}{head}{'MiB at end':>12}"]
        for name in sorted(metadata.tables, key=lambda one: -self.mebibytes[last].get(one, 0)):
            counts = "".join(f"{self.rows[day][name]:>12,}" for day in days)
            lines.append(f"{name:<45}{counts}{self.mebibytes[last].get(name, 0):>12.1f}")
        return lines
