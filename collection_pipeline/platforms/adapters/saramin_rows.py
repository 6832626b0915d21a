"""Rows of Saramin's JSON: names with HTML entities, codes and times as text.

A posting that closes when filled, or is always open, usually still carries an expiration
timestamp; only close type 1 makes it a deadline (platforms.md section 2).
"""

from datetime import datetime

from collection_pipeline.domain.posting import (
    UNKNOWN_DEADLINE,
    Deadline,
    ListedPosting,
    PostingFields,
)
from collection_pipeline.platforms.adapters.moments import (
    ALWAYS_OPEN,
    UNTIL_FILLED,
    deadline_of_epoch,
)
from collection_pipeline.platforms.adapters.parsing import JsonObject, source_job_id, whole_number
from collection_pipeline.platforms.adapters.regions import region_of
from collection_pipeline.platforms.adapters.rows import (
    RowReader,
    WirePaths,
    listed_posting,
    unordered,
)
from collection_pipeline.platforms.adapters.text import (
    COMPANY_CHARS,
    EMPLOYMENT_TYPE_CHARS,
    LIST_ENTRIES,
    LOCATION_CHARS,
    SALARY_CHARS,
    unescaped,
)

SIGNATURE_VERSION = 2
SIGNED_PATHS = WirePaths(
    "position.title",
    "company.detail.name",
    "company.name",
    "position.location.name",
    "position.experience-level.code",
    "position.experience-level.min",
    "position.experience-level.max",
    "position.job-type.name",
    "salary.name",
    "url",
    "posting-timestamp",
    "posting-date",
    "opening-timestamp",
    "opening-date",
    "close-type.code",
    "expiration-timestamp",
    "expiration-date",
)
SIGNED_LISTS = WirePaths("keyword", "position.job-mid-code.name", "position.job-code.name")
"""Comma-joined, in no order."""
HIGHEST_YEARS = 99
_NEWCOMERS, _EXPERIENCED, _BOTH = 1, 2, 3
_CLOSES_ON_DATE = 1
_CLOSE_KINDS = {2: UNTIL_FILLED, 3: ALWAYS_OPEN, 4: ALWAYS_OPEN}


def read_saramin_row(row: JsonObject) -> ListedPosting:
    """One ``job``; ``BadResponse`` without id or title."""
    reader = RowReader(row)
    job_id = source_job_id(row)
    reader.title("position.title", unescaped)
    signed = SIGNED_PATHS.of(row)
    for path, value in SIGNED_LISTS.of(row).items():
        signed[path] = unordered(value)
    return listed_posting(row, job_id, SIGNATURE_VERSION, signed, _fields)


def _fields(reader: RowReader) -> PostingFields:
    location = reader.text("position.location.name", LOCATION_CHARS, unescaped)
    career_from, career_to = _career(reader)
    middle = reader.split_texts("position.job-mid-code.name", unescaped)
    jobs = reader.split_texts("position.job-code.name", unescaped)
    return PostingFields(
        title=reader.title("position.title", unescaped),
        company_name=reader.text("company.detail.name", COMPANY_CHARS, unescaped)
        or reader.text("company.name", COMPANY_CHARS, unescaped),
        location_raw=location,
        region=region_of(location),
        career_from=career_from,
        career_to=career_to,
        employment_type=reader.text("position.job-type.name", EMPLOYMENT_TYPE_CHARS, unescaped),
        salary=reader.text("salary.name", SALARY_CHARS, unescaped),
        skills=reader.split_texts("keyword", unescaped),
        categories=tuple(dict.fromkeys((*middle, *jobs)))[:LIST_ENTRIES],
        url=reader.link("url", unescaped),
        published_at=_time(reader, "posting"),
        opened_at=_time(reader, "opening"),
        deadline=_deadline(reader),
    )


def _career(reader: RowReader) -> tuple[int | None, int | None]:
    """Years from and to. 0 (any) is 0 without limit, 1 (newcomers) is 0 to 0, max 0 is no limit."""
    code = reader.number("position.experience-level.code", HIGHEST_YEARS)
    lowest = reader.number("position.experience-level.min", HIGHEST_YEARS)
    highest = reader.number("position.experience-level.max", HIGHEST_YEARS) or None
    if code is None:
        return lowest or None, highest
    if code == _NEWCOMERS:
        return 0, 0
    if code == _EXPERIENCED:
        return lowest, highest
    return 0, highest if code == _BOTH else None


def _time(reader: RowReader, name: str) -> datetime | None:
    """The timestamp (unix seconds), or the date that stands in for it (``fields`` asks for it)."""
    return reader.epoch(f"{name}-timestamp") or reader.instant(f"{name}-date")


def _deadline(reader: RowReader) -> Deadline:
    code = reader.number("close-type.code", HIGHEST_YEARS)
    if code is None:
        return UNKNOWN_DEADLINE
    if code in _CLOSE_KINDS:
        return _CLOSE_KINDS[code]
    if code != _CLOSES_ON_DATE:
        reader.refuse("close-type.code")
        return UNKNOWN_DEADLINE
    seconds = reader.value("expiration-timestamp")
    if seconds is None or seconds == "":
        return reader.deadline("expiration-date")
    number = whole_number(seconds)
    deadline = None if number is None else deadline_of_epoch(number)
    if deadline is None:
        reader.refuse("expiration-timestamp")
        return reader.deadline("expiration-date")
    return deadline
