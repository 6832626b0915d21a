"""Rows of both Wanted lists; keys that only one form has are read wherever they stand.

Traps (platforms.md sections 1A, 1B, 1F): ``annual_*`` are years of experience and 50 or more is no
upper limit; ``reward`` is a referral bounty, not pay; chaos rows have no due time, one
``category_tag`` instead of ``category_tags`` and skills as bare numbers.
"""

from collection_pipeline.domain.posting import ListedPosting, PostingFields
from collection_pipeline.platforms.adapters.parsing import JsonObject, source_job_id, whole_number
from collection_pipeline.platforms.adapters.regions import region_of
from collection_pipeline.platforms.adapters.rows import RowReader, WirePaths, listed_posting
from collection_pipeline.platforms.adapters.text import (
    COMPANY_CHARS,
    EMPLOYMENT_TYPE_CHARS,
    LIST_ENTRIES,
    LOCATION_CHARS,
    cut,
)

SIGNATURE_VERSION = 2
SIGNED_PATHS = WirePaths(
    "position",
    "company.name",
    "address.full_location",
    "address.country",
    "address.location",
    "address.district",
    "annual_from",
    "annual_to",
    "employment_type",
    "due_time",
)
CLOSED_STATUSES = frozenset({"close", "closed", "draft"})
NO_UPPER_LIMIT_YEARS = 50
HIGHEST_YEARS = 200
POSTING_PAGE = "https://www.wanted.co.kr/wd/{id}"


def is_closed(row: JsonObject) -> bool:
    """True for a listed row that is no open posting; it is no sighting."""
    return row.get("status") in CLOSED_STATUSES if isinstance(row.get("status"), str) else False


def read_wanted_row(row: JsonObject) -> ListedPosting:
    """One row; ``BadResponse`` without id or title."""
    reader = RowReader(row)
    job_id = source_job_id(row)
    reader.title("position")
    signed = {
        **SIGNED_PATHS.of(row),
        "categories": sorted(_category_ids(reader)),
        "skill_tags": _skill_marks(reader),
    }
    return listed_posting(row, job_id, SIGNATURE_VERSION, signed, _fields)


def _fields(reader: RowReader) -> PostingFields:
    location = read_location(reader)
    career_from, career_to = read_career(reader)
    _skill_marks(reader)  # no column, but what does not parse of them is drift
    return PostingFields(
        title=reader.title("position"),
        company_name=reader.text("company.name", COMPANY_CHARS),
        location_raw=location,
        region=region_of(location),
        career_from=career_from,
        career_to=career_to,
        employment_type=reader.text("employment_type", EMPLOYMENT_TYPE_CHARS),
        categories=_category_ids(reader),
        url=POSTING_PAGE.format(id=source_job_id(reader.row)),
        deadline=reader.deadline("due_time"),
    )


def read_location(reader: RowReader) -> str | None:
    """The full address, or city and district (with the country where it is not Korea)."""
    full = reader.text("address.full_location", LOCATION_CHARS)
    names = ("address.country", "address.location", "address.district")
    country, city, district = (reader.text(name, LOCATION_CHARS) for name in names)
    if full is not None:
        return full
    abroad = country if country not in {None, "한국", "Korea", "South Korea"} else None
    return cut(" ".join(part for part in (abroad, city, district) if part), LOCATION_CHARS) or None


def read_career(reader: RowReader) -> tuple[int | None, int | None]:
    """Years of experience from and to; ``None`` as the second for no upper limit."""
    lowest = reader.number("annual_from", HIGHEST_YEARS)
    highest = reader.number("annual_to", HIGHEST_YEARS)
    return lowest, None if highest is None or highest >= NO_UPPER_LIMIT_YEARS else highest


def _category_ids(reader: RowReader) -> tuple[str, ...]:
    """Group and job ids as text: the lists carry no names."""
    many, one = reader.value("category_tags"), reader.value("category_tag")
    if many is not None and not isinstance(many, list):
        reader.refuse("category_tags")
        many = None
    name = "category_tags" if many is not None else "category_tag"
    tags = many if many is not None else [one] if one is not None else []
    found: dict[str, None] = {}
    for tag in tags:
        ids = [tag.get("parent_id"), tag.get("id")] if isinstance(tag, dict) else []
        numbers = [whole_number(value) for value in ids if value is not None]
        if not numbers or None in numbers:
            reader.refuse(name)
        found.update({str(number): None for number in numbers if number is not None})
    return tuple(text for text in found if len(text) <= 20)[:LIST_ENTRIES]


def _skill_marks(reader: RowReader) -> list[str]:
    """What the row says of skills, for the signature only; names come with the detail."""
    tags = reader.value("skill_tags")
    if tags is None:
        return []
    if not isinstance(tags, list):
        reader.refuse("skill_tags")
        return []
    numbers = (whole_number(tag.get("id") if isinstance(tag, dict) else tag) for tag in tags)
    return sorted({str(number) for number in numbers if number is not None})
