"""Does a CSV end within its last field? (R49)

The portal's file ends without a line end, so a missing one tells nothing. The last row does: its
last column is the provider's name, and a provider has one name in every row. A last name that is
only the beginning of what other rows of that provider say is cut off.

It cannot be told of a provider with one row, of a file whose columns come in another order, or of
one that ends with a whole line.
"""

import csv
from collections.abc import Iterator
from typing import BinaryIO

from collection_pipeline.ingest.csv_lines import CsvHeader, NumberedRecords

CODE, NAME = "제공기관코드", "제공기관명"


def cut_line(file: BinaryIO, header: CsvHeader) -> int | None:
    """The number of a last record that is cut off, else ``None``; the file stays where it is."""
    start = file.tell()
    try:
        if header.names[-1] != NAME or _ends_with_a_line(file):
            return None
        return _cut_provider(file, header, start)
    finally:
        file.seek(start)


def _ends_with_a_line(file: BinaryIO) -> bool:
    file.seek(-1, 2)
    return file.read(1) == b"\n"


def _cut_provider(file: BinaryIO, header: CsvHeader, start: int) -> int | None:
    last: tuple[int, str, str] | None = None
    for last in _providers(file, header, start):  # noqa: B007
        pass
    if last is None:
        return None
    number, code, name = last
    others = {
        other
        for line, one, other in _providers(file, header, start)
        if one == code and line != number
    }
    is_cut = name not in others and any(other.startswith(name) for other in others)
    return number if is_cut else None


def _providers(file: BinaryIO, header: CsvHeader, start: int) -> Iterator[tuple[int, str, str]]:
    """Line number, provider code and name of each whole record."""
    file.seek(start)
    at = header.names.index(CODE) + 1
    records = NumberedRecords(file, header)
    records.readline()
    while record := records.readline():
        fields = next(csv.reader([record]))
        if len(fields) == len(header.names) + 1:
            yield int(fields[0]), fields[at].strip(), fields[-1].strip()
