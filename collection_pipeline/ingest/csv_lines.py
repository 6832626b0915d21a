"""The text of a CSV file, line by line: its coding, its header, and where each record begins.

Every record is handed on with the number of its first line as a field of its own in front, so that
whoever parses the text can say which line a row came from. A quoted field may run over lines; the
quoting rules are those of Python's strict ``csv`` reader, which pandas uses.

Invariant: whether a file is the portal's CSV is decided by its first line alone, and nothing is
read into memory beyond one line of ``LONGEST_LINE_BYTES``.
"""

import csv
import re
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from collection_pipeline.domain.library import (
    LIBRARY_FIELDS,
    LibraryFailure,
    LibraryReadFailed,
)

LONGEST_LINE_BYTES = 1_000_000
LONGEST_RECORD_CHARS = 100_000
"""Below the parser's limit for one field, beyond which it raises for a whole chunk."""
CODECS = ("utf-8-sig", "cp949")
"""UTF-8 with or without its mark first: Korean text in CP949 is never valid UTF-8."""
COLUMNS = tuple(field.korean for field in LIBRARY_FIELDS)
NAMES_SHOWN = 5
_REST_OF_QUOTED = re.compile(r'[^"]*(?:""[^"]*)*"(?!")')


class Quotes(Enum):
    """How a line ends: outside quotes, inside, or with text right after a closing quote."""

    CLOSED = "closed"
    OPEN = "open"
    BROKEN = "broken"


class CsvNotReadable(LibraryReadFailed):
    """There is no such file, or it cannot be opened and read."""

    def __init__(self, detail: str) -> None:
        super().__init__(LibraryFailure.CONFIGURATION, detail)


class NotALibraryCsv(LibraryReadFailed):
    """The file is not the portal's CSV of the register."""

    def __init__(self, detail: str) -> None:
        super().__init__(LibraryFailure.BAD_ANSWER, detail)


@dataclass(frozen=True)
class CsvHeader:
    """All names of the first line, in its order; 28 of them are the portal's."""

    codec: str
    names: tuple[str, ...]

    @property
    def extra(self) -> tuple[str, ...]:
        """Names that the register does not know."""
        return tuple(name for name in self.names if name not in COLUMNS)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes; raises ``CsvNotReadable``. Only a regular file has an end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CsvNotReadable(f"{path.name} is not a file")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise CsvNotReadable(f"{path.name} cannot be read: {error.strerror}") from error


def read_header(file: BinaryIO) -> CsvHeader:
    """The header in the first line; raises ``NotALibraryCsv`` and says what is missing."""
    line = _line(file, 1)
    if not line:
        raise NotALibraryCsv("the file is empty")
    missing = COLUMNS
    for codec in CODECS:
        try:
            names = tuple(name.strip() for name in _fields(line.decode(codec)))
        except UnicodeDecodeError:
            continue
        repeated = [name for name in COLUMNS if names.count(name) > 1]
        if repeated:
            raise NotALibraryCsv(f"the header names a column twice: {_shown(repeated)}")
        lacking = tuple(name for name in COLUMNS if name not in names)
        if not lacking:
            return CsvHeader(codec, names)
        missing = min(missing, lacking, key=len)
    if b"\r" in line.rstrip(b"\r\n"):
        raise NotALibraryCsv("lines end with a carriage return alone; LF or CRLF is needed")
    raise NotALibraryCsv(
        f"the first line is not the portal's header in UTF-8 or CP949: {len(missing)} of "
        f"{len(COLUMNS)} columns are missing: {_shown(missing)}"
    )


class NumberedRecords:
    """A first line, then the records below the header, each led by its line's number and a comma.

    A record whose quotes do not close, or do not enclose a whole field, costs its first line only:
    reading goes on with the next one. ``problems`` says by number what was left out and why;
    ``handed_out`` counts the records. Read by pandas as a text file.
    """

    def __init__(self, file: BinaryIO, header: CsvHeader) -> None:
        self.width = len(header.names) + 2
        """Fields of the first line: the number, the header's columns, and one for what is more."""
        self._file = file
        self._codec = header.codec.removesuffix("-sig")
        self._number = 1
        self._put_back: deque[tuple[int, str]] = deque()
        self._records = chain([self._first_line()], self._whole_records())
        self.handed_out = 0
        self.problems: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[str]:
        return self._records

    def read(self, _chars: int = -1) -> str:
        """All of the rest; pandas asks only whether this is there."""
        return "".join(self._records)

    def readline(self) -> str:
        """The next record; empty at the end of the file."""
        return next(self._records, "")

    def _first_line(self) -> str:
        """No record: it tells pandas how many fields one should have, whatever the first has."""
        return ",".join(str(column) for column in range(self.width)) + "\n"

    def _whole_records(self) -> Iterator[str]:
        while (line := self._next_line()) is not None:
            number, text = line
            if not text.strip():
                continue
            lines, quotes = [line], _quotes_after(text, is_open=False)
            size = len(text)
            while quotes is Quotes.OPEN and size <= LONGEST_RECORD_CHARS:
                following = self._next_line()
                if following is None:
                    break
                lines.append(following)
                size += len(following[1]) + 1
                quotes = _quotes_after(following[1], is_open=True)
            if quotes is Quotes.CLOSED and size <= LONGEST_RECORD_CHARS:
                self.handed_out += 1
                record = "\n".join(text for _, text in lines)
                yield f"{number},{record}\n"
            else:
                is_long = quotes is Quotes.CLOSED
                self.problems.append((number, "too long" if is_long else "stray quotes"))
                self._put_back.extendleft(reversed(lines[1:]))

    def _next_line(self) -> tuple[int, str] | None:
        if self._put_back:
            return self._put_back.popleft()
        while line := _line(self._file, self._number + 1):
            self._number += 1
            try:
                # A lone carriage return would end the record for the parser.
                text = line.decode(self._codec).rstrip("\r\n").replace("\r", " ")
            except UnicodeDecodeError:
                self.problems.append((self._number, f"not text in {self._codec}"))
                continue
            return self._number, text
        return None


def _line(file: BinaryIO, number: int) -> bytes:
    line = file.readline(LONGEST_LINE_BYTES)
    if len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
        raise NotALibraryCsv(
            f"line {number} is longer than {LONGEST_LINE_BYTES:,} bytes; lines end with LF or CRLF"
        )
    return line


def _fields(line: str) -> list[str]:
    try:
        return next(csv.reader([line.rstrip("\r\n").replace("\r", " ")]), [])
    except csv.Error:
        return []


def _quotes_after(text: str, *, is_open: bool) -> Quotes:
    """How a line leaves the quotes that it found open or not; they count where a field begins."""
    at = 0
    while True:
        if is_open or text.startswith('"', at):
            rest = _REST_OF_QUOTED.match(text, at if is_open else at + 1)
            if rest is None:
                return Quotes.OPEN
            at, is_open = rest.end(), False
            if at < len(text) and text[at] != ",":
                return Quotes.BROKEN
        comma = text.find(",", at)
        if comma < 0:
            return Quotes.CLOSED
        at = comma + 1


def _shown(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
