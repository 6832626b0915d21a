"""Rows and details of Jumpit. Times are KST without a zone, with ``T`` or a space (section 3).

Hits of a keyword are wrapped in spans inside words. Detail texts have plural keys
(``qualifications``): a detail with none of them is a changed envelope, not an empty text.
"""

from typing import Any

from collection_pipeline.domain.posting import (
    Deadline,
    ListedPosting,
    PostingDetail,
    PostingFields,
)
from collection_pipeline.platforms.adapters.moments import ALWAYS_OPEN
from collection_pipeline.platforms.adapters.parsing import JsonObject, source_job_id
from collection_pipeline.platforms.adapters.regions import region_of
from collection_pipeline.platforms.adapters.rows import (
    RowReader,
    WirePaths,
    listed_posting,
    unordered,
)
from collection_pipeline.platforms.adapters.text import (
    COMPANY_CHARS,
    DESCRIPTION_CHARS,
    LOCATION_CHARS,
    cut,
    prose,
    without_highlight,
)
from collection_pipeline.platforms.contract import BadResponse

SIGNATURE_VERSION = 2
SIGNED_PATHS = WirePaths(
    "locations", "minCareer", "maxCareer", "newcomer", "alwaysOpen", "closedAt"
)
SIGNED_TEXTS = ("title", "companyName")
SIGNED_LISTS = ("techStacks", "jobCategory")
"""In no order."""
HIGHEST_YEARS = 99
POSTING_PAGE = "https://jumpit.saramin.co.kr/position/{id}"
SECTIONS = (
    ("serviceInfo", "서비스 소개"),
    ("responsibility", "주요업무"),
    ("qualifications", "자격요건"),
    ("preferredRequirements", "우대사항"),
    ("welfares", "복지 및 혜택"),
    ("recruitProcess", "채용절차 및 기타"),
)


def read_jumpit_row(row: JsonObject) -> ListedPosting:
    """One of ``result.positions``; ``BadResponse`` without id or title."""
    reader = RowReader(row)
    job_id = source_job_id(row)
    reader.title("title", without_highlight)
    signed = SIGNED_PATHS.of(row)
    for path in SIGNED_TEXTS:
        value = reader.value(path)
        signed[path] = without_highlight(value) if isinstance(value, str) else value
    for path in SIGNED_LISTS:
        signed[path] = unordered(reader.value(path), without_highlight)
    return listed_posting(row, job_id, SIGNATURE_VERSION, signed, _fields)


def _fields(reader: RowReader) -> PostingFields:
    location = cut(", ".join(reader.texts("locations")), LOCATION_CHARS) or None
    career_from, career_to = _career(reader)
    return PostingFields(
        title=reader.title("title", without_highlight),
        company_name=reader.text("companyName", COMPANY_CHARS, without_highlight),
        location_raw=location,
        region=region_of(location),
        career_from=career_from,
        career_to=career_to,
        skills=reader.texts("techStacks", of=without_highlight),
        categories=reader.split_texts("jobCategory", without_highlight),
        url=POSTING_PAGE.format(id=source_job_id(reader.row)),
        deadline=_deadline(reader),
    )


def read_jumpit_detail(job_id: str, body: JsonObject, result: JsonObject) -> PostingDetail:
    """What the detail of ``job_id`` adds to its row."""
    if source_job_id(result) != job_id:
        raise BadResponse("the detail is of another posting")
    reader = RowReader(result)
    location = reader.text("location", LOCATION_CHARS)
    changes: dict[str, Any] = {
        "description": _description(reader),
        "published_at": reader.instant("publishedAt"),
        "location_raw": location,
        "region": region_of(location),
    }
    added = {name: value for name, value in changes.items() if value}
    raw = reader.raw(body)
    return PostingDetail(added, raw, reader.unparsed)


def _description(reader: RowReader) -> str:
    parts = []
    for key, heading in SECTIONS:
        text = reader.text(key, DESCRIPTION_CHARS, prose)
        if text is not None:
            parts.append(f"{heading}\n{text}")
    if not parts:
        raise BadResponse("changed envelope: the detail has none of its texts")
    return cut("\n\n".join(parts), DESCRIPTION_CHARS)


def _career(reader: RowReader) -> tuple[int | None, int | None]:
    """Years from and to; a newcomers' posting begins at 0, and 0 to 0 is one for newcomers only.

    Without the newcomer mark a maximum of 0 is taken for "none stated".
    """
    lowest = reader.number("minCareer", HIGHEST_YEARS)
    highest = reader.number("maxCareer", HIGHEST_YEARS)
    if reader.flag("newcomer"):
        return 0, highest
    return lowest, highest or None


def _deadline(reader: RowReader) -> Deadline:
    """Always open wins over a date; the year 9999 means the same."""
    always_open = reader.flag("alwaysOpen")
    stated = reader.deadline("closedAt")
    return ALWAYS_OPEN if always_open else stated
