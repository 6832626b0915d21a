"""The register on one day: generated rows that change from day to day, or a file's fixed rows."""

from collections.abc import Sequence
from typing import Any

from collection_pipeline.simulator.calendar_hand import Today
from collection_pipeline.simulator.fault_plan import Fault
from collection_pipeline.simulator.library_columns import Row, row_id
from collection_pipeline.simulator.library_rows import library_row
from collection_pipeline.simulator.library_rule import LIBRARY, LibraryRule
from collection_pipeline.simulator.lifecycle import Lifecycle

FIRST_LATE_SERIAL = 5_000_000  # born while the pages are read (fault `shifting`)


class LibraryRegister:
    """Rows by serial number, drawn when they are asked for; newest first."""

    def __init__(self, rule: LibraryRule, seed: int, file_rows: Sequence[Row] | None) -> None:
        self.rule = rule
        self._file_rows = file_rows
        count = rule.count if file_rows is None else len(file_rows)
        changes = rule.changes if file_rows is None else {}
        self._life = Lifecycle(count, changes, f"{seed}|{LIBRARY}")

    def serials(self, day: int, page_index: int, faults: Sequence[Fault]) -> Sequence[int]:
        """The order of rows as page `page_index` meets it, with the faults that shift it."""
        order: Sequence[int] = self._life.state(day).order
        if self._file_rows is not None:
            order = range(len(self._file_rows))
        for fault in faults:
            moved = int(fault.settings.get("rows", 0)) * page_index
            if fault.name == "shifting":
                order = [*range(FIRST_LATE_SERIAL + moved, FIRST_LATE_SERIAL, -1), *order]
            elif fault.name == "vanish":
                order = order[moved:]
            elif fault.name == "zero_results":
                order = ()
        return order

    def row(self, serial: int, day: int) -> Row:
        """One row by its English names."""
        if self._file_rows is not None and serial < len(self._file_rows):
            return dict(self._file_rows[serial])
        return library_row(serial, self._life.state(day).versions.get(serial, 0))

    def document(self, today: Today) -> dict[str, Any]:
        """What the register serves on a day, in the form of the other platforms' catalogues."""
        state = self._life.state(today.day)
        ids = [row_id(self.row(serial, today.day)) for serial in self.serials(today.day, 0, ())]
        return {
            "platform": LIBRARY,
            "key": "all",
            "run_date": today.run_date.isoformat(),
            "day": today.day,
            "count": len(ids),
            "ids": ids,
            "gone": [row_id(self.row(serial, today.day)) for serial in state.gone],
            "edited": [row_id(self.row(serial, today.day)) for serial in sorted(state.versions)],
            "inactive": [],
        }
