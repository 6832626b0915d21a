"""The demo's live display: one row a source, or one line now and then where no terminal listens."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

from rich.console import Console
from rich.live import Live
from rich.table import Table

from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.demo.standing import Standing, standings

LINE_EVERY_SECONDS = 5.0
COLOURS = {"SUCCESS": "green", "FAILED": "red", "BUDGET_EXHAUSTED": "yellow", "RUNNING": "cyan"}
ENDED = frozenset({"SUCCESS", "FAILED", "BUDGET_EXHAUSTED"})


class DayDisplay:
    """Shows one day while it is collected."""

    def __init__(self, console: Console, stack: DemoStack) -> None:
        self._console = console
        self._stack = stack
        self._live: Live | None = None
        self._last_line = 0.0

    @contextmanager
    def of_day(self, day: date) -> Iterator[None]:
        """Show the day until the block ends."""
        self._console.print(f"\n[bold]{day:%Y-%m-%d}[/bold]", highlight=False)
        self._last_line = time.monotonic()
        if not self._console.is_terminal:
            yield
            self._print_line(standings(self._stack, day))
            return
        with Live(console=self._console, refresh_per_second=4) as live:
            self._live = live
            yield
            live.update(self._table(day))
        self._live = None

    def watch(self, day: date) -> None:
        """Look at the tables once."""
        if self._live is not None:
            self._live.update(self._table(day))
        elif time.monotonic() - self._last_line >= LINE_EVERY_SECONDS:
            self._last_line = time.monotonic()
            self._print_line(standings(self._stack, day))

    def _table(self, day: date) -> Table:
        return standing_table(standings(self._stack, day), self._console.width)

    def _print_line(self, rows: list[Standing]) -> None:
        ended = sum(row.status in ENDED for row in rows)
        self._console.print(
            f"  {ended} of {sum(row.cycle is not None for row in rows)} cycles ended, "
            f"{sum(row.number('list_page_count') for row in rows):,} pages, "
            f"{sum(row.number('fetched_count') for row in rows):,} postings, "
            f"{sum(row.number('detail_request_count') for row in rows):,} details",
            highlight=False,
        )


NUMBERS = {
    "slices": "attempt_count",
    "pages": "list_page_count",
    "postings": "fetched_count",
    "new": "new_count",
    "changed": "updated_count",
    "details": "detail_request_count",
    "missed": "missed_count",
    "closed": "closed_count",
}
NARROW_COLUMNS = 110
NARROW_NUMBERS = ("pages", "postings", "details", "closed")


def standing_table(rows: list[Standing], width: int) -> Table:
    """A table of one day; a narrow terminal gets fewer numbers instead of broken lines."""
    names = tuple(NUMBERS) if width >= NARROW_COLUMNS else NARROW_NUMBERS
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("source", no_wrap=True)
    table.add_column("state", no_wrap=True)
    if width >= NARROW_COLUMNS:
        table.add_column("reason", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        colour = COLOURS.get(row.status, "dim")
        reason = [row.reason] if width >= NARROW_COLUMNS else []
        numbers = (f"{row.number(NUMBERS[name]):,}" for name in names)
        table.add_row(row.label, f"[{colour}]{row.status}[/{colour}]", *reason, *numbers)
    return table
