"""A CSV file of the portal as the register's rows: CP949 or UTF-8, with or without BOM."""

import csv
from pathlib import Path

from collection_pipeline.simulator.library_columns import KOREAN_NAMES, Row

ENGLISH_OF_KOREAN = {korean: english for english, korean in KOREAN_NAMES.items()}


class LibraryCsvError(ValueError):
    """The file is not such a CSV; the message says where."""


def load_library_csv(path: Path) -> list[Row]:
    """The rows by their English names, values as they stand in the file."""
    lines = csv.reader(_text(path).splitlines(keepends=True), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        missing = [name for name in ENGLISH_OF_KOREAN if name not in header]
        if missing:
            raise LibraryCsvError(
                f"the CSV file has no column {missing[0]} ({len(missing)} are missing)"
            )
        names = [ENGLISH_OF_KOREAN.get(name, name) for name in header]
        return [_row(names, cells, lines.line_num) for cells in lines if cells]
    except csv.Error as error:
        raise LibraryCsvError(f"line {lines.line_num} is not CSV: {error}") from None


def _row(names: list[str], cells: list[str], line: int) -> Row:
    if len(cells) != len(names):
        raise LibraryCsvError(f"line {line} has {len(cells)} cells, the header has {len(names)}")
    return dict(zip(names, cells, strict=True))


def _text(path: Path) -> str:
    data = path.read_bytes()
    for encoding in ("utf-8-sig", "cp949"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise LibraryCsvError("the CSV file is neither UTF-8 nor CP949")
