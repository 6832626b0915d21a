"""A generated library register in the portal's shape, and snapshots that serve it page by page.

Row ``n`` is the same in every run; an ``edition`` changes some of its values, never its key.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from collection_pipeline.domain.library import LIBRARY_FIELDS, LibraryPage

Row = dict[str, str]
COLUMNS = tuple(one.korean for one in LIBRARY_FIELDS)
PROVIDERS = 250
PAGE_ROWS = 1_000


def library_row(number: int, edition: int = 0, **changes: str) -> Row:
    """One library, by the portal's Korean column names; ``changes`` by the register's names."""
    values = {
        "library_name": f"작은도서관 {number}",
        "province": "서울특별시",
        "district": f"구 {number % 25}",
        "library_type": "작은도서관",
        "closed_days": "매주 월요일+법정공휴일" if edition % 2 == 0 else "매월 둘째 화요일",
        "weekday_opens_at": "09:00",
        "weekday_closes_at": "18:30",
        "saturday_opens_at": "10:00",
        "saturday_closes_at": "24:00",
        "holiday_opens_at": "00:00",
        "holiday_closes_at": "00:00",
        "seat_count": str(number % 300),
        "book_count": str(1_000 + number + 7 * edition),
        "serial_count": "12",
        "non_book_count": "",
        "loan_limit": "5",
        "loan_days": "14",
        "road_address": f"서울특별시 책길 {number}",
        "operator_name": "",
        "phone_number": f"02-{number:08d}",
        "plot_area_m2": "343.5",
        "building_area_m2": "",
        "homepage_url": "www.library.test",
        "latitude": "37.492325",
        "longitude": "127.156619",
        "reference_date": f"2026-{1 + edition % 12:02d}-20",
        "provider_code": f"{3_000_000 + 1_000 * (number % PROVIDERS)}",
        "provider_name": "시청",
    }
    values |= changes
    return {one.korean: values[one.name] for one in LIBRARY_FIELDS}


def library_rows(numbers: Iterable[int], edition: int = 0) -> list[Row]:
    """Libraries of one edition."""
    return [library_row(number, edition) for number in numbers]


def pages_of(
    rows: Sequence[Row], page_rows: int = PAGE_ROWS, total: int | None = None
) -> list[LibraryPage]:
    """``rows`` as pages that state ``total``, the number of rows unless another is given."""
    stated = len(rows) if total is None else total
    starts = range(0, max(len(rows), 1), page_rows)
    return [
        LibraryPage(rows[start : start + page_rows], stated, number)
        for number, start in enumerate(starts, start=1)
    ]


@dataclass
class ServedSnapshot:
    """Serves its readings one after the other, the last one again and again.

    ``before_page`` is called with each page's number, as a source that is waited for; an exception
    in a reading is raised in its place.
    """

    readings: Sequence[Sequence[LibraryPage | Exception]]
    source: str = "library"
    before_page: Callable[[int], None] = field(default=lambda _number: None)
    read_count: int = 0

    def read(self, between_pages: Callable[[], None]) -> Iterator[LibraryPage]:
        """The next reading."""
        reading = self.readings[min(self.read_count, len(self.readings) - 1)]
        self.read_count += 1
        for number, page in enumerate(reading, start=1):
            if number > 1:
                between_pages()
            self.before_page(number)
            if isinstance(page, Exception):
                raise page
            yield page


def served(rows: Sequence[Row], page_rows: int = PAGE_ROWS) -> ServedSnapshot:
    """A snapshot that is complete and stands still."""
    return ServedSnapshot([pages_of(rows, page_rows)])


def csv_text(rows: Sequence[Row], columns: Sequence[str] = COLUMNS, end: str = "\n") -> str:
    """The portal's file: a header and a line for each row; no field needs quotes."""
    lines = [",".join(columns), *(",".join(row[name] for name in columns) for row in rows)]
    return end.join(lines) + end
