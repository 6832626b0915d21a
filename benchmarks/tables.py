"""The tables that benchmarks print, and the page that shows those of the last run.

A benchmark gives its tables to ``show``: they are printed, and where ``COLLECTION_BENCH_TABLES``
names a folder (``make bench``) also written there as ``NAME.md``, once everything that the table
tells was measured. ``python -m benchmarks.tables FOLDER PAGE`` puts each of them between its marks,
``<!-- table: NAME -->`` and ``<!-- end -->``; a mark without a file keeps what it shows, and a file
without a mark ends with an error, so that no measurement is lost silently.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER_VARIABLE = "COLLECTION_BENCH_TABLES"
BETWEEN_MARKS = re.compile(
    r"(?P<begin><!-- table: (?P<name>[a-z_]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


@dataclass(frozen=True)
class Table:
    """One table of a page; ``name`` is its mark there, ``caption`` says what was done, and when.

    Cells are texts, figures already rounded and with their units in the header.
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The caption and the table, ended by a newline."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return f"{self.caption}\n\n{table}\n"


class UnplacedTable(Exception):
    """A measured table has no mark on the page."""


def show(table: Table) -> None:
    """Print the table, and keep it for the page where a folder is named."""
    print(f"\n{table.markdown()}", flush=True)
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        (Path(folder) / f"{table.name}.md").write_text(table.markdown(), encoding="utf-8")


def placed(page: str, tables: dict[str, str]) -> str:
    """The page with each table between its marks; raises ``UnplacedTable``."""
    left = dict(tables)

    def fill(mark: re.Match[str]) -> str:
        text = left.pop(mark["name"], None)
        return mark[0] if text is None else f"{mark['begin']}\n{text}\n{mark['end']}"

    filled = BETWEEN_MARKS.sub(fill, page)
    if left:
        raise UnplacedTable(f"no mark on the page for {', '.join(sorted(left))}")
    return filled


def main() -> None:
    """``FOLDER PAGE``: put the folder's tables into the page."""
    folder, page = (Path(word) for word in sys.argv[1:3])
    tables = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.md")}
    page.write_text(placed(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main()
