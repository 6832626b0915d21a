"""Where the demo's sources stand on a day, as the tables say."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from collection_pipeline.demo.sources import NOTHING
from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.domain.snapshot import CaptureStatus, late_count
from collection_pipeline.store.reading import cycles_of
from collection_pipeline.store.snapshots import SlaSnapshots
from collection_pipeline.store.sources import JobSources


@dataclass(frozen=True)
class Standing:
    """One source on one day; ``cycle`` is ``None`` where there is none."""

    source_id: int
    label: str
    run_date: date
    cycle: dict[str, Any] | None

    @property
    def status(self) -> str:
        """The cycle's state, or that there is none."""
        return NOTHING if self.cycle is None else str(self.cycle["cycle_status"])

    def number(self, column: str) -> int:
        """A counter of the cycle, 0 where there is none."""
        return 0 if self.cycle is None else int(self.cycle[column] or 0)

    @property
    def reason(self) -> str:
        """Why the cycle ended as it did, in one word."""
        if self.cycle is None:
            return ""
        return str(self.cycle["budget_exhausted_reason"] or self.cycle["failure_reason"] or "")


def standings(stack: DemoStack, day: date) -> list[Standing]:
    """Every source's standing on ``day``, in the order in which they were registered."""
    run = stack.pipeline.transactions.run
    sources = run(JobSources().all)
    cycles = {
        row["job_source_id"]: row for row in run(lambda connection: cycles_of(connection, day))
    }
    return [Standing(source.id, source.label, day, cycles.get(source.id)) for source in sources]


def snapshot_line(stack: DemoStack, day: date) -> str:
    """What 09:00 recorded of the day, in one line."""
    run = stack.pipeline.transactions.run
    header = run(lambda connection: SlaSnapshots().header(connection, day))
    if header is None or header.status is not CaptureStatus.CAPTURED:
        return f"09:00 snapshot: {'none' if header is None else header.status}"
    items = run(lambda connection: SlaSnapshots().items(connection, header.snapshot_id))
    late = late_count(header.status, items)
    return f"09:00 snapshot: {late} of {len(items)} sources late, {header.status}"
