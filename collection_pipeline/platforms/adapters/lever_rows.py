"""Rows of Lever: every key of ``categories`` may be absent, times are epoch milliseconds.

Lever tells no deadline and no company: a site is one company's board (platforms.md section 4.2).
"""

from collection_pipeline.domain.posting import ListedPosting, PostingFields
from collection_pipeline.platforms.adapters.parsing import JsonObject, source_job_id
from collection_pipeline.platforms.adapters.regions import region_of
from collection_pipeline.platforms.adapters.rows import RowReader, WirePaths, listed_posting
from collection_pipeline.platforms.adapters.text import (
    DESCRIPTION_CHARS,
    EMPLOYMENT_TYPE_CHARS,
    LIST_ENTRIES,
    LIST_ENTRY_CHARS,
    LOCATION_CHARS,
    SALARY_CHARS,
    cut,
    plain_text,
    prose,
)
from collection_pipeline.platforms.adapters.workplace import workplace_named

SIGNATURE_VERSION = 2
SIGNED_PATHS = WirePaths(
    "text",
    "categories.location",
    "categories.allLocations",
    "categories.department",
    "categories.team",
    "categories.commitment",
    "workplaceType",
    "salaryRange",
    "salaryDescriptionPlain",
    "salaryDescription",
    "hostedUrl",
    "descriptionPlain",
    "description",
    "openingPlain",
    "opening",
    "descriptionBodyPlain",
    "descriptionBody",
    "additionalPlain",
    "additional",
    "createdAt",
)
UNSPECIFIED = "unspecified"
MILLISECONDS = 1_000


def read_lever_row(row: JsonObject) -> ListedPosting:
    """One posting; ``BadResponse`` without id or text (its title)."""
    reader = RowReader(row)
    job_id = source_job_id(row)
    reader.title("text")
    signed = {**SIGNED_PATHS.of(row), "lists": _list_texts(reader.value("lists"))}
    return listed_posting(row, job_id, SIGNATURE_VERSION, signed, _fields)


def _list_texts(lists: object) -> object:
    """Headings and contents of the titled lists, in their order."""
    if not isinstance(lists, list):
        return lists
    return [
        [entry.get("text"), entry.get("content")] if isinstance(entry, dict) else None
        for entry in lists
    ]


def _fields(reader: RowReader) -> PostingFields:
    location = _location(reader)
    parts = (reader.text(f"categories.{key}", LIST_ENTRY_CHARS) for key in ("department", "team"))
    return PostingFields(
        title=reader.title("text"),
        location_raw=location,
        region=region_of(location),
        employment_type=reader.text("categories.commitment", EMPLOYMENT_TYPE_CHARS),
        remote=_workplace(reader),
        salary=_salary(reader),
        categories=tuple(dict.fromkeys(part for part in parts if part)),
        url=reader.link("hostedUrl"),
        description=_description(reader),
        published_at=reader.epoch("createdAt", per_second=MILLISECONDS),
    )


def _location(reader: RowReader) -> str | None:
    first = reader.text("categories.location", LOCATION_CHARS)
    every = reader.texts("categories.allLocations")
    names = dict.fromkeys(name for name in (first, *every) if name)
    return cut("; ".join(names), LOCATION_CHARS) or None


def _workplace(reader: RowReader) -> str | None:
    text = reader.text("workplaceType", 100)
    if text is None or text.lower() == UNSPECIFIED:
        return None
    workplace = workplace_named(text)
    if workplace is None:
        reader.refuse("workplaceType")
    return workplace


def _salary(reader: RowReader) -> str | None:
    """``USD 67172 - 95960 per-year-salary``, or the text that stands in for the range."""
    if reader.value("salaryRange") is None:
        return reader.text("salaryDescriptionPlain", SALARY_CHARS) or reader.text(
            "salaryDescription", SALARY_CHARS, prose
        )
    highest = 10**15
    limits = (reader.number(f"salaryRange.{key}", highest) for key in ("min", "max"))
    amount = " - ".join(str(limit) for limit in limits if limit is not None)
    if not amount:
        return None
    currency = reader.text("salaryRange.currency", 20)
    interval = reader.text("salaryRange.interval", 100)
    return cut(" ".join(part for part in (currency, amount, interval) if part), SALARY_CHARS)


def _description(reader: RowReader) -> str | None:
    """Opening and body, the titled lists, and the closing words, as plain text."""
    body = _plain_or_markup(reader, "description")
    if body is None:
        opening = _plain_or_markup(reader, "opening")
        rest = _plain_or_markup(reader, "descriptionBody")
        body = "\n\n".join(part for part in (opening, rest) if part) or None
    parts = [body, *_titled_lists(reader), _plain_or_markup(reader, "additional")]
    return cut("\n\n".join(part for part in parts if part), DESCRIPTION_CHARS) or None


def _plain_or_markup(reader: RowReader, name: str) -> str | None:
    return reader.text(f"{name}Plain", DESCRIPTION_CHARS, prose) or reader.text(
        name, DESCRIPTION_CHARS, plain_text
    )


def _titled_lists(reader: RowReader) -> list[str]:
    lists = reader.value("lists")
    if lists is None:
        return []
    if not isinstance(lists, list):
        reader.refuse("lists")
        return []
    blocks = []
    for entry in lists[:LIST_ENTRIES]:
        part = RowReader(entry if isinstance(entry, dict) else {})
        heading = part.text("text", DESCRIPTION_CHARS)
        content = part.text("content", DESCRIPTION_CHARS, plain_text)
        if part.unparsed or not isinstance(entry, dict):
            reader.refuse("lists")
        blocks.append("\n".join(text for text in (heading, content) if text))
    return blocks
