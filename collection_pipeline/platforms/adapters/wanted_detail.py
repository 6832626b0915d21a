"""Wanted's detail, in any of the nestings that its endpoints use (platforms.md section 1C).

The posting stands in ``job``, in ``data.job`` or at the top; its title may be ``detail.position``;
its skills are labelled ``title`` or ``text`` and may stand beside ``job``. An object that is none
of these, or that speaks of another posting, is not a detail.
"""

from typing import Any

from collection_pipeline.domain.posting import GonePosting, PostingDetail
from collection_pipeline.platforms.adapters.parsing import JsonObject, source_job_id
from collection_pipeline.platforms.adapters.regions import region_of
from collection_pipeline.platforms.adapters.rows import RowReader
from collection_pipeline.platforms.adapters.text import (
    DESCRIPTION_CHARS,
    EMPLOYMENT_TYPE_CHARS,
    TITLE_CHARS,
    cut,
    prose,
)
from collection_pipeline.platforms.adapters.wanted_rows import is_closed, read_location
from collection_pipeline.platforms.contract import BadResponse

SECTIONS = (
    ("intro", "회사·서비스 소개"),
    ("main_tasks", "주요업무"),
    ("requirements", "자격요건"),
    ("preferred_points", "우대사항"),
    ("benefits", "혜택 및 복지"),
    ("hire_rounds", "채용 전형"),
)


def read_wanted_detail(job_id: str, body: JsonObject) -> PostingDetail | GonePosting:
    """What the detail of ``job_id`` adds, or that the posting is closed."""
    job = _job_in(body)
    if job.get("id") is not None and source_job_id(job) != job_id:
        raise BadResponse("the detail is of another posting")
    if is_closed(job):
        return GonePosting()
    reader = RowReader(job)
    description = _description(reader)
    changes: dict[str, Any] = {
        "description": description,
        "title": reader.text("position", TITLE_CHARS)
        or reader.text("detail.position", TITLE_CHARS),
        "employment_type": reader.text("employment_type", EMPLOYMENT_TYPE_CHARS),
        "published_at": reader.instant("confirm_time"),
        "location_raw": read_location(reader),
        "skills": _skills(reader, body),
    }
    changes["region"] = region_of(changes["location_raw"])
    added = {name: value for name, value in changes.items() if value}
    if "due_time" in job:
        added["deadline"] = reader.deadline("due_time")
    raw = reader.raw(body)
    return PostingDetail(added, raw, reader.unparsed)


def _job_in(body: JsonObject) -> JsonObject:
    data = body.get("data")
    inner = data.get("job") if isinstance(data, dict) else None
    for candidate in (inner, body.get("job"), data, body):
        if isinstance(candidate, dict) and (
            isinstance(candidate.get("detail"), dict)
            or isinstance(candidate.get("jd"), str)
            or ("id" in candidate and is_closed(candidate))
        ):
            return candidate
    raise BadResponse("changed envelope: no job with a detail")


def _description(reader: RowReader) -> str:
    parts = []
    for key, heading in SECTIONS:
        text = reader.text(f"detail.{key}", DESCRIPTION_CHARS, prose)
        if text is not None:
            parts.append(f"{heading}\n{text}")
    whole = reader.text("jd", DESCRIPTION_CHARS, prose)
    if not parts and whole is None:
        raise BadResponse("changed envelope: the detail has none of its texts")
    return cut("\n\n".join(parts) or whole or "", DESCRIPTION_CHARS)


def _skills(reader: RowReader, body: JsonObject) -> tuple[str, ...]:
    labels = ("title", "text", "name")
    if reader.value("skill_tags") is not None:
        return reader.texts("skill_tags", labels)
    data = body.get("data")
    beside = RowReader(data if isinstance(data, dict) else {})
    names = beside.texts("skill_tags", labels)
    for path in beside.unparsed:
        reader.refuse(path)
    return names
