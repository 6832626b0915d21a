"""The 28 columns of the public library register and how their texts become values (section 11).

Invariant: a text that does not fit its column is ``None`` here and named as unparsed by the
caller; it is never cut, guessed or passed on for the database to refuse. The names are those of
platforms.md section 5.4, official misspellings and those of the sister registers included.

A time is a ``timedelta`` since midnight: "24:00" is the end of the day, which ``datetime.time``
cannot hold while MySQL's TIME can, and a ``timedelta`` is what the driver hands back for a TIME.
(A typed ``Time`` column of SQLAlchemy cannot read 24:00 back; read it with the driver's own value.)
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

LibraryValue = str | int | Decimal | date | timedelta
"""What a column can hold; ``None`` stands for empty or unparsed."""

HIGHEST_COUNT = 2_147_483_647
AREA_STEP = Decimal("0.01")
COORDINATE_STEP = Decimal("0.0000001")
HIGHEST_AREA = Decimal("999999999999.99")
HIGHEST_LATITUDE, HIGHEST_LONGITUDE = Decimal(90), Decimal(180)
FIRST_DATED_YEAR = 1000
"""MySQL supports dates from this year on."""
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])|(24):(00)")
_COUNT = re.compile(r"[0-9]{1,10}")
_AREA = re.compile(r"[0-9]{1,12}(\.[0-9]{1,30})?")
_COORDINATE = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,30})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class LibraryFieldKind(StrEnum):
    """What a column holds."""

    TEXT = "TEXT"
    TIME = "TIME"
    COUNT = "COUNT"
    AREA = "AREA"
    COORDINATE = "COORDINATE"
    DATE = "DATE"


@dataclass(frozen=True)
class LibraryField:
    """One column: its name in ``public_libraries``, its senders' names, its kind.

    ``english`` are all spellings that are read, the official one first. ``max_chars`` bounds the
    trimmed text, as the column does for TEXT.
    """

    name: str
    korean: str
    english: tuple[str, ...]
    kind: LibraryFieldKind
    max_chars: int

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every sender's name of this column."""
        return (*self.english, self.korean)

    def parse(self, text: str) -> LibraryValue | None:
        """The value of a trimmed, non-empty text; ``None`` when it does not fit the column."""
        if len(text) > self.max_chars:
            return None
        if self.name == "latitude":
            return _coordinate(text, HIGHEST_LATITUDE)
        return _PARSERS[self.kind](text)


def value_text(value: LibraryValue | None) -> str | None:
    """One text for one value, whether parsed or read back from the database."""
    if isinstance(value, timedelta):
        minutes = int(value.total_seconds()) // 60
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value else "0"
    return None if value is None else str(value)


def _text(text: str) -> str | None:
    return None if _UNSTORABLE.search(text) else text


def _time(text: str) -> timedelta | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hours, minutes = (part for part in found.groups() if part is not None)
    return timedelta(hours=int(hours), minutes=int(minutes))


def _count(text: str) -> int | None:
    return int(text) if _COUNT.fullmatch(text) and int(text) <= HIGHEST_COUNT else None


def _area(text: str) -> Decimal | None:
    if not _AREA.fullmatch(text):
        return None
    area = Decimal(text).quantize(AREA_STEP)
    return area if area <= HIGHEST_AREA else None


def _coordinate(text: str, highest: Decimal = HIGHEST_LONGITUDE) -> Decimal | None:
    if not _COORDINATE.fullmatch(text):
        return None
    degrees = Decimal(text)
    return degrees.quantize(COORDINATE_STEP) if abs(degrees) <= highest else None


def _date(text: str) -> date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year >= FIRST_DATED_YEAR else None


_PARSERS: dict[LibraryFieldKind, Callable[[str], LibraryValue | None]] = {
    LibraryFieldKind.TEXT: _text,
    LibraryFieldKind.TIME: _time,
    LibraryFieldKind.COUNT: _count,
    LibraryFieldKind.AREA: _area,
    LibraryFieldKind.COORDINATE: _coordinate,
    LibraryFieldKind.DATE: _date,
}


def _field(
    name: str, korean: str, english: str, kind: LibraryFieldKind, max_chars: int = 60
) -> LibraryField:
    return LibraryField(name, korean, tuple(english.split()), kind, max_chars)


_K = LibraryFieldKind
LIBRARY_FIELDS: tuple[LibraryField, ...] = (
    _field("library_name", "도서관명", "lbrryNm", _K.TEXT, 255),
    _field("province", "시도명", "ctprvnNm ctpvNm", _K.TEXT, 50),
    _field("district", "시군구명", "signguNm", _K.TEXT, 100),
    _field("library_type", "도서관유형", "lbrrySe", _K.TEXT, 50),
    _field("closed_days", "휴관일", "closeDay", _K.TEXT, 500),
    _field("weekday_opens_at", "평일운영시작시각", "weekdayOperOpenHhmm", _K.TIME),
    _field(
        "weekday_closes_at",
        "평일운영종료시각",
        "weekdayOperColseHhmm weekdayOperCloseHhmm",
        _K.TIME,
    ),
    _field(
        "saturday_opens_at", "토요일운영시작시각", "satOperOperOpenHhmm satOperOpenHhmm", _K.TIME
    ),
    _field("saturday_closes_at", "토요일운영종료시각", "satOperCloseHhmm", _K.TIME),
    _field("holiday_opens_at", "공휴일운영시작시각", "holidayOperOpenHhmm", _K.TIME),
    _field(
        "holiday_closes_at",
        "공휴일운영종료시각",
        "holidayCloseOpenHhmm holidayOperCloseHhmm",
        _K.TIME,
    ),
    _field("seat_count", "열람좌석수", "seatCo", _K.COUNT),
    _field("book_count", "자료수(도서)", "bookCo", _K.COUNT),
    _field("serial_count", "자료수(연속간행물)", "pblictnCo", _K.COUNT),
    _field("non_book_count", "자료수(비도서)", "noneBookCo", _K.COUNT),
    _field("loan_limit", "대출가능권수", "lonCo", _K.COUNT),
    _field("loan_days", "대출가능일수", "lonDaycnt", _K.COUNT),
    _field("road_address", "소재지도로명주소", "rdnmadr", _K.TEXT, 500),
    _field("operator_name", "운영기관명", "operInstitutionNm", _K.TEXT, 255),
    _field("phone_number", "도서관전화번호", "phoneNumber", _K.TEXT, 50),
    _field("plot_area_m2", "부지면적", "plotAr", _K.AREA),
    _field("building_area_m2", "건물면적", "buldAr", _K.AREA),
    _field("homepage_url", "홈페이지주소", "homepageUrl", _K.TEXT, 500),
    _field("latitude", "위도", "latitude", _K.COORDINATE),
    _field("longitude", "경도", "longitude", _K.COORDINATE),
    _field("reference_date", "데이터기준일자", "referenceDate", _K.DATE),
    _field("provider_code", "제공기관코드", "insttCode instt_code", _K.TEXT, 20),
    _field("provider_name", "제공기관명", "insttNm instt_nm", _K.TEXT, 255),
)
COLUMN_OF_SPELLING: dict[str, str] = {
    spelling: field.name for field in LIBRARY_FIELDS for spelling in field.spellings
}
"""Every sender's name of a column -> the column of ``public_libraries``."""
