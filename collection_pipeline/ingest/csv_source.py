"""The portal's CSV download as a snapshot, read with pandas in chunks of text (R49, R50).

Every field stays the text that it is: no type is guessed, no word means "missing". A record with
too many or too few fields is left out and reported by its line, everything else is kept. What was
left out may be any library, so the service then deactivates nothing. The file states no total; its
end is the end of the snapshot.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from collection_pipeline.domain.library import LibraryPage
from collection_pipeline.ingest.csv_ending import cut_line
from collection_pipeline.ingest.csv_lines import (
    CsvHeader,
    NotALibraryCsv,
    NumberedRecords,
    opened,
    read_header,
)

CHUNK_ROWS = 1_000


class CsvSnapshot:
    """One file; CP949 or UTF-8 with or without a mark, LF or CRLF, columns in any order."""

    source = "csv"

    def __init__(self, path: Path, chunk_rows: int = CHUNK_ROWS) -> None:
        self._path = path
        self._chunk_rows = chunk_rows

    def read(self, between_pages: Callable[[], None]) -> Iterator[LibraryPage]:
        """The rows, by the file's own column names.

        Raises ``CsvNotReadable`` and ``NotALibraryCsv``.
        """
        with opened(self._path) as file:
            header = read_header(file)
            cut = cut_line(file, header)
            records = NumberedRecords(file, header)
            notes = _notes(header)
            number = seen = 0
            for number, frame in enumerate(self._frames(records), start=1):
                seen += len(frame)
                rows = list(_rows(frame, records, header, cut))
                yield LibraryPage(rows, None, number, _taken(records), notes)
                between_pages()
                notes = ()
            if records.problems:
                yield LibraryPage([], None, number + 1, _taken(records), notes)
            if seen != records.handed_out:
                # No line may vanish unseen: it could be any library.
                raise NotALibraryCsv(f"{seen} of {records.handed_out} records could be parsed")

    def _frames(self, records: NumberedRecords) -> Iterator[Any]:
        """Frames of texts: the line number, the header's columns, and one for what is too much.

        The Python engine leaves a missing field empty of value where the C engine makes it "". The
        first row is the records' own first line: pandas takes the width from it.
        """
        width = records.width
        try:
            with pd.read_csv(
                records,
                engine="python",
                header=None,
                names=range(width),
                index_col=False,
                dtype=str,
                keep_default_na=False,
                skip_blank_lines=False,
                on_bad_lines=lambda fields: fields[:width],
                chunksize=self._chunk_rows,
            ) as frames:
                yield frames.get_chunk(self._chunk_rows + 1).iloc[1:]
                yield from frames
        except pd.errors.ParserError as error:
            raise NotALibraryCsv(f"the text cannot be read as CSV: {error}") from error


def _rows(
    frame: Any, records: NumberedRecords, header: CsvHeader, cut: int | None
) -> Iterator[dict[str, str]]:
    """The frame's rows that have exactly the header's fields; the others become problems."""
    too_much = len(header.names) + 1
    is_short = frame[too_much - 1].isna()
    is_long = frame[too_much].notna()
    for fields, short, long in zip(
        frame.itertuples(index=False, name=None), is_short, is_long, strict=True
    ):
        if short or long:
            records.problems.append((int(fields[0]), f"too {'few' if short else 'many'} fields"))
        elif int(fields[0]) == cut:
            records.problems.append((cut, "cut off in its last field"))
        else:
            yield dict(zip(header.names, fields[1:too_much], strict=True))


def _taken(records: NumberedRecords) -> tuple[str, ...]:
    sentences = tuple(f"line {line}: {why}" for line, why in sorted(records.problems))
    records.problems.clear()
    return sentences


def _notes(header: CsvHeader) -> tuple[str, ...]:
    if not header.extra:
        return ()
    return (f"columns that the register does not know: {', '.join(header.extra)}",)
