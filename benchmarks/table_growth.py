"""Which tables level out and which grow by their days, judged from rows counted through a year.

Invariant: a table that is not named as history has to level out, so a new table has to say what
bounds it. It is level when the last days add nothing beyond its own ups and downs; history grows by
its days and no faster.
"""

from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from collection_pipeline.store.schema import metadata

MEBIBYTE = 1024 * 1024
HISTORY = frozenset(
    {
        "job_postings",
        "companies",
        "job_posting_collection_cycles",
        "job_posting_collection_runs",
        "job_posting_collection_sla_snapshots",
        "job_posting_collection_sla_snapshot_items",
    }
)
"""Kept for ever (sections 2, 7, 8): a row a source and day, a day, a posting, or a company."""
MONTH = 30
COMPARED_DAYS = 20
SLACK_SHARE = 0.02
SLACK_ROWS = 10
HISTORY_SLACK_SHARE = 0.25


def is_measured(day: int, last: int) -> bool:
    """Every month, the last day, and the day that it is compared with."""
    return day % MONTH == 0 or day in (last, last - COMPARED_DAYS)


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
        """A sentence for each table that grew as it must not in the last days."""
        last = max(self.rows)
        before = last - COMPARED_DAYS
        found = []
        for name in sorted(metadata.tables):
            rows, added = self.rows[last][name], self.rows[last][name] - self.rows[before][name]
            fair = rows / last * COMPARED_DAYS
            if name in HISTORY and added > fair * (1 + HISTORY_SLACK_SHARE) + SLACK_ROWS:
                found.append(f"{name} grew by {added:,} rows in the last {COMPARED_DAYS} days")
            if name not in HISTORY and added > SLACK_SHARE * rows + SLACK_ROWS:
                found.append(
                    f"{name} still grew by {added:,} rows in the last {COMPARED_DAYS} days"
                )
        return found

    def lines(self) -> list[str]:
        """The table of rows by measured day, and the sizes at the end."""
        days = sorted(self.rows)
        last = days[-1]
        head = "".join(f"{f'day {day}':>9}" for day in days)
        lines = [f"{'rows of table':<45}{head}{'MiB at end':>12}"]
        for name in sorted(metadata.tables, key=lambda one: -self.mebibytes[last].get(one, 0)):
            counts = "".join(f"{self.rows[day][name]:>9,}" for day in days)
            lines.append(f"{name:<45}{counts}{self.mebibytes[last].get(name, 0):>12.1f}")
        return lines

    def last_days(self) -> str:
        """All tables together, at the two ends of the compared days."""
        last = max(self.mebibytes)
        before = sum(self.mebibytes[last - COMPARED_DAYS].values())
        now = sum(self.mebibytes[last].values())
        return (
            f"all tables: {before:.1f} MiB on day {last - COMPARED_DAYS}, {now:.1f} on day {last}"
        )
